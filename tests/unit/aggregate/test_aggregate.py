import dataclasses
import hashlib
import json
import pickle
import struct

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.aggregate.aggregate import MAX_COUNT
from coterie.errors import AggregateError, FileError, PlanError, ReportError
from coterie.plan import Plan
from coterie.plan.views import CrossPolytope

FULL = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
# Small tables, and fewer codewords than a byte can name.
PLAN = dataclasses.replace(
    FULL, parameters=dataclasses.replace(FULL.parameters, codewords=16, cap=5, views=(CrossPolytope(2),))
)
WIDE = dataclasses.replace(
    PLAN, parameters=dataclasses.replace(PLAN.parameters, embedding=2048)
)  # no second moment
ROWS = np.random.default_rng(0).integers(0, 256, size=(50, 13), dtype=np.uint8) & np.uint8(15)


@pytest.fixture
def aggregate():
    aggregate = Aggregate(PLAN)
    aggregate.add(ROWS)
    return aggregate


def test_survives_pickling(aggregate):
    other = pickle.loads(pickle.dumps(aggregate))  # noqa: S301 - it was made here
    assert other == aggregate
    other.add(ROWS)
    assert other.count == 100


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_takes_bytes_and_arrays(aggregate, kind):
    other = Aggregate(PLAN)
    other.add(kind(ROWS.tobytes()))
    assert other == aggregate
    assert other.count == 50
    other.add(b"")
    assert other == aggregate


def test_merge_is_adding_together(aggregate):
    first, second = Aggregate(PLAN), Aggregate(PLAN)
    first.add(ROWS[:20])
    second.add(ROWS[20:])
    before = second.to_bytes()
    first.merge(second)
    assert first == aggregate
    assert second.to_bytes() == before
    first.merge(first)
    assert first.count == 100


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (bytes(27), "27 bytes are no whole number"),
        (np.vstack([ROWS, np.full((1, 13), 16, dtype=np.uint8)]), "none of these reports was added"),
        (np.zeros((2, 14), dtype=np.uint8), r"shape \(n, 13\)"),
        ("text", "got str"),
    ],
)
def test_all_or_nothing(aggregate, reports, message):
    before = aggregate.to_bytes()
    with pytest.raises(ReportError, match=message):
        aggregate.add(reports)
    assert aggregate.to_bytes() == before


def test_different_plans_stay_apart(aggregate):
    other = Aggregate(dataclasses.replace(PLAN, seed=1))
    other.add(ROWS)
    before = aggregate.to_bytes()
    with pytest.raises(
        AggregateError, match=f"different plans cannot be merged: {PLAN.id} and {other.plan.id}"
    ):
        aggregate.merge(other)
    assert aggregate.to_bytes() == before
    assert other != aggregate
    assert Aggregate(PLAN) == Aggregate(PLAN)
    assert Aggregate(PLAN) != Aggregate(other.plan)  # though both tables are empty
    with pytest.raises(AggregateError, match="got CodewordTable"):
        aggregate.merge(aggregate.table)
    assert aggregate != 50


def test_needs_a_plan_and_says_what_it_is(aggregate):
    with pytest.raises(PlanError, match="needs a Plan, got str"):
        Aggregate(PLAN.to_json())
    assert repr(aggregate) == f"<Aggregate of 50 reports, plan {PLAN.id[:12]}…>"
    with pytest.raises(TypeError, match="unhashable"):
        hash(aggregate)


@pytest.mark.parametrize("plan", [PLAN, FULL, WIDE], ids=["small", "full", "wide"])
def test_save_and_load(plan, tmp_path):
    path = tmp_path / "table"
    aggregate = Aggregate(plan)
    aggregate.add(ROWS)
    aggregate.save(path)
    assert Aggregate.load(path) == aggregate
    assert Aggregate.load(path, plan) == aggregate
    assert path.read_bytes() == aggregate.to_bytes()
    assert Aggregate.from_bytes(aggregate.to_bytes()) == aggregate
    loaded = Aggregate.load(path)
    loaded.add(ROWS)
    loaded.merge(aggregate)
    assert loaded.count == 150
    assert list(tmp_path.iterdir()) == [path]


