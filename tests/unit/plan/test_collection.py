"""Plans that say how they are collected: checked, in the id, and told in words."""

import dataclasses
import json

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.plan import Plan
from coterie.plan.collection import Collection, read_duration, read_time, written_time
from tests.plans import needs

FACTS = {"dimension": 3, "clusters": 3, "epsilon": 2.0, "expected_users": 10_000}
HOW = Collection(opens=7200, closes=14_400, minimum=500, retention=86_400)


def test_a_plan_without_it_says_nothing_of_it():
    plan = Plan.design(**FACTS)
    assert plan.collection is None
    assert "collection" not in json.loads(plan.to_json())
    with pytest.raises(PlanError, match="collection must be a JSON object"):
        Plan.from_json(json.dumps({**json.loads(plan.to_json()), "collection": None}))


def test_every_field_is_in_the_id():
    changes = [{}, {"opens": None}, {"closes": 18_000}, {"time_precision": 1800}, {"minimum": 501}]
    changes += [{"retention": None}, {"retention": 0}]
    plans = [Plan.design(**FACTS, collection=Collection(**{**HOW.to_dict(), **change})) for change in changes]
    assert len({plan.id for plan in plans} | {Plan.design(**FACTS).id}) == len(changes) + 1
    for plan in plans:
        assert Plan.from_json(plan.to_json()) == plan
    assert Plan.design(**FACTS, collection=HOW.to_dict()) == plans[0]


@pytest.mark.parametrize(
    "options",
    [
        {"protocol": "net-tree"},
        pytest.param({"protocol": "lsh-tree"}, marks=needs("lsh-tree")),
        {"model": "shuffle", "delta": 1e-6, "minimum_batch": 400},
        {"model": "central", "delta": 1e-6, "protocol": "vector-sums", "minimum_batch": 400},
    ],
)
def test_all_protocols_and_models_take_it(options):
    plan = Plan.design(**FACTS, **options, collection=HOW)
    assert Plan.from_json(plan.to_json()).collection == HOW


def test_a_minimum_below_the_smallest_batch_is_refused():
    shuffle = {**FACTS, "model": "shuffle", "delta": 1e-6, "minimum_batch": 600}
    with pytest.raises(PlanError, match=r"minimum must be in \[600, 10000\]"):
        Plan.design(**shuffle, collection=HOW)
    with pytest.raises(PlanError, match=r"minimum must be in \[1, 10000\]"):
        Plan.design(**FACTS, collection=Collection(minimum=10_001))
    plan = Plan.design(**FACTS)
    with pytest.raises(PlanError, match="collection must be a Collection"):
        dataclasses.replace(plan, collection=3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"opens": 7201}, "opens must be a multiple of time_precision 3600"),
        ({"closes": 7201}, "closes must be a multiple of time_precision 3600"),
        ({"opens": 14_400}, "opens 14400 must be before closes 14400"),
        ({"opens": -3600}, r"opens must be in \[0"),
        ({"opens": True}, "opens must be an integer"),
        ({"closes": 253402304400}, r"closes must be in \[0, 253402300799\]"),
        ({"closes": "2027-01-01T00:00Z"}, "closes must be an integer"),
        ({"time_precision": 0}, r"time_precision must be in \[1"),
        ({"time_precision": None}, "time_precision must be an integer"),
        ({"minimum": 0}, r"minimum must be in \[1"),
        ({"minimum": 1.0}, "minimum must be an integer"),
        ({"retention": -1}, r"retention must be in \[0"),
        ({"retention": (1 << 32) + 1}, r"retention must be in \[0, 4294967296\]"),
        ({"note": 1}, "unknown field 'note'"),
    ],
)
def test_what_is_refused(wrong, message):
    with pytest.raises(PlanError, match=message):
        Collection.from_dict({**HOW.to_dict(), **wrong})


def test_a_missing_field_is_refused():
    for name in HOW.to_dict():
        with pytest.raises(PlanError, match=f"lacks the field '{name}'"):
            Collection.from_dict({key: value for key, value in HOW.to_dict().items() if key != name})


def test_the_window_is_half_open_and_rounding_moves_nobody_over_its_edges():
    for moment in np.linspace(0, 20_000, 4001).tolist():
        for each in (moment, HOW.rounded(moment)):
            assert (HOW.is_early(each), HOW.is_late(each)) == (moment < 7200, moment >= 14_400)
    assert HOW.is_early(7199.9)
    assert HOW.is_late(14_400)
    assert not Collection().is_early(0)
    assert not Collection().is_late(0)


def test_times_and_durations_as_people_write_them():
    assert read_time("2027-01-01T00:00:01Z") == 1798761601
    assert written_time(read_time("20270101")) == "2027-01-01T00:00Z"
    for wrong in ("tomorrow", "2027-13-01", "2027-01-01 25:00Z"):
        with pytest.raises(PlanError, match="a time is written like"):
            read_time(wrong)
    with pytest.raises(PlanError, match="in which zone"):
        read_time("2027-01-01T12:00")
    assert [read_duration(text) for text in ("0", "5s", "2m", "1h", "1d", "1w")] == [
        *(0, 5, 120, 3600, 86_400, 604_800),
    ]
    for wrong in ("", "-1", "1y", "1.5h", "h"):
        with pytest.raises(PlanError, match="a duration is written like"):
            read_duration(wrong)


def test_words():
    assert HOW.words == (
        "from 1970-01-01T02:00Z until 1970-01-01T04:00Z; decoded from 500 people on; "
        "reports deleted 1 day after the close"
    )
    assert Collection().words == "at any time, until it is closed"
    assert Collection(retention=0).words == "reports deleted 0 seconds after the close"
