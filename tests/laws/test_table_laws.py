"""Laws of report files and aggregates: round trips, and merging that no order or split can change."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.aggregate import Aggregate
from coterie.collect import take_in
from coterie.errors import CoterieError, FileError
from coterie.plan import Plan
from coterie.plan.views import CrossPolytope, Halfspaces, Net
from coterie.wire.report_file import ReportFile, writing_reports

FULL = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
PLANS = [
    dataclasses.replace(FULL, parameters=dataclasses.replace(FULL.parameters, **changes))
    for changes in (
        {"views": (CrossPolytope(2),)},
        {"views": (CrossPolytope(2), Net(((0, 0), (9, 9), (-9, 0), (1, 1)))), "codewords": 1000, "cap": 300},
        {"views": (CrossPolytope(2),), "embedding": 512},
        {"views": (Halfspaces(8, (0, 9, -9, 0, 1, 2, 3, 4), 3), CrossPolytope(2))},
    )
]


@st.composite
def plans_and_rows(draw):
    plan = draw(st.sampled_from(PLANS))
    count = draw(st.integers(0, 40))
    rows = np.frombuffer(draw(st.binary(min_size=12 * count, max_size=12 * count)), dtype=np.uint8)
    index = draw(st.lists(st.integers(0, plan.parameters.codewords - 1), min_size=count, max_size=count))
    size = plan.report_width - 12
    contents = np.array(index, dtype=">u2").view(np.uint8).reshape(-1, 2)[:, 2 - size :]
    return plan, np.concatenate([rows.reshape(-1, 12), contents], axis=1)


def added(plan, rows):
    aggregate = Aggregate(plan)
    aggregate.add(rows)
    return aggregate


@pytest.mark.slow
@given(plans_and_rows(), st.data())
def test_any_order_any_split_any_merge_gives_the_same_bits(case, data):
    plan, rows = case
    whole = added(plan, rows)
    order = data.draw(st.permutations(range(len(rows))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    parts = [added(plan, part) for part in np.split(rows[order], cuts)]
    merged = Aggregate(plan)
    for place in data.draw(st.permutations(range(len(parts)))):
        merged.merge(parts[place])
    assert merged == whole
    assert merged.to_bytes() == whole.to_bytes()
    assert merged.count == len(rows)


@pytest.mark.slow
@given(plans_and_rows(), st.integers(0, 40), st.integers(0, 40))
def test_merging_is_associative_and_zero_is_neutral(case, first, second):
    plan, rows = case
    left, middle, right = np.split(rows, sorted([min(first, len(rows)), min(second, len(rows))]))
    one = added(plan, left)
    one.merge(added(plan, middle))
    one.merge(added(plan, right))
    inner = added(plan, middle)
    inner.merge(added(plan, right))
    two = added(plan, left)
    two.merge(inner)
    two.merge(Aggregate(plan))
    assert one.to_bytes() == two.to_bytes()


@pytest.mark.slow
@given(plans_and_rows())
def test_an_aggregate_survives_its_bytes(case):
    aggregate = added(*case)
    assert Aggregate.from_bytes(aggregate.to_bytes(), case[0]) == aggregate


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("reports") / "reports.coterie"


@given(case=plans_and_rows(), pieces=st.integers(1, 5), chunk=st.integers(1, 50))
def test_a_report_file_survives_its_bytes(path, case, pieces, chunk):
    plan, rows = case
    with writing_reports(path, plan, overwrite=True) as writer:
        for piece in np.array_split(rows, pieces):
            writer.append(piece)
    file = ReportFile.open(path, plan)
    assert file.count == len(rows) == sum(len(part) for part in file.chunks(chunk))
    assert file.read_all().tobytes() == rows.tobytes()


@pytest.mark.slow
@given(case=plans_and_rows(), repeats=st.lists(st.integers(0, 39), max_size=20))
def test_a_retried_report_counts_once(path, case, repeats):
    plan, rows = case
    rows = rows[np.unique(rows[:, :12], axis=0, return_index=True)[1]]
    again = rows[[place for place in repeats if place < len(rows)]]
    with writing_reports(path, plan, overwrite=True) as writer:
        writer.append(np.concatenate([rows, again]))
    collected = Aggregate(plan)
    with take_in([path], plan, memory_reports=7) as intake:
        for chunk in intake.chunks():
            collected.add(chunk)
    assert collected == added(plan, rows)
    assert intake.counts.duplicates == len(again)


# ------------------------------------------------------------ damaged files


@cache
def good_files():
    rows = np.random.default_rng(0).integers(0, 256, size=(8, 13), dtype=np.uint8)
    return added(PLANS[0], rows).to_bytes(), rows


@st.composite
def mutations(draw):
    """A function that cuts, overwrites or inserts bytes at a few places, most of them early."""
    edits = draw(
        st.lists(
            st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=12)), min_size=1, max_size=4
        )
    )

    def mutate(data):
        for place, gone, new in edits:
            start = int(place**3 * len(data))
            data = data[:start] + new + data[start + gone :]
        return data

    return mutate


@given(mutations())
def test_only_file_errors_come_out_of_a_damaged_table(mutate):
    good = good_files()[0]
    bad = mutate(good)
    if bad != good:
        with pytest.raises(FileError, match="<bytes>"):
            Aggregate.from_bytes(bad)


@given(mutate=mutations())
def test_only_file_errors_come_out_of_a_damaged_report_file(path, mutate):
    with writing_reports(path, PLANS[0], overwrite=True) as writer:
        writer.append(good_files()[1])
    good = path.read_bytes()
    bad = mutate(good)
    path.write_bytes(bad)
    if bad != good:
        with pytest.raises(FileError, match=r"reports\.coterie"):
            ReportFile.open(path).verify()


@given(st.binary(max_size=300))
def test_garbage_is_no_table(data):
    with pytest.raises(CoterieError, match="expected"):
        Aggregate.from_bytes(data)
    with pytest.raises(FileError, match="expected"):
        Aggregate.from_bytes(b"COTERIE-TABLE\n\x00\x01" + data)
