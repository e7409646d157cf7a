"""Plans that ask about published groups: version 1 of the wire, a net of the centers, the same ball."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from coterie import decode, simulate
from coterie.errors import PlanError
from coterie.features import Flag, Number
from coterie.features.schema import as_schema
from coterie.plan import Plan
from coterie.plan.views import Net

FIRST = Plan.design(2, 3, 1.0, 1000, center=(5.0, 1.0), radius=2.0)
CENTERS = np.array([[6.0, 1.0], [4.0, 1.5], [5.0, 0.0]])


def found(centers=CENTERS, plan=FIRST, **changes):
    """A result, as far as a plan needs it."""
    population = SimpleNamespace(
        points=centers,
        weights=np.ones(len(centers)),
        scatter=0.0,
        study_id=plan.study_id,
        plan_ids=(plan.id,),
    )
    told = {"centers": centers, "radius": plan.radius, "middle": plan.center, "features": plan.features}
    return SimpleNamespace(**{**told, "population": population, **changes})


def test_the_groups_are_the_cells_and_the_ball_stays():
    plan = Plan.design(after=found(), confirm=True, epsilon=1.0, expected_users=5000)
    (view,) = plan.parameters.views
    assert isinstance(view, Net)
    assert view.points == ((1 << 19, 0), (-1 << 19, 1 << 18), (0, -1 << 19), (1 << 19, 0))  # the first again
    np.testing.assert_allclose(plan.published, CENTERS, atol=2.0**-19)
    assert (plan.dimension, plan.clusters, plan.center, plan.radius) == (2, 3, (5.0, 1.0), 2.0)
    assert (plan.study_id, plan.after, plan.confirms) == (FIRST.id, (FIRST.id,), True)
    assert json.loads(plan.to_json())["version"] == 1
    assert Plan.from_json(plan.to_json()) == plan
    assert FIRST.follow_up(found(), 5000, confirm=True) == plan


def test_nobody_is_in_the_cell_of_a_repeat():
    plan = Plan.design(after=found(), confirm=True, epsilon=1.0, expected_users=5000)
    cells = plan.parameters.views[0].geometry(plan.randomness_key, 0, 2)
    everywhere = np.random.default_rng(0).integers(-(1 << 20), 1 << 20, (5000, 2)).astype(float)
    assert set(cells.of(everywhere).tolist()) == {0, 1, 2}


@pytest.mark.parametrize("number", [1, 2, 5, 8])
@pytest.mark.parametrize("model", ["local", "shuffle"])
def test_any_number_of_groups_of_any_dimension(number, model):
    centers = np.random.default_rng(0).uniform(-0.1, 0.1, (number, 40))
    delta = {"delta": 1e-6} if model == "shuffle" else {}
    first = Plan.design(40, number, 1.0, 20_000, model=model, **delta)
    plan = first.follow_up(found(centers, first), 20_000, confirm=True)
    assert plan.confirms
    np.testing.assert_allclose(plan.published, centers, atol=2.0**-20)


def test_records_are_confirmed_with_their_features():
    schema = as_schema([Number("age", 0, 100), Flag("member")])
    first = Plan.design(features=schema, clusters=2, epsilon=1.0, expected_users=1000)
    answer = found(np.array([[0.1, 0.2], [0.0, -0.3]]), first)
    plan = Plan.design(after=answer, confirm=True, epsilon=1.0, expected_users=1000)
    assert (plan.features, plan.radius, plan.center) == (schema, schema.radius, None)


def test_a_plan_that_finds_confirms_nothing():
    for dimension in (2, 40):
        for clusters in (3, 64):
            plan = Plan.design(dimension, clusters, 1.0, 10_000)
            assert not plan.confirms
            assert plan.published is None


def test_the_promise_names_what_was_published():
    plan = Plan.design(after=found(), confirm=True, epsilon=1.0, expected_users=5000)
    words = " ".join(plan.guarantee.conditions)
    assert "The centers of 3 groups stand in the plan for everybody to read." in words
    assert "whoever answered an earlier plan of the study does not answer this one" in words
    assert "stand in the plan" not in str(FIRST.guarantee)


def test_what_cannot_be_confirmed_is_refused():
    settings = {"confirm": True, "epsilon": 1.0, "expected_users": 5000}
    with pytest.raises(PlanError, match="give the Result of the first study as `after`, got 'tuple'"):
        Plan.design(**settings)
    with pytest.raises(PlanError, match="give the Result"):
        Plan.design(after=found().population, **settings)
    with pytest.raises(PlanError, match="cannot ask about published groups; codeword can"):
        Plan.design(after=found(), protocol="net-tree", **settings)
    with pytest.raises(PlanError, match="clusters is 4, and 3 groups are to be confirmed"):
        Plan.design(after=found(), clusters=4, **settings)
    with pytest.raises(PlanError, match="finite centers"):
        Plan.design(after=found(np.array([[np.nan, 0.0]])), **settings)
    with pytest.raises(PlanError, match="at most 262144 coordinates"):
        Plan.design(after=found(np.zeros((65, 3000)), middle=None), **settings)


def test_what_will_be_said_is_known_beforehand():
    rng = np.random.default_rng(0)
    points = rng.choice([-0.5, 0.5], (4000, 2)) + 0.02 * rng.standard_normal((4000, 2))
    first = Plan.design(2, 4, 1.0, 50_000)
    centers = np.array([[x, y] for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
    plan = first.follow_up(found(centers, first), 50_000, confirm=True)
    forecast = plan.confirmation()
    told = decode(simulate(plan, points, 50_000, random_state=0)).confirmed
    half = np.mean([(group.share.high - group.share.low) / 2 for group in told.groups])
    assert half == pytest.approx(forecast.share, rel=0.1)
    assert plan.confirmation(200_000).share == pytest.approx(forecast.share / 2)
    widths = [(one.high - one.low) / 2 for group in told.groups for one in group.estimates]
    assert forecast.mean < np.mean(widths) < 2 * forecast.mean  # these lie off the middle of the ball
    with pytest.raises(PlanError, match="finds groups and confirms none"):
        first.confirmation()
