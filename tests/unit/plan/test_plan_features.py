"""Plans that declare features: what follows from them is recomputed, and stands in the id."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.features import Category, Flag, Number, Schema
from coterie.plan import Plan, protocols

SCHEMA = Schema([Number("age", 0, 100, unit="years", weight=2), Category("plan", ("free", "paid", "team"))])
FACTS = {"clusters": 3, "epsilon": 2.0, "expected_users": 10_000}
PLAN = Plan.design(features=SCHEMA, **FACTS)


def test_dimension_and_ball_follow():
    assert (PLAN.dimension, PLAN.center, PLAN.radius) == (3, None, SCHEMA.radius)
    assert Plan.design(features=list(SCHEMA.features), **FACTS) == PLAN
    half = Schema(SCHEMA.features, coverage=0.5)
    assert Plan.design(features=half, **FACTS).radius == SCHEMA.radius / 2


def test_features_are_part_of_the_text_and_the_id():
    assert json.loads(PLAN.to_json())["features"] == json.loads(SCHEMA.to_json())
    assert Plan.from_json(PLAN.to_json()) == PLAN
    same = Schema.from_json(SCHEMA.to_json())
    assert Plan.design(features=same, **FACTS).id == PLAN.id
    told = Schema([Number("age", 0, 100, unit="months", weight=2), SCHEMA.features[1]])
    assert Plan.design(features=told, **FACTS).id != PLAN.id  # another unit alone


def test_a_plan_without_features_says_nothing_of_them():
    plan = Plan.design(dimension=3, **FACTS)
    assert plan.features is None
    assert "features" not in json.loads(plan.to_json())
    with pytest.raises(PlanError, match="features must be a JSON object"):
        Plan.from_json(json.dumps({**json.loads(plan.to_json()), "features": None}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimension": 4}, "dimension must be 3, as follows from the features"),
        ({"radius": 1.0}, "radius .* as follows from the features"),
        ({"radius": np.nextafter(SCHEMA.radius, 2)}, "radius .* as follows from the features"),
        ({"center": [0.5, 0, 0]}, "center must be null"),
        ({"features": {**SCHEMA.to_dict(), "coverage": 0.5}}, "as follows from the features"),
        ({"features": {**SCHEMA.to_dict(), "note": 1}}, "unknown field 'note'"),
        ({"features": {**SCHEMA.to_dict(), "features": []}}, "1 to 3000 coordinates"),
        ({"features": []}, "features must be a JSON object"),
    ],
)
def test_every_reader_recomputes_what_follows(changes, message):
    with pytest.raises(PlanError, match=message):
        Plan.from_json(json.dumps({**json.loads(PLAN.to_json()), **changes}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"radius": 1.0}, "center and radius follow from the features"),
        ({"center": [0, 0, 0]}, "center and radius follow from the features"),
        ({"dimension": 2}, "dimension must be 3"),
        ({"features": "age"}, "a list of features or a file of them, and there is no file age"),
        ({"features": 3}, "features must be a list"),
        ({"features": [3]}, r"features\[0\] must be a feature"),
        ({"clusters": None}, "clusters must be an integer"),
    ],
)
def test_designs_that_contradict_the_features(given, message):
    with pytest.raises(PlanError, match=message):
        Plan.design(**{"features": SCHEMA, **FACTS, **given})


def test_a_design_needs_a_dimension_or_features():
    with pytest.raises(PlanError, match="dimension must be an integer, got None"):
        Plan.design(**FACTS)


def test_a_follow_up_keeps_the_features_and_may_have_another_ball():
    seen = SimpleNamespace(
        points=np.eye(3), weights=np.ones(3), scatter=0.0, study_id=PLAN.id, plan_ids=(PLAN.id,)
    )
    wave = PLAN.follow_up(seen, 5000)
    assert wave.features == SCHEMA
    assert wave.radius != SCHEMA.radius
    assert wave.center is not None
    assert Plan.from_json(wave.to_json()) == wave
    with pytest.raises(PlanError, match="dimension must be 3"):
        PLAN.follow_up(seen, 5000, dimension=4, center=[0] * 4, radius=1.0)


def test_the_promise_says_where_the_bounds_come_from():
    declared, sampled = (
        str(PLAN.guarantee),
        str(Plan.design(features=Schema(SCHEMA.features, source="public sample"), **FACTS).guarantee),
    )
    assert "declared without looking at the people's data" in declared
    assert "sample that was declared public" in sampled
    assert "sample" not in declared
    plain = str(Plan.design(dimension=3, **FACTS).guarantee)
    assert "The ball (center and radius) is public knowledge" in plain
    assert "The ball (center and radius)" not in declared


def test_every_protocol_takes_features():
    people = [Number("x", 0, 1), Flag("f")]
    for protocol in protocols("local"):
        plan = Plan.design(features=people, protocol=protocol, **FACTS)
        assert Plan.from_json(plan.to_json()) == plan
