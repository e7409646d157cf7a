"""Several tables of one study: read together, and only if different people answered them."""

from dataclasses import replace

import numpy as np
import pytest

from coterie import Aggregate, Plan, Population, decode
from coterie.coins import SimulationCoins
from coterie.engines import play
from coterie.errors import DecodeError, PlanError
from coterie.plan.follow_up import HELD, MARGIN, ball_after

FAR = np.array([40.0, -30.0])
PLACES = FAR + np.array([[15.0, 0.0], [-15.0, 0.0], [0.0, 15.0]])


def people(count, seed):
    rng = np.random.default_rng(seed)
    return PLACES[rng.integers(0, 3, count)] + 0.5 * rng.standard_normal((count, 2))


@pytest.fixture(scope="module")
def first():
    plan = Plan.design(2, 3, 2.0, 10_000, radius=100.0)
    return play(plan, people(10_000, 0), SimulationCoins(0))


@pytest.fixture(scope="module")
def found(first):
    return decode(first, random_state=0)


@pytest.fixture(scope="module")
def second(first, found):
    return play(first.plan.follow_up(found, 10_000), people(10_000, 1), SimulationCoins(1))


def worst(result):
    return np.linalg.norm(PLACES[:, None] - result.centers[None], axis=2).min(axis=1).max()


@pytest.mark.slow
def test_a_follow_up_asks_where_people_are(first, second, found):
    plan = second.plan
    np.testing.assert_allclose(plan.center, FAR, atol=8.0)
    assert 10 < plan.radius < 70  # of 100
    assert (plan.dimension, plan.clusters, plan.epsilon) == (2, 3, 2.0)
    assert (plan.study_id, plan.after) == (first.plan.id, (first.plan.id,))
    assert Plan.design(2, 3, 2.0, 10_000, after=found) == plan
    alone = Plan.design(2, 3, 2.0, 10_000, after=found.population)  # does not say how unsure its mean is
    assert 0.9 * plan.radius < alone.radius < plan.radius
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.slow
def test_together_the_tables_tell_more_than_the_first(first, second, found):
    both = decode([first, second], random_state=0)
    assert worst(both) < 6.0  # a third of the way to another; the first table alone is off by more
    assert worst(both) < worst(found)
    assert both.supported == 3
    assert both.count == 20_000
    assert both.plan_ids == (first.plan.id, second.plan.id)
    assert (both.plan_id, both.study_id) == (second.plan.id, first.plan.id)
    assert both.population.plan_ids == both.plan_ids


@pytest.mark.slow
def test_rows_of_the_first_table_are_used():
    # Three people's reports in the last table say nothing; what is found comes from the first.
    places = np.array([[60.0, 0.0], [-30.0, 50.0], [-30.0, -50.0]])
    points = np.repeat(places, 3000, axis=0)
    plan = Plan.design(2, 3, 2.0, len(points), radius=100.0)
    later = Plan.design(2, 3, 2.0, len(points), radius=100.0, seed=7, study=plan.id)
    few = play(later, places, SimulationCoins(2))
    both = decode([play(plan, points, SimulationCoins(0)), few], random_state=0)
    assert decode(few, random_state=0).supported == 0
    assert both.supported == 3
    assert np.linalg.norm(places[:, None] - both.centers[None], axis=2).min(axis=1).max() < 6.0


@pytest.mark.slow
def test_the_promise_is_that_of_the_largest_epsilon(first, found):
    steeper = play(first.plan.follow_up(found, 500, epsilon=3.0), people(500, 3), SimulationCoins(3))
    gentler = play(first.plan.follow_up(found, 500, epsilon=1.0), people(500, 3), SimulationCoins(3))
    assert decode([first, steeper], random_state=0).guarantee.epsilon == 3.0
    assert decode([first, gentler], random_state=0).guarantee.epsilon == 2.0


@pytest.mark.slow
def test_a_third_wave_follows_both(first, second):
    both = decode([first, second], random_state=0)
    third = second.plan.follow_up(both, 100, clusters=4)
    assert third.after == (first.plan.id, second.plan.id)
    assert third.study_id == first.plan.id
    assert third.clusters == 4


@pytest.mark.slow
def test_a_follow_up_says_where_its_ball_may_come_from(first, second):
    promise = str(second.plan.guarantee)
    assert "or comes from private results about other people" in promise
    assert "or comes from private results" not in str(first.plan.guarantee)
    assert "chosen without looking at the points" in str(first.plan.guarantee)


def test_a_given_ball_is_kept(first, found):
    plan = first.plan.follow_up(found, 100, radius=7.0, center=[1.0, 2.0])
    assert (plan.center, plan.radius) == ((1.0, 2.0), 7.0)
    assert plan.after == (first.plan.id,)


def test_a_follow_up_of_something_else_is_refused(first, found):
    with pytest.raises(PlanError, match="needs the first study's Result or Population, got 'str'"):
        first.plan.follow_up("result", 100)
    other = Plan.design(2, 3, 2.0, 10_000, seed=5)
    with pytest.raises(PlanError, match="this result does not come from this plan"):
        other.follow_up(found, 100)
    with pytest.raises(PlanError, match="center must have 3 coordinates"):
        Plan.design(3, 3, 2.0, 100, after=found)


