"""Clients of plans with features encode records: never an error that tells, and the same point each way."""

from dataclasses import replace

import numpy as np
import pandas
import pytest

from coterie.encode import Client, RecordKeysWarning
from coterie.errors import PointError
from coterie.features import Category, Cycle, Flag, Number, Schema
from coterie.plan import Plan
from coterie.protocols import PROTOCOLS
from coterie.protocols.codeword.encode import CodewordEncoder

SCHEMA = Schema(
    [
        Number("age", 0, 100),
        Category("plan", ("free", "paid"), unknown="own"),
        Flag("member"),
        Cycle("hour", 24),
    ]
)
PLAN = Plan.design(features=SCHEMA, clusters=2, epsilon=1.0, expected_users=100)
RECORDS = [
    {"age": 34, "plan": "free", "member": True, "hour": 8},
    {"age": "?", "plan": 7},
    {},
    {"age": 1e400},
]


@pytest.fixture
def seen(monkeypatch):
    """What the encoder was given."""
    points = []

    class Watched(CodewordEncoder):
        def encode_counting(self, given, ids, coins):
            points.append(np.array(given))
            return super().encode_counting(given, ids, coins)

    watched = replace(PROTOCOLS[PLAN.protocol], encoder=Watched)
    monkeypatch.setitem(PROTOCOLS, PLAN.protocol, watched)
    return points


@pytest.mark.filterwarnings("ignore::coterie.RecordKeysWarning")
@pytest.mark.parametrize("record", RECORDS)
def test_every_record_has_a_report(record, seen):
    assert len(Client(PLAN).encode(record)) == PLAN.report_width
    assert seen[0].tolist() == [SCHEMA.point(record).tolist()]


def test_points_of_the_schema_can_be_encoded_as_they_are(seen):
    point = SCHEMA.point(RECORDS[0])
    Client(PLAN).encode(point)
    Client(PLAN).encode_many([point, point])
    assert [row.tolist() for row in np.concatenate(seen)] == [point.tolist()] * 3


@pytest.mark.parametrize(
    "table",
    [
        RECORDS,
        {"age": [34, "?", None, 1e400], "plan": ["free", 7, None, None], "member": [True, None, None, None],
         "hour": [8, None, None, None]},
        pandas.DataFrame(RECORDS, dtype=object),
    ],
    ids=["records", "columns", "pandas"],
)  # fmt: skip
def test_tables_are_encoded_row_by_row(table, seen):
    assert len(Client(PLAN).encode_many(table)) == 4 * PLAN.report_width
    assert seen[0].tolist() == SCHEMA.points(RECORDS).tolist()


def test_a_ledger_answers_once_whatever_the_record(tmp_path):
    client = Client(PLAN, tmp_path / "ledger")
    assert client.encode(RECORDS[0]) == client.encode({"age": 99}) == client.encode({})


def test_records_without_features_are_refused_and_not_quoted():
    plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    for call in (
        lambda: Client(plan).encode({"age": 4711}),
        lambda: Client(plan).encode_many([{"age": 4711}]),
    ):
        with pytest.raises(PointError, match="declares no features") as caught:
            call()
        assert "4711" not in str(caught.value)


def test_what_one_person_did_not_give_is_not_told():
    """Warnings are errors here: none may say, in a log, which values a person left out."""
    Client(PLAN).encode({})
    Client(PLAN).encode({"age": 3})
    with pytest.warns(RecordKeysWarning, match="a record has no 'age'"):
        Client(PLAN).encode_many([{"hour": 3}, {"plan": None}])


@pytest.mark.parametrize(
    "call", [lambda x: x.encode, lambda x: lambda record: x.encode_many([record, record])]
)
def test_keys_that_do_not_fit_are_named_before_anything_is_drawn(call, monkeypatch):
    """The same words whatever the values; none of them in the words; where all keys are there, none."""
    told = set()
    for value in (4711, None, "4711", float("nan")):
        with pytest.warns(RecordKeysWarning) as caught:
            call(Client(PLAN))({"agee": value, "plan": value, "member": value, "hour": value})
        told |= {str(one.message) for one in caught}
    (words,) = told
    assert "'age'" in words
    assert "'agee'" in words
    assert not any(each in words for each in ("4711", "nan", "plan", "member", "hour"))
    call(Client(PLAN))(dict.fromkeys(("age", "plan", "member", "hour")))  # warnings are errors here

    client = Client(PLAN)
    monkeypatch.setattr(client, "_coins", None)  # whoever draws now fails otherwise
    with pytest.raises(RecordKeysWarning):
        call(client)({"agee": 3})
