"""The table against the one-page reference, bit for bit, by both kernels and any number of threads."""

import dataclasses
import importlib.util

import numpy as np
import pytest

import coterie.protocols.codeword.table as table_module
from coterie.aggregate import Aggregate
from coterie.errors import AggregateError, ReportError
from coterie.plan import Plan
from coterie.plan.views import CrossPolytope, Halfspaces
from coterie.protocols.codeword.table import CodewordTable
from coterie.protocols.table import MAX_COUNT
from tests.reference.codeword_reference import Reference

HAS_NUMBA = importlib.util.find_spec("numba") is not None
KERNELS = [
    "numpy",
    pytest.param("numba", marks=pytest.mark.skipif(not HAS_NUMBA, reason="numba is an extra")),
]

BASE = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)


def changed(**parameters):
    return dataclasses.replace(BASE, parameters=dataclasses.replace(BASE.parameters, **parameters))


PLANS = {
    "small": changed(codewords=16, cap=5, views=(CrossPolytope(2),)),
    "two views": changed(
        codewords=200, cap=5, views=(CrossPolytope(2, 3), CrossPolytope(8, 1)), embedding=256
    ),
    "halfspaces": changed(codewords=16, cap=5, views=(Halfspaces(8, (0,) * 8, 3), CrossPolytope(2))),
    "two-byte index": changed(codewords=300, cap=5, views=(CrossPolytope(2),)),
    "long": changed(codewords=16, cap=5, views=(CrossPolytope(2),), embedding=512),
    "no second moment": changed(codewords=16, cap=5, views=(CrossPolytope(2),), embedding=2048),
}


def random_reports(plan, count, seed=0):
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 256, size=(count, 12), dtype=np.uint8)
    index = rng.integers(0, plan.parameters.codewords, size=count).astype(">u2").view(np.uint8).reshape(-1, 2)
    return np.concatenate([ids, index[:, 2 - plan.parameters.answer_bytes :]], axis=1)


def table_of(plan, reports, **options):
    table = CodewordTable.zero(plan)
    table.add(reports, **options)
    return table


def equal(first, second):
    mine, theirs = first.arrays(), second.arrays()
    return mine.keys() == theirs.keys() and all((mine[name] == theirs[name]).all() for name in mine)


@pytest.mark.slow
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_sums_are_those_of_the_reference(plan, kernels):
    people = 20 if plan.parameters.embedding <= 512 else 2  # the reference takes its time
    reports = random_reports(plan, people)
    table = table_of(plan, reports, kernels=kernels)
    sums, counts, second = Reference(plan.to_json()).table([report.tobytes() for report in reports])
    assert table.sums.tolist() == sums
    assert table.counts.tolist() == counts
    assert table.count == people
    if table.second is None:
        assert plan.parameters.embedding == 2048
    else:
        assert table.second.tolist() == second
    assert all(array.dtype == np.int64 for array in table.arrays().values())


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is an extra")
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
@pytest.mark.parametrize("count", [1, 63, 64, 65, 4096, 9000])
def test_kernels_agree_around_their_piece_sizes(plan, count):
    reports = random_reports(plan, count, seed=count)
    assert equal(table_of(plan, reports, kernels="numpy"), table_of(plan, reports, kernels="numba"))


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is an extra")
def test_compiled_pieces_are_whole_words_of_reports(monkeypatch):
    from coterie.protocols.codeword import table_numba as kernels_numba

    assert kernels_numba._REPORTS_AT_A_TIME % 64 == 0
    monkeypatch.setattr(kernels_numba, "_REPORTS_AT_A_TIME", 64)
    plan = PLANS["small"]
    for count in (1, 63, 64, 65, 130):
        reports = random_reports(plan, count, seed=count)
        assert equal(table_of(plan, reports, kernels="numpy"), table_of(plan, reports, kernels="numba"))


@pytest.mark.parametrize("kernels", KERNELS)
def test_threads_and_pieces_change_nothing(monkeypatch, kernels):
    plan = PLANS["small"]
    reports = random_reports(plan, 5000)
    monkeypatch.setattr(table_module, "default_workers", lambda: 1)
    expected = table_of(plan, reports, kernels=kernels)
    monkeypatch.setattr(table_module, "_SIGNS_AT_A_TIME", 128 * 300)
    monkeypatch.setattr(table_module, "_SHARE", 1000)
    for held in (1 << 30, 700):  # reports after which 32-bit sums are added to those of 64
        monkeypatch.setattr(table_module, "_HELD", held)
        for workers in (1, 2, 5):
            monkeypatch.setattr(table_module, "default_workers", lambda workers=workers: workers)
            assert equal(table_of(plan, reports, kernels=kernels), expected)


