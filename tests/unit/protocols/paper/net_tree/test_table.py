"""The table of a net tree: the reports in one order, padded to words, and nothing else."""

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.errors import AggregateError, PlanError
from coterie.plan import Plan
from coterie.protocols.paper.net_tree.table import NetTreeTable

PLAN = Plan.design(2, 2, 1.0, 100, protocol="net-tree", levels=3)  # 13 bytes, six bits in the last
LONG = Plan.design(2, 2, 8.0, 100, protocol="net-tree", levels=17)  # 17 bytes: three words


def reports_of(plan, people, seed=0):
    rows = np.random.default_rng(seed).integers(0, 256, (people, plan.report_width), dtype=np.uint8)
    rows[:, -1] &= 0xFF << (-2 * plan.parameters.levels % 8) & 0xFF
    return rows


def table_of(plan, *pieces):
    table = NetTreeTable.zero(plan)
    for piece in pieces:
        table.add(piece)
    return table


@pytest.mark.parametrize("plan", [PLAN, LONG], ids=["two words", "three words"])
def test_reports_lie_in_one_order_whatever_came_first(plan):
    rows = reports_of(plan, 50)
    table = table_of(plan, rows[::-1])
    expected = sorted(row.tobytes() for row in rows)
    assert [row.tobytes() for row in table.reports] == expected
    first, second = table_of(plan, rows[10:30], rows[:10]), table_of(plan, rows[30:])
    first.merge(second)
    assert [row.tobytes() for row in first.reports] == expected
    assert (first.count, second.count) == (50, 20)


def test_what_is_added_is_a_copy():
    rows = reports_of(PLAN, 5)
    table = table_of(PLAN, rows)
    before = table.reports.copy()
    rows[:] = 0
    assert (table.reports == before).all()


@pytest.mark.parametrize(("plan", "words"), [(PLAN, 2), (LONG, 3)])
def test_a_file_holds_whole_words(plan, words):
    rows = reports_of(plan, 7)
    table = table_of(plan, rows)
    array = table.arrays()["reports"]
    assert (array.shape, array.dtype) == ((7, words), np.int64)
    padded = array.astype("<i8").view(np.uint8)
    assert (padded[:, : plan.report_width] == table.reports).all()
    assert not padded[:, plan.report_width :].any()
    assert (NetTreeTable.from_arrays(plan, table.arrays()).reports == table.reports).all()
    assert NetTreeTable.shapes(plan, 7 * 8 * words) == {"reports": (7, words)}
    assert NetTreeTable.shapes(plan, 7 * 8 * words + 5) == {"reports": (7, words)}
    assert NetTreeTable.shapes(plan, -1) == {"reports": (0, words)}  # a file that is cut short
    aggregate = Aggregate(plan)
    aggregate.add(rows)
    assert Aggregate.from_bytes(aggregate.to_bytes(), plan) == aggregate


def unsorted(array):
    return array[::-1]


def padded(array):
    array.view(np.uint8)[2, -1] = 1
    return array


def foreign(array):
    array.view(np.uint8)[2, PLAN.report_width - 1] |= 1
    return array


@pytest.mark.parametrize(
    ("spoil", "wrong"),
    [
        (unsorted, "canonical order"),
        (padded, "not padded with zeros"),
        (foreign, "a report that is none: a bit is set after the last answer"),
        (lambda array: array[:, :1], r"int64 of shape \(n, 2\)"),
        (lambda array: array.ravel(), r"int64 of shape \(n, 2\)"),
        (lambda array: array[:, :, None], r"int64 of shape \(n, 2\)"),
        (lambda array: array.astype(np.uint64), r"int64 of shape \(n, 2\)"),
    ],
)
def test_what_is_no_table_is_refused(spoil, wrong):
    array = spoil(table_of(PLAN, reports_of(PLAN, 7)).arrays()["reports"].copy())
    with pytest.raises(AggregateError, match=wrong):
        NetTreeTable.from_arrays(PLAN, {"reports": array})


def test_other_arrays_and_plans_are_refused():
    with pytest.raises(AggregateError, match="has the array reports, got sums"):
        NetTreeTable.from_arrays(PLAN, {"sums": np.zeros((1, 2), dtype=np.int64)})
    with pytest.raises(AggregateError, match="different plans"):
        NetTreeTable.zero(PLAN).merge(NetTreeTable.zero(LONG))
    with pytest.raises(PlanError, match="needs a plan with LocalTreeParameters"):
        NetTreeTable.zero(Plan.design(2, 2, 1.0, 100))
