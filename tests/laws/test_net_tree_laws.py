"""What holds for all net-tree tables: any order, any split, any merge gives the same bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.aggregate import Aggregate
from coterie.errors import AggregateError, FileError, ReportError
from coterie.plan import Plan

PLAN = Plan.design(2, 2, 2.0, 1000, protocol="net-tree", levels=4)
OTHER = Plan.design(2, 2, 2.0, 1000, protocol="net-tree", levels=4, seed=1)
WIDTH = PLAN.report_width
reports = st.lists(st.binary(min_size=WIDTH, max_size=WIDTH), max_size=12)


def aggregate(rows):
    table = Aggregate(PLAN)
    table.add(b"".join(rows))
    return table


@pytest.mark.slow
@given(reports, st.randoms(use_true_random=False))
def test_order_does_not_matter(rows, random):
    shuffled = rows[:]
    random.shuffle(shuffled)
    assert aggregate(rows).to_bytes() == aggregate(shuffled).to_bytes()


@given(reports, reports, reports)
def test_merging_is_adding_in_any_grouping(first, second, third):
    whole = aggregate(first + second + third)
    left = aggregate(first)
    left.merge(aggregate(second))
    left.merge(aggregate(third))
    inner = aggregate(second)
    inner.merge(aggregate(third))
    inner.merge(aggregate(first))
    assert left == inner == whole
    assert left.to_bytes() == inner.to_bytes() == whole.to_bytes()
    assert whole.count == len(first) + len(second) + len(third)


@given(reports)
def test_files_round_trip(rows):
    table = aggregate(rows)
    data = table.to_bytes()
    again = Aggregate.from_bytes(data, PLAN)
    assert again == table
    assert again.to_bytes() == data
    assert sorted(
        again.table.reports.tobytes()[i : i + WIDTH] for i in range(0, WIDTH * len(rows), WIDTH)
    ) == sorted(rows)


def test_reports_are_kept_sorted():
    rows = [bytes([9] * WIDTH), bytes(WIDTH), bytes([1] + [0] * (WIDTH - 1)), bytes([0] * (WIDTH - 1) + [7])]
    assert aggregate(rows).table.reports.tobytes() == b"".join(sorted(rows))


def test_damaged_files_are_refused():
    data = aggregate([bytes(WIDTH), bytes([1] * WIDTH)]).to_bytes()
    with pytest.raises(FileError, match="SHA-256"):
        Aggregate.from_bytes(data[:-40] + bytes([data[-40] ^ 1]) + data[-39:])
    with pytest.raises(FileError, match="in all for this plan"):
        Aggregate.from_bytes(data[:-5])


def test_files_must_be_canonical():
    table = aggregate([bytes(WIDTH), bytes([1] * WIDTH)]).table
    words = table.arrays()["reports"]
    table_class = type(table)
    assert table_class.from_arrays(PLAN, {"reports": words}).count == 2
    with pytest.raises(AggregateError, match="canonical order"):
        table_class.from_arrays(PLAN, {"reports": words[::-1]})
    with pytest.raises(AggregateError, match="canonical order or not padded"):
        table_class.from_arrays(PLAN, {"reports": words | np.array([0, 1 << 62])})
    with pytest.raises(AggregateError, match="has the array reports"):
        table_class.from_arrays(PLAN, {"sums": words})
    with pytest.raises(AggregateError, match="must be int64 of shape"):
        table_class.from_arrays(PLAN, {"reports": words[:, :1]})


def test_one_malformed_report_stops_all():
    plan = Plan.design(2, 2, 2.0, 1000, protocol="net-tree", levels=3)
    table = Aggregate(plan)
    good, bad = bytes(plan.report_width), bytes(plan.report_width - 1) + b"\x01"
    with pytest.raises(ReportError, match="report 1 of 2"):
        table.add(good + bad)
    assert table.count == 0


def test_tables_of_other_plans_do_not_merge():
    table = aggregate([bytes(WIDTH)])
    with pytest.raises(AggregateError, match="different plans"):
        table.merge(Aggregate(OTHER))
    with pytest.raises(AggregateError, match="different plans"):
        table.table.merge(Aggregate(OTHER).table)


def test_a_hostile_report_moves_an_estimate_as_an_honest_one_does():
    # Whatever the bytes, one report changes a frequency by c and a vector sum by a vector of length ≤ B.
    from coterie.protocols.paper.net_tree.decode import oracles_of
    from coterie.randomizers.sphere import djw_norm

    generator = np.random.default_rng(0)
    base = aggregate([generator.bytes(WIDTH) for _ in range(50)])
    paths = np.array([[17, 1, 2], [17, 1, 3], [34, 0, 0]])
    before = [oracle for oracle in oracles_of(base.table)]
    for extreme in (b"\x00" * WIDTH, b"\xff" * WIDTH, generator.bytes(WIDTH)):
        more = aggregate([])
        more.merge(base)
        more.add(extreme)
        after = oracles_of(more.table)
        moved = after[0].frequencies(2, paths) - before[0].frequencies(2, paths)
        assert np.abs(moved) == pytest.approx(PLAN.parameters.count_response.scale)
        ends = [each[1].part_sums(2, paths, np.arange(3), 3) for each in (before, after)]
        lengths = np.linalg.norm(ends[1] - ends[0], axis=1)
        assert (lengths <= djw_norm(3, PLAN.parameters.vector_response.scale) * 1.001).all()
