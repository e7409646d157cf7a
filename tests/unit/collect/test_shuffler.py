import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.aggregate import Aggregate
from coterie.cli.app import app
from coterie.collect import shuffler
from coterie.encode import Client
from coterie.engines import Inline
from coterie.errors import FileError, PlanError, ReportError
from coterie.plan import Plan
from coterie.store import StoreError, embedded, open_store
from coterie.store.shuffle_files import default_folder, shuffle_files
from coterie.wire.report_file import writing_reports
from coterie.wire.shuffled_file import ShuffledFile

PEOPLE = 60
POINTS = np.random.default_rng(0).normal(0, 0.4, (PEOPLE, 2))
AMPLIFIED = Plan.design(2, 2, 2.0, PEOPLE, model="shuffle", delta=1e-4)  # minimum 54
SHARES = Plan.design(2, 2, 2.0, PEOPLE, protocol="vector-sums", model="shuffle", delta=1e-4, cells=4)
COLUMN = Plan.design(
    2, 2, 2.0, 400, protocol="vector-sums", model="shuffle", delta=1e-4, cells=2, layout="column"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, plan, reports):
    with writing_reports(name, plan, overwrite=True) as writer:
        writer.append(reports)


def reports_of(plan, points=POINTS):
    width = plan.report_width
    return np.frombuffer(Client(plan).encode_many(points), dtype=np.uint8).reshape(-1, width)


def outputs(folder):
    return sorted(path.name for path in folder.iterdir() if path.name not in {"a", "b", "c"})


@pytest.mark.parametrize("plan", [AMPLIFIED, SHARES])
def test_any_order_and_split_of_the_reports_gives_the_same_bytes(plan, folder):
    reports = reports_of(plan)
    write("a", plan, reports)
    done = shuffle_files(["a"], plan, "out", "released")
    assert (done.people, done.fresh) == (PEOPLE, True)
    first = (folder / "out").read_bytes()
    order = np.random.default_rng(1).permutation(PEOPLE)
    write("b", plan, reports[order[:20]])
    write("c", plan, np.concatenate([reports[order[20:]], reports[:5]]))  # five sent twice
    again = shuffle_files(["c", "b"], plan, "out", "released", overwrite=True)
    assert (again.fresh, again.counts.duplicates, again.batch) == (False, 5, done.batch)
    assert (folder / "out").read_bytes() == first


@pytest.mark.parametrize("plan", [AMPLIFIED, SHARES])
def test_messages_lie_in_the_order_of_their_bytes_and_hold_nothing_else(plan):
    reports = reports_of(plan)
    write("a", plan, reports)
    shuffle_files(["a"], plan, "out", "released")
    file = ShuffledFile.open("out", plan)
    rows = [row.tobytes() for row in file.read_all()]
    assert rows == sorted(rows)
    if plan is SHARES:
        assert file.count == PEOPLE * plan.parameters.cost.messages
        ids = {report[:12].tobytes() for report in reports}
        everything = b"".join(rows)
        assert not any(each in everything for each in ids)
    else:
        assert set(rows) == {report.tobytes() for report in reports}


def test_shares_add_up_after_mixing():
    write("a", SHARES, reports_of(SHARES))
    shuffle_files(["a"], SHARES, "out", "released")
    aggregate = Aggregate(SHARES)
    for chunk in ShuffledFile.open("out", SHARES).chunks(100):
        aggregate.add(chunk)
    assert aggregate.count == PEOPLE
    assert (aggregate.table.people_by_row() == PEOPLE).all()


def test_columns_are_mixed_by_row_and_need_their_group(folder):
    points = np.random.default_rng(2).normal(0, 0.4, (400, 2))
    reports = reports_of(COLUMN, points)
    write("a", COLUMN, reports)
    assert shuffle_files(["a"], COLUMN, "out", "released").people == 400
    from coterie.wire.rows import Rows
    from coterie.wire.stream import PublicStream

    rows, _ = PublicStream(COLUMN.randomness_key()).choices(reports[:, :12], Rows.of(COLUMN.parameters))
    more = reports_of(COLUMN, points)
    others, _ = PublicStream(COLUMN.randomness_key()).choices(more[:, :12], Rows.of(COLUMN.parameters))
    write("b", COLUMN, np.concatenate([reports[rows != 0], more[others != 0]]))  # nobody serves row 0
    with pytest.raises(ReportError, match="a row of this batch has 0 people"):
        shuffle_files(["b"], COLUMN, "other", "elsewhere")
    assert outputs(folder) == ["elsewhere", "out", "released"]
    with open_store("elsewhere") as memory:
        assert memory.study(COLUMN.id).counts.released == 0