def test_the_bytes_are_those_of_the_wire_format(aggregate):
    plan = PLAN.to_json().encode()
    arrays = aggregate.table.arrays()
    assert list(arrays) == ["sums", "counts", "second"]
    body = b"COTERIE-TABLE\n" + struct.pack(">HI", 1, len(plan)) + plan
    body += b"".join(array.astype("<i8").tobytes() for array in arrays.values())
    assert aggregate.to_bytes() == body + hashlib.sha256(body).digest()


PLAN_AT = 20
PLAN_LENGTH = len(PLAN.to_json())
ARRAYS_AT = PLAN_AT + PLAN_LENGTH


def signed(body):
    return body + hashlib.sha256(body).digest()


def with_plan(data, text):
    return signed(data[:16] + struct.pack(">I", len(text)) + text + data[ARRAYS_AT:-32])


def with_number(data, place, value):
    place = ARRAYS_AT + 8 * place
    return signed(data[:place] + struct.pack("<q", value) + data[place + 8 : -32])


def edited_plan(**changes):
    return json.dumps(
        {**json.loads(PLAN.to_json()), **changes}, sort_keys=True, separators=(",", ":")
    ).encode()


COUNTS = 4 * 128  # the counts stand after four rows of sums


@pytest.mark.parametrize(
    ("change", "offset", "expected"),
    [
        (lambda data: b"", 0, "the start of an aggregate"),
        (lambda data: b"COTERIE-REPORTS\n" + data, 0, "the start of an aggregate"),
        (lambda data: data[:14], 14, "version and length of the plan, found the end of the file"),
        (lambda data: data[:18], 18, "version and length of the plan, found the end of the file"),
        (lambda data: data[:14] + b"\0\2" + data[16:], 14, "version 1, found version 2"),
        (lambda data: data[:16] + b"\xff" * 4 + data[20:], 16, "a plan of at most 4194304 bytes"),
        (lambda data: data[:100], 100, f"a plan of {PLAN_LENGTH} bytes, found the end of the file"),
        (lambda data: with_plan(data, b"{}"), 20, "a valid plan, found format must be"),
        (lambda data: with_plan(data, edited_plan(epsilon=0.5)), 20, "a valid plan, found odds"),
        (lambda data: with_plan(data, PLAN.to_json().encode() + b" "), 20, "a plan in canonical JSON"),
        (lambda data: with_plan(data, edited_plan(seed=1)), 20, f"plan {PLAN.id}, found plan"),
        (lambda data: data[:-1], None, "bytes in all for this plan"),
        (lambda data: data + b"\0", None, "bytes in all for this plan"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), None, "the SHA-256 of everything before it"),
        (lambda data: with_number(data, 0, 51), ARRAYS_AT, "contradict"),
        (lambda data: with_number(data, 0, -(2**63)), ARRAYS_AT, "sums holds a number beyond"),
        (lambda data: with_number(data, COUNTS, -1), ARRAYS_AT, "contradict"),
        (lambda data: with_number(data, COUNTS, 2**62), ARRAYS_AT, "counts holds a number beyond"),
        (lambda data: with_number(data, COUNTS + 4 + 1, 50), ARRAYS_AT, "contradict"),
    ],
)
def test_bad_files_are_refused(aggregate, tmp_path, change, offset, expected):
    path = tmp_path / "table"
    path.write_bytes(change(aggregate.to_bytes()))
    with pytest.raises(FileError, match=expected) as caught:
        Aggregate.load(path, PLAN)
    assert caught.value.path == str(path)
    if offset is not None:
        assert caught.value.offset == offset
    with pytest.raises(FileError, match="<bytes>"):
        Aggregate.from_bytes(change(aggregate.to_bytes()), PLAN)


def test_a_table_cannot_overflow(aggregate):
    aggregate.table.counts[:] = MAX_COUNT // 4
    before = aggregate.to_bytes()
    with pytest.raises(AggregateError, match=r"at most 2\^46 reports"):
        aggregate.merge(aggregate)
    with pytest.raises(AggregateError, match=r"at most 2\^46 reports"):
        aggregate.add(ROWS)
    assert aggregate.to_bytes() == before


def test_the_last_report_that_has_room_is_taken(aggregate):
    aggregate.table.counts[0] += MAX_COUNT - 100
    aggregate.add(ROWS)
    assert aggregate.count == MAX_COUNT
