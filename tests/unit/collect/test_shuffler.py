import hashlib
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.aggregate import Aggregate
from coterie.cli.app import app
from coterie.collect import released, shuffler
from coterie.collect.released import default_folder, open_released
from coterie.collect.shuffler import shuffle_files
from coterie.encode import Client
from coterie.engines import Inline
from coterie.errors import FileError, PlanError, ReportError
from coterie.plan import Plan
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
    assert list((folder / "elsewhere" / COLUMN.id).iterdir()) == []


def test_a_batch_below_the_minimum_is_refused_with_the_promise_it_would_have(folder):
    write("a", AMPLIFIED, reports_of(AMPLIFIED)[:53])
    with pytest.raises(
        ReportError, match=r"53 people and the plan's minimum is 54: the promise would be epsilon"
    ):
        shuffle_files(["a"], AMPLIFIED, "out", "released")
    assert outputs(folder) == ["released"]
    assert list((folder / "released" / AMPLIFIED.id).iterdir()) == []


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
    assert [entry.name for entry in default_folder().iterdir()] == [AMPLIFIED.id]


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
    (entry,) = (folder / "released" / AMPLIFIED.id).glob("*.released")
    entry.write_bytes(entry.read_bytes()[:-1])
    write("b", AMPLIFIED, reports_of(AMPLIFIED))
    with pytest.raises(FileError, match="damaged record of a batch"):
        shuffle_files(["b"], AMPLIFIED, "other", "released")
    assert not (folder / "other").exists()


def test_what_is_no_record_of_a_batch_refuses_everything(folder):
    with open_released("released", AMPLIFIED) as memory:
        memory.record(bytes(32), np.zeros((2, 12), dtype=np.uint8))
    (entry,) = (folder / "released" / AMPLIFIED.id).iterdir()
    body = entry.read_bytes()[:-32]
    longer = body + bytes(12)  # one id more than it says
    for wrong in (b"COTERIE-RELEASES" + body[16:], longer, body[:-12], body[:40]):
        entry.write_bytes(wrong + hashlib.sha256(wrong).digest())
        with open_released("released", AMPLIFIED) as memory, pytest.raises(FileError, match="expected"):
            memory.released_before(np.ones((1, 12), dtype=np.uint8))


def test_a_record_is_read_up_to_the_size_of_a_batch(monkeypatch):
    assert released.MOST_BYTES == shuffler.MOST_BYTES
    with open_released("released", AMPLIFIED) as memory:
        memory.record(bytes(32), np.zeros((2, 12), dtype=np.uint8))
        monkeypatch.setattr(released, "MOST_BYTES", 56 + 2 * 12 + 32)
        assert memory.holds(bytes(32))
        monkeypatch.setattr(released, "MOST_BYTES", 56 + 2 * 12 + 31)
        with pytest.raises(FileError, match="the end of a record of a batch"):
            memory.holds(bytes(32))


def test_a_memory_belongs_to_one_plan():
    with open_released("released", AMPLIFIED) as memory:
        memory.record(bytes(32), np.zeros((1, 12), dtype=np.uint8))
    with open_released("released", SHARES) as memory:
        assert not memory.released_before(np.zeros((1, 12), dtype=np.uint8)).any()
    entry = f"{bytes(32).hex()}.released"
    shutil.copy(f"released/{AMPLIFIED.id}/{entry}", f"released/{SHARES.id}/{entry}")
    with open_released("released", SHARES) as memory, pytest.raises(FileError, match="expected plan"):
        memory.record(bytes(31) + b"1", np.ones((1, 12), dtype=np.uint8))


def test_a_stop_between_memory_and_output_is_made_good(folder, monkeypatch):
    """The worst moment: the ids are recorded and the file has not appeared."""
    write("a", AMPLIFIED, reports_of(AMPLIFIED))

    class Stop(BaseException):
        pass

    real = shuffler.open_released

    def stopping(*arguments):
        class Wrapped:
            def __enter__(self):
                self.inner = real(*arguments)
                self.memory = self.inner.__enter__()
                return self

            def __getattr__(self, name):
                return getattr(self.memory, name)

            def record(self, *batch):
                self.memory.record(*batch)
                raise Stop

            def __exit__(self, *error):
                return self.inner.__exit__(*error)

        return Wrapped()

    monkeypatch.setattr(shuffler, "open_released", stopping)
    with pytest.raises(Stop):
        shuffle_files(["a"], AMPLIFIED, "out", "released")
    assert outputs(folder) == ["released"]
    monkeypatch.undo()
    os.chdir(folder)
    assert not shuffle_files(["a"], AMPLIFIED, "out", "released").fresh
    assert ShuffledFile.open("out", AMPLIFIED).count == PEOPLE


def test_interrupted_by_a_signal_nothing_half_written_is_left(folder):
    AMPLIFIED.save("plan.json")
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # nohup and & have it ignored
        "from coterie.collect import shuffler\n"
        "from coterie.plan import Plan\n"
        "shuffler.open_released = lambda *_: (os.kill(os.getpid(), signal.SIGINT), time.sleep(20))\n"
        "shuffler.shuffle_files(['a'], Plan.load('plan.json'), 'out', 'released')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode in (-signal.SIGINT, 1)
    assert b"KeyboardInterrupt" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["a", "plan.json"]


def test_a_memory_takes_no_id_twice():
    ids = np.arange(36, dtype=np.uint8).reshape(3, 12)
    with open_released("released", AMPLIFIED) as memory:
        assert memory.record(bytes(32), ids[:2])
        with pytest.raises(ReportError, match="1 of 2 reports were released before, in batch 000000000000"):
            memory.record(bytes(31) + b"1", ids[1:])
        assert not memory.holds(bytes(31) + b"1")
        assert not memory.record(bytes(32), ids[:2])  # this very batch: made good, not released again
        assert memory.record(bytes(31) + b"2", ids[2:])