def test_a_batch_below_the_minimum_is_refused_with_the_promise_it_would_have(folder):
    write("a", AMPLIFIED, reports_of(AMPLIFIED)[:53])
    with pytest.raises(
        ReportError, match=r"53 people and the plan's minimum is 54: the promise would be epsilon"
    ):
        shuffle_files(["a"], AMPLIFIED, "out", "released")
    assert outputs(folder) == ["released"]
    with open_store("released") as memory:
        assert memory.study(AMPLIFIED.id).counts.released == 0


def test_the_smallest_batch_is_released(folder):
    write("a", AMPLIFIED, reports_of(AMPLIFIED)[:54])
    assert shuffle_files(["a"], AMPLIFIED, "out", "released").people == 54


def test_nobody_is_no_batch():
    write("a", AMPLIFIED, reports_of(AMPLIFIED)[:0])
    with pytest.raises(ReportError, match="the batch has 0 people"):
        shuffle_files(["a"], AMPLIFIED, "out", "released")


def test_a_batch_that_is_too_large_to_mix_is_refused(folder, monkeypatch):
    assert shuffler.MOST_BYTES == 1 << 32
    reports = reports_of(AMPLIFIED)
    write("a", AMPLIFIED, reports)
    monkeypatch.setattr(shuffler, "MOST_BYTES", reports.nbytes - 1)
    with pytest.raises(ReportError, match="split it into batches above the plan's minimum"):
        shuffle_files(["a"], AMPLIFIED, "out", "released")
    assert outputs(folder) == []
    monkeypatch.setattr(shuffler, "MOST_BYTES", reports.nbytes)
    assert shuffle_files(["a"], AMPLIFIED, "out", "released").people == PEOPLE


def test_a_report_enters_one_batch(folder):
    reports = reports_of(AMPLIFIED)
    write("a", AMPLIFIED, reports)
    shuffle_files(["a"], AMPLIFIED, "out", "released")
    write("b", AMPLIFIED, np.concatenate([reports_of(AMPLIFIED), reports[:2]]))
    done = shuffle_files(["b"], AMPLIFIED, "other", "released")
    assert (done.people, done.fresh) == (60, True)
    (skipped,) = done.skipped
    assert str(skipped) == ("2 left out, released before: b, report 60 (byte 844); b, report 61 (byte 857)")
    first, second = (
        {row.tobytes() for row in ShuffledFile.open(n, AMPLIFIED).read_all()} for n in ("out", "other")
    )
    assert not first & second
    write("c", AMPLIFIED, np.concatenate([reports, reports_of(AMPLIFIED)[:53]]))  # 53 are new
    with pytest.raises(ReportError, match=r"53 people and the plan's minimum is 54.*60 left out, released"):
        shuffle_files(["c"], AMPLIFIED, "third", "released")
    assert outputs(folder) == ["other", "out", "released"]


def test_every_copy_of_a_plan_meets_the_same_memory(folder, monkeypatch):
    """The difference of two releases is a person."""
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    reports = reports_of(AMPLIFIED)
    write("a", AMPLIFIED, reports)
    write("b", AMPLIFIED, reports[1:])
    (folder / "copy").mkdir()
    for place in (folder, folder / "copy"):
        AMPLIFIED.save(place / "plan.json")
    run = CliRunner().invoke
    first = run(app, ["shuffle", "a", "--plan", "plan.json", "--out", "out"])
    assert first.exit_code == 0
    second = run(app, ["shuffle", "b", "--plan", "copy/plan.json", "--out", "copy/out"])
    assert second.exit_code == 1
    assert "59 left out, released before" in second.stderr
    assert not (folder / "copy" / "out").exists()
    with open_store(default_folder(), make=False) as memory:
        assert memory.plan_ids() == [AMPLIFIED.id]


def test_unmixed_reports_are_for_their_owner_only(folder):
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    write("b", SHARES, reports_of(SHARES))
    shuffle_files(["a"], AMPLIFIED, "out", "released")
    modes = {name: (folder / name).stat().st_mode & 0o077 for name in ("a", "b", "out")}
    assert (modes["a"], modes["b"]) == (0, 0)
    assert modes["out"] != 0  # under any umask that lets others read at all


def test_the_promise_names_a_ledgers_backup():
    assert "every backup of it" in str(AMPLIFIED.guarantee)


def test_mixed_plans_and_other_models_are_refused(folder):
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    write("b", SHARES, reports_of(SHARES))
    with pytest.raises(FileError, match="reports of plan"):
        shuffle_files(["a", "b"], AMPLIFIED, "out", "released")
    local = Plan.design(2, 2, 2.0, PEOPLE)
    with pytest.raises(PlanError, match="local model has nothing to shuffle"):
        shuffle_files(["a"], local, "out", "released")
    assert outputs(folder) == []


