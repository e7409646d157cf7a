"""A table that grows day by day: what was counted counts once, and interruptions leave it as it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.engines import engine
from coterie.engines.growing_table import GrowingTable, growing, is_growing
from coterie.errors import AggregateError, FileError
from coterie.plan import Plan
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


@given(days=st.lists(st.lists(st.integers(0, 60), max_size=40), min_size=1, max_size=6))
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
    sizes = sum(path.stat().st_size for path in (tmp_path / "study").glob("ids-*"))
    assert sizes <= 12 * 5000 + 2 * 88


def test_files_of_ids_are_merged_so_that_few_remain(tmp_path):
    with growing(tmp_path / "study", PLAN) as table:
        for number in range(12):
            table.add([day(tmp_path, number, range(10 * number, 10 * number + 10))])
            assert len([*(tmp_path / "study").glob("ids-*")]) <= 4
        assert table.count == 120


def test_many_parts_give_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.collect.partitions.PART_REPORTS", 100)
    with growing(tmp_path / "study", PLAN) as table:
        table.add([day(tmp_path, "a", range(4000))])
        added = table.add([day(tmp_path, "b", range(3990, 4010))], workers=3)
        assert (added.counted_before, added.count) == (10, 4010)
        grown = table.table()
    assert grown == engine("inline").count(PLAN, [tmp_path / "a.coterie", tmp_path / "b.coterie"]).table


@pytest.mark.parametrize("step", ["run", "table", "state", "tidy"])
def test_an_interruption_changes_nothing_and_the_day_may_be_added_again(tmp_path, monkeypatch, step):
    class Stop(BaseException):
        pass

    def stop(*_args, **_options):
        raise Stop

    one, two = day(tmp_path, "a", range(50)), day(tmp_path, "b", range(40, 90))
    with growing(tmp_path / "study", PLAN) as table:
        table.add([one])
    places = {
        "run": "coterie.engines.growing_table.merge_runs",
        "table": "coterie.aggregate.Aggregate.save",
        "state": "coterie.engines.growing_table._write_state",
        "tidy": "coterie.engines.growing_table.GrowingTable.tidy",
    }
    with monkeypatch.context() as patch, growing(tmp_path / "study") as table:
        patch.setattr(places[step], stop)
        with pytest.raises(Stop):
            table.add([two])
    with growing(tmp_path / "study") as table:
        assert table.count == (90 if step == "tidy" else 50)
        assert table.add([two]).count == 90
        assert table.table() == engine("inline").count(PLAN, [one, two]).table
    left = {path.name.split("-")[0] for path in (tmp_path / "study").iterdir()}
    assert left == {"plan.json", "state", "table", "ids"}


def test_damage_is_noticed_and_adds_nothing(tmp_path):
    one, two = day(tmp_path, "a", range(500)), day(tmp_path, "b", range(500, 520))
    with growing(tmp_path / "study", PLAN) as table:
        table.add([one])
    (run,) = (tmp_path / "study").glob("ids-*")
    good = run.read_bytes()
    for place in (60, len(good) // 2, len(good) - 1):
        data = bytearray(good)
        data[place] ^= 0x40
        run.write_bytes(data)
        with growing(tmp_path / "study") as table, pytest.raises(FileError, match="Restore it"):
            table.add([two])
    run.write_bytes(good[:-5])
    with growing(tmp_path / "study") as table, pytest.raises(FileError, match="bytes in all"):
        table.add([two])
    run.write_bytes(good)
    state = tmp_path / "study" / "state"
    state.write_bytes(state.read_bytes().replace(b"500", b"501"))
    with pytest.raises(FileError, match="the file is damaged"), growing(tmp_path / "study"):
        pass


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
    with pytest.raises(AggregateError, match="holds other files"), growing(tmp_path, PLAN):
        pass
    assert not is_growing(tmp_path)
    shuffled = Plan.design(3, 2, 1.0, 1000, model="shuffle", delta=1e-6)
    with growing(tmp_path / "mixed", shuffled) as table, pytest.raises(AggregateError, match="have none"):
        table.add([])
