"""The table of vector sums: addition in its field, and what no messages can have made."""

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.coins import SimulationCoins
from coterie.collect.shuffler import mixed
from coterie.errors import AggregateError, PlanError, ReportError
from coterie.plan import Plan
from coterie.protocols import encoder_of
from coterie.protocols.shares.table import VectorSumTable
from coterie.protocols.table import MAX_COUNT

SHARES = Plan.design(2, 2, 2.0, 60, protocol="vector-sums", model="shuffle", delta=1e-4, cells=4)
COLUMN = Plan.design(
    2, 2, 2.0, 400, protocol="vector-sums", model="shuffle", delta=1e-4, cells=2, layout="column"
)
CURATOR = Plan.design(2, 2, 2.0, 60, protocol="vector-sums", model="central", delta=1e-4, cells=4)
MODULUS = SHARES.parameters.modulus


def messages_of(plan, people, seed=0):
    points = np.random.default_rng(seed).normal(0, 0.4, (people, 2))
    reports = encoder_of(plan).encode_counting(points, None, SimulationCoins(seed))[0]
    return np.concatenate(list(mixed(plan, [reports])))


def test_sums_are_those_of_the_field():
    messages = messages_of(SHARES, 60)
    table = VectorSumTable.zero(SHARES)
    for piece in (messages[:1000], messages[1000:]):
        table.add(piece)
    sums, numbers = [0] * table.sums.size, [0] * table.sums.size
    for address, share in zip(
        *(each.tolist() for each in SHARES.parameters.sums().read(messages)), strict=True
    ):
        sums[address] = (sums[address] + share) % MODULUS
        numbers[address] += 1
    assert table.sums.ravel().tolist() == sums
    assert table.messages.ravel().tolist() == numbers
    assert table.count == 60


def test_people_are_counted_by_row_where_each_serves_one():
    table = VectorSumTable.zero(COLUMN)
    table.add(messages_of(COLUMN, 400))
    assert table.count == 400


def test_merging_is_adding_in_the_field():
    whole, first, second = (VectorSumTable.zero(SHARES) for _ in range(3))
    messages = messages_of(SHARES, 60)
    whole.add(messages)
    first.add(messages[::2])
    second.add(messages[1::2])
    before = second.sums.copy()
    first.merge(second)
    assert (first.sums == whole.sums).all()
    assert (first.messages == whole.messages).all()
    assert (second.sums == before).all()
    with pytest.raises(AggregateError, match="different plans"):
        first.merge(VectorSumTable.zero(COLUMN))


def test_a_curators_table_is_filled_once():
    table = VectorSumTable.zero(CURATOR)
    with pytest.raises(ReportError, match="a central plan has no messages"):
        table.add(np.zeros((1, 13), dtype=np.uint8))
    with pytest.raises(AggregateError, match="noisy once and whole"):
        table.merge(VectorSumTable.zero(CURATOR))
    arrays = {name: array.copy() for name, array in table.arrays().items()}
    arrays["sums"][1, 2] = -5  # nothing is modulo anything
    assert VectorSumTable.from_arrays(CURATOR, arrays).sums[1, 2] == -5
    arrays["messages"][0, 0] = -1
    with pytest.raises(AggregateError, match="negative numbers of messages"):
        VectorSumTable.from_arrays(CURATOR, arrays)


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("sums", -1, "outside the field"),
        ("sums", 0, None),
        ("sums", MODULUS - 1, None),
        ("sums", MODULUS, "outside the field"),
        ("messages", -1, "negative numbers of messages"),
        ("messages", MAX_COUNT, None),
        ("messages", MAX_COUNT + 1, r"more than 2\^46 messages"),
    ],
)
def test_what_no_messages_can_have_made_is_refused(name, value, wrong):
    arrays = {key: array.copy() for key, array in VectorSumTable.zero(SHARES).arrays().items()}
    arrays[name][3, 1] = value
    if wrong is None:
        assert VectorSumTable.from_arrays(SHARES, arrays).arrays()[name][3, 1] == value
    else:
        with pytest.raises(AggregateError, match=wrong):
            VectorSumTable.from_arrays(SHARES, arrays)


def test_a_file_round_trips_and_other_plans_are_refused():
    aggregate = Aggregate(SHARES)
    aggregate.add(messages_of(SHARES, 60))
    assert Aggregate.from_bytes(aggregate.to_bytes(), SHARES) == aggregate
    with pytest.raises(PlanError, match="needs a plan with ShareParameters, got one of protocol codeword"):
        VectorSumTable.zero(Plan.design(2, 2, 1.0, 100))