@pytest.mark.parametrize("kernels", KERNELS)
def test_one_report_many_times_overflows_nothing(kernels):
    plan = PLANS["small"]
    once = table_of(plan, random_reports(plan, 1))
    many = table_of(plan, np.repeat(random_reports(plan, 1), 70_000, axis=0), kernels=kernels)
    for name, array in once.arrays().items():
        assert (many.arrays()[name] == 70_000 * array).all()


def test_sums_in_32_bits_are_handed_on_before_they_can_overflow():
    plan = PLANS["small"]
    assert table_of(plan, random_reports(plan, 1)).count == 1
    assert table_module._HELD + max(table_module._SIGNS_AT_A_TIME // 128, 1 << 16) < 1 << 31


def test_the_largest_table_there_is():
    plan = PLANS["small"]
    arrays = {name: array.copy() for name, array in CodewordTable.zero(plan).arrays().items()}
    arrays["counts"][0] = MAX_COUNT
    np.fill_diagonal(arrays["second"], MAX_COUNT)
    assert CodewordTable.from_arrays(plan, arrays).count == MAX_COUNT
    arrays["counts"][0] += 2
    with pytest.raises(AggregateError, match=r"beyond 2\^46"):
        CodewordTable.from_arrays(plan, arrays)


def test_merging_is_adding():
    plan = PLANS["two views"]
    reports = random_reports(plan, 500)
    first, second = table_of(plan, reports[:123]), table_of(plan, reports[123:])
    first.merge(second)
    assert equal(first, table_of(plan, reports))
    with pytest.raises(AggregateError, match="different plans"):
        first.merge(CodewordTable.zero(PLANS["small"]))


@pytest.mark.parametrize(
    "reports",
    [np.zeros((2, 12), dtype=np.uint8), np.zeros(13, dtype=np.uint8), np.zeros((2, 13), dtype=np.int64)],
    ids=["width", "axes", "type"],
)
def test_malformed_arrays(reports):
    with pytest.raises(ReportError, match=r"reports must be uint8 of shape \(n, 13\)"):
        Aggregate(PLANS["small"]).add(reports)


@pytest.mark.parametrize(("name", "index"), [("small", [16]), ("two-byte index", [1, 44])])
def test_one_foreign_index_and_nothing_counts(name, index):
    plan = PLANS[name]
    reports = random_reports(plan, 2000)
    reports[1500, 12:] = index
    table = Aggregate(plan)
    wrong = f"report 1500 of 2000: the index is not below {plan.parameters.codewords}"
    with pytest.raises(ReportError, match=wrong):
        table.add(reports)
    assert table == Aggregate(plan)


def test_arrays_go_out_and_in():
    plan = PLANS["small"]
    table = table_of(plan, random_reports(plan, 50))
    copy = CodewordTable.from_arrays(plan, table.arrays())
    assert equal(copy, table)
    copy.add(random_reports(plan, 1))
    assert table.count == 50


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda a: a.pop("second"), "has the arrays sums, counts, second"),
        (lambda a: a.update(extra=a["counts"]), "has the arrays"),
        (lambda a: a.update(sums=a["sums"][:-1]), "array sums must be int64 of shape"),
        (lambda a: a.update(counts=a["counts"].astype(np.int32)), "array counts must be int64"),
        (lambda a: a["counts"].__setitem__(0, -2), "sums and counts contradict"),
        (lambda a: a["sums"].__setitem__((0, 0), a["sums"][0, 0] + 1), "sums and counts contradict"),
        (lambda a: a["sums"].__setitem__((0, 0), a["counts"][0] + 2), "sums and counts contradict"),
        (lambda a: a["second"].__setitem__((0, 0), 0), "second moment contradicts"),
        (lambda a: a["second"].__setitem__((0, 1), a["second"][0, 1] + 2), "second moment contradicts"),
        (lambda a: a["second"].__setitem__(([0, 1], [1, 0]), 52), "second moment contradicts"),  # of 50
    ],
)
def test_impossible_arrays(spoil, match):
    plan = PLANS["small"]
    arrays = {name: array.copy() for name, array in table_of(plan, random_reports(plan, 50)).arrays().items()}
    spoil(arrays)
    with pytest.raises(AggregateError, match=match):
        CodewordTable.from_arrays(plan, arrays)