def test_people_who_cannot_be_told_apart_give_no_ball(first):
    one = Population(np.zeros((1, 2)), np.ones(1), first.plan.id, (first.plan.id,))
    with pytest.raises(PlanError, match="tells nobody apart"):
        first.plan.follow_up(one, 100)
    assert first.plan.follow_up(replace(one, scatter=4.0), 100).radius == pytest.approx(2.0)


def test_in_few_dimensions_the_ball_holds_nearly_everybody():
    rng = np.random.default_rng(4)
    seen = Population(rng.standard_normal((5000, 3)), rng.random(5000), "a" * 64, ("a" * 64,))
    center, radius = ball_after(seen)
    inside = np.linalg.norm(seen.points - center, axis=1) <= radius
    assert HELD - 0.001 < seen.weights[inside].sum() / seen.weights.sum() < HELD + 0.001


def test_in_many_dimensions_the_ball_follows_the_mean_square():
    """Tails that few reports tell badly do not widen it."""
    points = np.zeros((100, 20))
    points[:, 0] = np.repeat([1.0, -1.0], 50)
    points[:2, 1] = 8.0, -8.0  # two in a hundred
    seen = Population(points, np.ones(100), "a" * 64, ("a" * 64,))
    assert ball_after(seen)[1] == pytest.approx(MARGIN * np.sqrt(1 + 2 * 64 / 100))


def test_the_ball_holds_a_center_that_surely_lies_farther_out(first, found):
    seen = Population(np.vstack([np.eye(20), -np.eye(20)]), np.ones(40), first.plan.id, (first.plan.id,))
    far = np.zeros((2, 20))
    far[:, 3] = 5.0, 9.0
    told = replace(
        found,
        centers=far,
        errors=np.array([0.5, 2.0]),
        clear=np.array([True, True]),
        population=seen,
        mean_error=np.nan,
    )
    assert Plan.design(20, 2, 1.0, 100, after=told).radius == pytest.approx(7.0)
    unsupported = replace(told, clear=np.array([True, False]))
    assert Plan.design(20, 2, 1.0, 100, after=unsupported).radius == pytest.approx(4.5)
    assert Plan.design(20, 2, 1.0, 100, after=seen).radius == pytest.approx(MARGIN)


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.0, 0.5])
def test_lengths_are_told_where_directions_are_not(off):
    """Round data in 60 dimensions: few directions stand clear, and still the ball of a follow-up fits."""
    rng = np.random.default_rng(5)
    points = rng.standard_normal((200_000, 60)) * 0.3 / np.sqrt(60)
    points[:, 0] += off
    plan = Plan.design(60, 2, 2.0, len(points))
    found = decode(play(plan, points, SimulationCoins(0)), random_state=0)
    reached = np.linalg.norm(points - points.mean(axis=0), axis=1).mean()
    assert 0.8 < plan.follow_up(found, 100, directions=None).radius / MARGIN / reached < 1.8


def table_of(plan, count=50):
    return play(plan, np.zeros((count, plan.dimension)), SimulationCoins(0))


def test_tables_that_do_not_belong_together_are_refused(first, second):
    plan = first.plan
    common = {"clusters": 3, "epsilon": 2.0, "expected_users": 50, "study": plan.id}
    cases = [
        (Plan.design(2, 3, 2.0, 50), "different studies"),
        (Plan.design(dimension=3, **common), "same number of dimensions"),
        (Plan.design(dimension=2, **common, protocol="net-tree"), "only tables of protocol codeword"),
        (Plan.design(dimension=2, **common, model="shuffle", delta=1e-6), "same model of trust"),
    ]
    for other, message in cases:
        with pytest.raises(DecodeError, match=message):
            decode([first, table_of(other)])
    with pytest.raises(DecodeError, match=r"same plan: decode one of them"):
        decode([first, second, first])
    with pytest.raises(DecodeError, match="is empty"):
        decode([first, Aggregate(second.plan)])
    with pytest.raises(DecodeError, match="got none"):
        decode([])
    with pytest.raises(DecodeError, match="needs an Aggregate, got str"):
        decode(["table", first])


@pytest.mark.slow
def test_each_table_has_a_batch_of_its_own():
    plan = Plan.design(2, 2, 1.0, 1000, model="shuffle", delta=1e-6, minimum_batch=500)
    later = Plan.design(2, 2, 1.0, 1000, model="shuffle", delta=1e-6, minimum_batch=500, study=plan.id)
    assert decode([table_of(plan, 500), table_of(later, 500)], random_state=0).count == 1000
    with pytest.raises(DecodeError, match=f"plan {later.id} releases no batch of fewer than 500 people"):
        decode([table_of(plan, 900), table_of(later, 499)])


def test_cells_alone_in_many_dimensions_are_read_one_by_one():
    plan = Plan.design(40, 8, 0.5, 100, shape="tight")
    later = Plan.design(40, 8, 0.5, 100, shape="tight", study=plan.id)
    with pytest.raises(DecodeError, match="decode these one by one"):
        decode([table_of(plan), table_of(later)])