def test_shares_outside_the_field_are_left_out(folder):
    reports = reports_of(SHARES).copy()
    reports[7, 12:20] = 255
    write("a", SHARES, reports)
    done = shuffle_files(["a"], SHARES, "out", "released")
    byte = 64 + 7 * SHARES.report_width
    assert done.people == PEOPLE - 1
    assert [str(each) for each in done.skipped] == [
        f"1 left out, a share is not below {SHARES.parameters.modulus}: a, report 7 (byte {byte})"
    ]
    with pytest.raises(ReportError, match="a share is below"):  # nor is one added up past the intake
        Inline().aggregate(SHARES, [reports])


def test_a_damaged_memory_refuses_everything(folder):
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    shuffle_files(["a"], AMPLIFIED, "out", "released")
    (ids,) = folder.glob("released/studies/*/*.released")
    good = ids.read_bytes()
    write("b", AMPLIFIED, reports_of(AMPLIFIED))
    for bad in (good[:-1], good[:70] + bytes([good[70] ^ 1]) + good[71:], b""):
        ids.write_bytes(bad)
        with pytest.raises(FileError, match="expected"):
            shuffle_files(["b"], AMPLIFIED, "other", "released")
        assert not (folder / "other").exists()
    ids.write_bytes(good)
    assert shuffle_files(["b"], AMPLIFIED, "other", "released").fresh


def test_a_folder_of_other_files_is_no_memory(folder):
    """Such as the records of an earlier version: what they say was released must not be forgotten."""
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    (folder / "released" / AMPLIFIED.id).mkdir(parents=True)
    (folder / "released" / AMPLIFIED.id / "0.released").write_bytes(b"COTERIE-RELEASED")
    with pytest.raises(StoreError, match="no store and not empty"):
        shuffle_files(["a"], AMPLIFIED, "out", "released")
    assert not (folder / "out").exists()


def test_a_memory_keeps_plans_apart_and_no_report():
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    write("b", SHARES, reports_of(SHARES))
    shuffle_files(["a"], AMPLIFIED, "out", "released")
    shuffle_files(["b"], SHARES, "other", "released")
    with open_store("released") as memory:
        for plan in (AMPLIFIED, SHARES):
            counts = memory.study(plan.id).counts
            assert (counts.received, counts.released, counts.batches) == (0, PEOPLE, 0)
            assert memory.staged_batch(plan.id) is None
            assert list(memory.reports(plan.id)) == []


class Stop(BaseException):
    """A machine stops."""


@pytest.mark.parametrize("step", ["write", "settle"])
def test_a_stop_between_memory_and_output_is_made_good(folder, monkeypatch, step):
    """The worst moments: the ids are recorded and there is no file yet, or the batch is not let go of."""
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    real = embedded.EmbeddedStore

    class Stopping(real):
        def stage_batch(self, *arguments, **options):
            batch = super().stage_batch(*arguments, **options)
            if step == "write":
                raise Stop
            return batch

        def acknowledge_batch(self, *arguments):
            raise Stop

    monkeypatch.setattr(embedded, "EmbeddedStore", Stopping)
    with pytest.raises(Stop):
        shuffle_files(["a"], AMPLIFIED, "out", "released")
    assert outputs(folder) == (["released"] if step == "write" else ["out", "released"])
    monkeypatch.setattr(embedded, "EmbeddedStore", real)
    again = shuffle_files(["a"], AMPLIFIED, "out", "released", overwrite=True)
    assert (again.fresh, again.people) == (False, PEOPLE)
    assert ShuffledFile.open("out", AMPLIFIED).count == PEOPLE
    write("b", AMPLIFIED, np.concatenate([reports_of(AMPLIFIED), ShuffledFile.open("out").read_all()[:1]]))
    assert shuffle_files(["b"], AMPLIFIED, "other", "released").people == PEOPLE  # and nobody of the first


def test_other_files_in_between_do_not_lose_a_batch(folder):
    """It was released, and its file is gone: the same reports make it again, whatever came between."""
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    write("b", AMPLIFIED, reports_of(AMPLIFIED))
    shuffle_files(["a"], AMPLIFIED, "first", "released")
    first = (folder / "first").read_bytes()
    (folder / "first").unlink()
    assert shuffle_files(["b"], AMPLIFIED, "second", "released").fresh
    assert not shuffle_files(["a"], AMPLIFIED, "first", "released").fresh
    assert (folder / "first").read_bytes() == first


def test_interrupted_by_a_signal_nothing_half_written_is_left(folder):
    AMPLIFIED.save("plan.json")
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # nohup and & have it ignored
        "from coterie.store import shuffle_files as files\n"
        "from coterie.plan import Plan\n"
        "files.open_store = lambda *_, **__: (os.kill(os.getpid(), signal.SIGINT), time.sleep(20))\n"
        "files.shuffle_files(['a'], Plan.load('plan.json'), 'out', 'released')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode in (-signal.SIGINT, 1)
    assert b"KeyboardInterrupt" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["a", "plan.json"]
