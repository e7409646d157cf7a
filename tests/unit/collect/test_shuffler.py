import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.collect import shuffler
from coterie.collect.released import open_released
from coterie.collect.shuffler import shuffle_files
from coterie.encode import Client
from coterie.errors import FileError, PlanError, ReportError
from coterie.oracles.mixed_sums import people_by_row
from coterie.plan import Plan
from coterie.wire.report_file import write_reports
from coterie.wire.shuffled_file import ShuffledFile

PEOPLE = 60
POINTS = np.random.default_rng(0).normal(0, 0.4, (PEOPLE, 2))
AMPLIFIED = Plan.design(2, 2, 2.0, PEOPLE, model="shuffle", delta=1e-4)  # minimum 54
SHARES = Plan.design(2, 2, 2.0, PEOPLE, protocol="shuffle", model="shuffle", delta=1e-4, cells=4)
COLUMN = Plan.design(
    2, 2, 2.0, 400, protocol="shuffle", model="shuffle", delta=1e-4, cells=2, layout="column"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, plan, reports):
    with write_reports(name, plan) as writer:
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
    again = shuffle_files(["c", "b"], plan, "out", "released")
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
        assert file.count == PEOPLE * plan.numbers.cost.messages
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
    assert (people_by_row(aggregate.table) == PEOPLE).all()


def test_columns_are_mixed_by_row_and_need_their_group(folder):
    points = np.random.default_rng(2).normal(0, 0.4, (400, 2))
    reports = reports_of(COLUMN, points)
    write("a", COLUMN, reports)
    assert shuffle_files(["a"], COLUMN, "out", "released").people == 400
    from coterie.wire.rows import Rows
    from coterie.wire.stream import PublicStream

    rows, _ = PublicStream(COLUMN.public_key()).choices(reports[:, :12], Rows.of(COLUMN.numbers))
    more = reports_of(COLUMN, points)
    others, _ = PublicStream(COLUMN.public_key()).choices(more[:, :12], Rows.of(COLUMN.numbers))
    write("b", COLUMN, np.concatenate([reports[rows != 0], more[others != 0]]))  # nobody serves row 0
    with pytest.raises(ReportError, match="a row of this batch has 0 people"):
        shuffle_files(["b"], COLUMN, "other", "elsewhere")
    assert outputs(folder) == ["out", "released"]


def test_a_batch_below_the_minimum_is_refused_with_the_promise_it_would_have(folder):
    write("a", AMPLIFIED, reports_of(AMPLIFIED)[:53])
    with pytest.raises(
        ReportError, match=r"53 people and the plan's minimum is 54: the promise would be epsilon"
    ):
        shuffle_files(["a"], AMPLIFIED, "out", "released")
    assert outputs(folder) == []


def test_a_report_enters_one_batch(folder):
    reports = reports_of(AMPLIFIED)
    write("a", AMPLIFIED, reports)
    shuffle_files(["a"], AMPLIFIED, "out", "released")
    write("b", AMPLIFIED, np.concatenate([reports_of(AMPLIFIED), reports[:2]]))
    with pytest.raises(ReportError, match="2 of 62 reports were released before"):
        shuffle_files(["b"], AMPLIFIED, "other", "released")
    assert outputs(folder) == ["out", "released"]
    write("c", AMPLIFIED, reports_of(AMPLIFIED))
    assert shuffle_files(["c"], AMPLIFIED, "other", "released").fresh


def test_mixed_plans_and_other_models_are_refused(folder):
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    write("b", SHARES, reports_of(SHARES))
    with pytest.raises(FileError, match="reports of plan"):
        shuffle_files(["a", "b"], AMPLIFIED, "out", "released")
    local = Plan.design(2, 2, 2.0, PEOPLE)
    with pytest.raises(PlanError, match="local model has nothing to shuffle"):
        shuffle_files(["a"], local, "out", "released")
    assert outputs(folder) == []


def test_shares_outside_the_field_are_refused(folder):
    reports = reports_of(SHARES).copy()
    reports[7, 12:20] = 255
    write("a", SHARES, reports)
    with pytest.raises(ReportError, match="share outside the field"):
        shuffle_files(["a"], SHARES, "out", "released")
    assert outputs(folder) == []


def test_a_damaged_memory_refuses_everything(folder):
    write("a", AMPLIFIED, reports_of(AMPLIFIED))
    shuffle_files(["a"], AMPLIFIED, "out", "released")
    (entry,) = (folder / "released").glob("*.released")
    entry.write_bytes(entry.read_bytes()[:-1])
    write("b", AMPLIFIED, reports_of(AMPLIFIED))
    with pytest.raises(FileError, match="damaged record of a batch"):
        shuffle_files(["b"], AMPLIFIED, "other", "released")
    assert not (folder / "other").exists()


def test_a_memory_belongs_to_one_plan():
    with open_released("released", AMPLIFIED) as memory:
        memory.record(bytes(32), np.zeros((1, 12), dtype=np.uint8))
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
        "import os, signal\n"
        "from coterie.collect import shuffler\n"
        "from coterie.plan import Plan\n"
        "shuffler.open_released = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "shuffler.shuffle_files(['a'], Plan.load('plan.json'), 'out', 'released')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode in (-signal.SIGINT, 1)
    assert b"KeyboardInterrupt" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["a", "plan.json"]
