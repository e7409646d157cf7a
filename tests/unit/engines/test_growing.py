"""A table that grows day by day: what was counted counts once, and interruptions leave it as it was."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.aggregate import Aggregate
from coterie.engines import engine
from coterie.engines.growing_table import GrowingTable, growing, is_growing
from coterie.errors import AggregateError, FileError, StoreError
from coterie.plan import Plan
from coterie.store import open_store
from coterie.store.study_folder import StudyFolder
from coterie.wire.report_file import write_reports

PLAN = Plan.design(3, 2, 1.0, 1000)
WIDTH = PLAN.report_width


def people(numbers):
    """The reports of these people: a person's number decides all bytes."""
    return np.array([np.random.default_rng(number).bytes(WIDTH) for number in numbers], dtype=f"S{WIDTH}")


def day(folder, name, numbers):
    path = folder / f"{name}.coterie"
    write_reports(path, PLAN, b"".join(report.ljust(WIDTH, b"\0") for report in people(numbers).tolist()))
    return path


@pytest.mark.slow
@given(days=st.lists(st.lists(st.integers(0, 60), max_size=40), min_size=1, max_size=6))
@settings(max_examples=25)
def test_all_days_together_are_all_files_at_once(tmp_path_factory, days):
    folder = tmp_path_factory.mktemp("days")
    paths = [day(folder, number, numbers) for number, numbers in enumerate(days)]
    for path in paths:
        with growing(folder / "study", PLAN) as table:
            added = table.add([path])
    whole = engine("inline").count(PLAN, paths)
    with growing(folder / "study") as table:
        assert table.table() == whole.table
        assert table.count == added.count == len({number for numbers in days for number in numbers})


def test_it_says_what_was_counted_before_and_keeps_12_bytes_of_it(tmp_path):
    with growing(tmp_path / "study", PLAN) as table:
        first = table.add([day(tmp_path, "a", range(3000))])
        assert (first.counted_before, first.count) == (0, 3000)
        second = table.add([day(tmp_path, "b", range(2000, 5000))])
        assert (second.counted_before, second.count) == (1000, 5000)
        assert second.counts.read == 3000
    sizes = sum(path.stat().st_size for path in (tmp_path / "study").rglob("*.released"))
    assert sizes <= 12 * 5000 + 2 * 96
    report = people([7]).tobytes()
    assert not any(report in path.read_bytes() for path in (tmp_path / "study").rglob("*") if path.is_file())


def test_files_of_ids_are_merged_so_that_few_remain(tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.store.study_folder.MOST_FILES", 3)
    with growing(tmp_path / "study", PLAN) as table:
        for number in range(12):
            table.add([day(tmp_path, number, range(10 * number, 10 * number + 10))])
            ids = [
                path for path in (tmp_path / "study").rglob("*.*") if path.suffix in (".released", ".coterie")
            ]
            assert len(ids) <= 3
        assert table.count == 120
        assert table.add([tmp_path / "0.coterie", tmp_path / "11.coterie"]).counted_before == 20


def test_many_parts_give_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.collect.deduplicate.PART_REPORTS", 100)
    monkeypatch.setattr("coterie.collect.intake.STRETCH_BYTES", 500 * WIDTH)
    with growing(tmp_path / "study", PLAN) as table:
        table.add([day(tmp_path, "a", range(4000))])
        added = table.add([day(tmp_path, "b", range(3990, 4010))], workers=3)
        assert (added.counted_before, added.count) == (10, 4010)
        grown = table.table()
    assert grown == engine("inline").count(PLAN, [tmp_path / "a.coterie", tmp_path / "b.coterie"]).table


@pytest.mark.parametrize("step", ["write_batch", "rewrite", "publish", "after"])
def test_an_interruption_changes_nothing_and_the_day_may_be_added_again(tmp_path, monkeypatch, step):
    class Stop(BaseException):
        pass

    def stop(*_args, **_options):
        raise Stop

    one, two = day(tmp_path, "a", range(50)), day(tmp_path, "b", range(40, 90))
    with growing(tmp_path / "study", PLAN) as table:
        table.add([one])
    with monkeypatch.context() as patch, growing(tmp_path / "study") as table:
        name = "publish" if step == "after" else step
        real = getattr(StudyFolder, name)
        patch.setattr(StudyFolder, name, lambda *a: (step == "after" and real(*a), stop()))
        with pytest.raises(Stop):
            table.add([two])
    with growing(tmp_path / "study") as table:
        assert table.count == (90 if step == "after" else 50)
        assert table.add([two]).count == 90
        assert table.table() == engine("inline").count(PLAN, [one, two]).table
    batches = [*(tmp_path / "study").rglob("batches/*")]
    assert len(batches) == 1


def test_damage_is_noticed_and_adds_nothing(tmp_path):
    one, two = day(tmp_path, "a", range(500)), day(tmp_path, "b", range(500, 520))
    with growing(tmp_path / "study", PLAN) as table:
        table.add([one])
    for pattern in ("*.released", "batches/*"):
        (path,) = (tmp_path / "study").rglob(pattern)
        good = path.read_bytes()
        for place in (60, len(good) // 2, len(good) - 1):
            data = bytearray(good)
            data[place] ^= 0x40
            for bad in (data, good[:-5]):
                path.write_bytes(bad)
                with growing(tmp_path / "study") as table, pytest.raises(FileError, match="expected"):
                    table.add([two])
        path.write_bytes(good)
    with growing(tmp_path / "study") as table:
        assert table.add([two]).count == 520


def test_a_table_that_does_not_fit_its_ids_is_noticed(tmp_path):
    """Restored from another day, say: then which reports are in it is not known."""
    with growing(tmp_path / "study", PLAN) as table:
        table.add([day(tmp_path, "a", range(5))])
        held = table._store.staged_batch(PLAN.id)
        table._store.stage_batch(PLAN.id, lambda _: Aggregate(PLAN).to_bytes(), instead_of=held.digest)
        with pytest.raises(StoreError, match="knows the ids of 5 reports"):
            table.table()


def test_other_plans_and_folders_are_refused(tmp_path):
    with growing(tmp_path / "study", PLAN) as table:
        assert isinstance(table, GrowingTable)
        assert table.table().count == 0
    other = Plan.design(3, 2, 1.0, 1000, seed=5)
    with pytest.raises(AggregateError, match="holds reports of plan"), growing(tmp_path / "study", other):
        pass
    with pytest.raises(AggregateError, match="the first addition needs the plan"), growing(tmp_path / "none"):
        pass
    day(tmp_path, "a", range(5))
    with pytest.raises(StoreError, match="no store and not empty"), growing(tmp_path, PLAN):
        pass
    assert not is_growing(tmp_path)
    shuffled = Plan.design(3, 2, 1.0, 1000, model="shuffle", delta=1e-6)
    with growing(tmp_path / "mixed", shuffled) as table, pytest.raises(AggregateError, match="have none"):
        table.add([])
    with open_store(tmp_path / "collected") as store:
        store.put_plan(PLAN)
        store.append([(PLAN.id, np.zeros((1, WIDTH), dtype=np.uint8))])
    with pytest.raises(AggregateError, match="a collector's store"), growing(tmp_path / "collected"):
        pass
