"""Plans that ask for directions: how they are made, and what they refuse."""

from types import SimpleNamespace

import numpy as np
import pytest

from coterie import Plan
from coterie.centers import spectrum
from coterie.errors import PlanError
from coterie.geometry.ball import SCALE, project, quantize
from coterie.plan.follow_up import AROUND, FEW, HELD, ball_after, next_question
from coterie.protocols.codeword.oracles.rows import unit_points

DIMENSION, LEADING = 40, 12
PLAN = Plan.design(DIMENSION, 3, 2.0, 10_000)


def found(*, radius=0.9, scatter=0.05, directions=True, off=0.0):
    """What a first study found: people in a few directions, and scatter in all."""
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))[0].T[:LEADING]
    inside = rng.standard_normal((500, LEADING))
    inside *= np.sqrt(radius**2 - scatter) / np.linalg.norm(inside, axis=1, keepdims=True)
    return SimpleNamespace(
        points=inside @ basis + off * np.eye(DIMENSION)[0],
        weights=np.ones(500) / 500,
        scatter=scatter,
        study_id=PLAN.id,
        plan_ids=(PLAN.id,),
        directions=basis if directions else None,
    )


def test_a_follow_up_asks_for_the_directions_that_were_found():
    seen = found()
    wave = PLAN.follow_up(seen, 20_000)
    assert (wave.version, wave.coordinates, wave.dimension) == (2, LEADING, DIMENSION)
    assert wave.facts.dimension == LEADING
    assert Plan.from_json(wave.to_json()) == wave
    assert wave.radius == pytest.approx(AROUND * ball_after(seen)[1])
    steps = np.array(wave.directions) / SCALE
    stretch = np.linalg.norm(steps, axis=1).mean()
    np.testing.assert_allclose(steps @ steps.T, stretch**2 * np.eye(LEADING), atol=1e-4)
    np.testing.assert_allclose(np.abs(np.diag(steps @ seen.directions.T)), stretch, rtol=1e-5)
    held = np.linalg.norm((seen.points - np.array(wave.center)) / wave.radius @ steps.T, axis=1) < 1
    assert HELD - 0.05 < held.mean() <= 1


def test_what_is_reported_is_what_the_directions_see():
    wave = PLAN.follow_up(found(), 20_000)
    points = np.random.default_rng(2).standard_normal((50, DIMENSION)) / 7
    quantized, _ = quantize(points, wave.center, wave.radius)
    projected, _ = project(quantized, np.array(wave.directions, dtype=np.float64))
    np.testing.assert_allclose(projected / SCALE, unit_points(wave, points), atol=1e-4)
    assert (projected**2).sum(axis=1).max() <= SCALE**2


@pytest.mark.parametrize(
    ("population", "radius", "question"),
    [
        (found(), 1.0, "directions"),
        (found(), None, "directions"),
        (found(radius=0.5), 1.0, "directions"),
        (found(radius=0.5, off=0.4), 1.0, "ball"),
        (found(radius=0.5, off=0.1), 1.0, "directions"),
        (found(radius=0.9, off=0.4), 1.0, "directions"),
        (found(radius=0.5, directions=False), 1.0, "ball"),
        (found(directions=False), 1.0, "same"),
        (found(directions=False), None, "ball"),
    ],
)
def test_a_ball_in_the_wrong_place_comes_first_then_directions_then_a_smaller_one(
    population, radius, question
):
    assert next_question(population, radius).asks == question


def test_the_place_of_the_ball_is_where_the_plan_has_it():
    off = found(radius=0.5, off=0.4)
    assert next_question(off, 1.0, [0.4] + [0.0] * (DIMENSION - 1)).asks == "directions"


def test_a_result_is_followed_up_alike_by_either_name():
    """`design` knows the ball of a result, which `follow_up` has from its plan."""
    for seen in (found(), found(directions=False), found(radius=0.5, off=0.4)):
        seen.radius, seen.middle = PLAN.radius, PLAN.center
        options = {"dimension": DIMENSION, "clusters": 3, "epsilon": 2.0, "expected_users": 20_000}
        assert Plan.design(**options, after=seen) == PLAN.follow_up(seen, 20_000)


def test_directions_in_which_nobody_differs_are_stretched_as_far_as_may_be():
    seen = found(scatter=0.0)
    seen.directions = np.linalg.svd(seen.directions)[2][LEADING : 2 * LEADING]
    wave = PLAN.follow_up(seen, 20_000)
    assert 7.99 < np.linalg.norm(np.array(wave.directions) / SCALE, axis=1).min() <= 8


def test_few_is_the_same_number_everywhere():
    """Up to which a population fills its ball, a plan asks for whole points, and else for so many."""
    assert FEW == spectrum.FLAT == LEADING


def test_few_dimensions_are_asked_as_a_whole_in_a_smaller_ball_or_the_same():
    few = SimpleNamespace(points=np.eye(FEW), weights=np.ones(FEW), directions=np.eye(FEW), scatter=0.0)
    assert next_question(few, None).asks == next_question(few, 1.0).asks == "ball"
    assert next_question(few, 0.9).asks == "same"  # people are √(11/12) from their mean


@pytest.mark.parametrize(("people", "question"), [(20_000, "ball"), (10_000, "same"), (None, "same")])
def test_a_new_ball_must_be_worth_the_people_who_told_the_old_one(people, question):
    """0.77 of the old radius is below √⅔ and above √½: mostly the people of its own wave count in it."""
    seen = SimpleNamespace(population=found(radius=0.7, directions=False), count=10_000)
    assert ball_after(seen)[1] == pytest.approx(0.77, abs=1e-3)
    assert next_question(seen, 1.0, None, people).asks == question


@pytest.mark.parametrize(
    ("people", "question"), [(23_000, "directions"), (90_000, "same"), (None, "directions")]
)
def test_directions_must_be_known_by_enough_of_the_people(people, question):
    """After a tenth of them reports in directions lose, after three tenths they gain."""
    seen = SimpleNamespace(population=found(), count=10_000)
    assert next_question(seen, 1.0, None, people).asks == question


@pytest.mark.parametrize(("error", "question"), [(0.05, "ball"), (0.12, "same")])
def test_a_ball_whose_center_is_not_known_is_no_smaller_one(error, question):
    """√40·0.12 = 0.76: whoever lies 0.5 from the mean may lie 0.9 from where it seems to be."""
    seen = found(radius=0.5, directions=False)
    result = SimpleNamespace(population=seen, mean=np.zeros(DIMENSION), mean_error=error)
    assert ball_after(result)[1] < 0.8
    assert next_question(result, 1.0).asks == question


def as_result(*, count=10_000, supported=0, **facts):
    """What a result says besides its population."""
    population = found(**facts)
    mean = population.weights @ population.points
    return SimpleNamespace(
        population=population, count=count, supported=supported, mean=mean, mean_error=0.01
    )


@pytest.mark.parametrize(
    ("seen", "people", "asks", "words"),
    [
        (as_result(), 10_000, "directions", ("12 directions", "no groups were found", "50%", "25%")),
        (
            as_result(),
            90_000,
            "same",
            ("no groups were found", "10% of all people", "25%", "pays below 0.95"),
        ),
        (as_result(directions=False, supported=3), 10_000, "same", ("3 groups stand clear", "below 0.71")),
        (as_result(directions=False, supported=1), 10_000, "same", ("1 group stands clear",)),
        (
            as_result(directions=False, radius=0.5),
            10_000,
            "ball",
            ("no directions are known", "0.55", "0.71"),
        ),
        (as_result(radius=0.5, off=0.4), 10_000, "ball", ("0.40 of the radius off its center", "0.55 of")),
        (found(), 10_000, "directions", ("how many have answered is not known", "taken for 50%")),
    ],
)
def test_what_is_asked_next_has_a_reason_with_its_figures(seen, people, asks, words):
    told = PLAN.next_question(seen, people)
    assert told.asks == asks
    for each in words:
        assert each in str(told)
    plan = PLAN.follow_up(seen, people)
    same = (plan.center, plan.radius) == (PLAN.center, PLAN.radius)
    assert ("directions" if plan.directions else "same" if same else "ball") == asks


def test_what_is_asked_as_it_was_told_has_that_for_a_reason():
    others = {"directions": None, "radius": 2.0}
    told = PLAN.next_question(found(), 10_000, **others)
    assert (told.asks, told.why) == ("given", "Asked is what was given: directions and radius")
    told = PLAN.next_question(found(), 10_000, directions="auto", center=None, radius=None)
    assert told.asks == PLAN.next_question(found(), 10_000).asks == "directions"
    assert PLAN.next_question(found(), 10_000, confirm=True).asks == "confirm"
    told = PLAN.next_question(found(), 10_000, protocol="net-tree")
    assert (told.asks, "net-tree takes no directions" in told.why) == ("ball", True)
    wave, seen = PLAN.follow_up(found(), 20_000), found()
    seen.plan_ids = (PLAN.id, wave.id)
    told = wave.next_question(seen, 10_000)
    assert (told.asks, "these 12 directions" in told.why) == ("same", True)


def test_the_same_ball_is_asked_again_where_no_directions_pay():
    wave = PLAN.follow_up(found(directions=False), 20_000)
    assert (wave.version, wave.center, wave.radius) == (1, PLAN.center, PLAN.radius)


def test_a_third_wave_is_asked_about_the_same_directions():
    wave = PLAN.follow_up(found(), 20_000)
    seen = found(directions=False)
    seen.plan_ids = (PLAN.id, wave.id)
    third = wave.follow_up(seen, 30_000)
    assert (third.directions, third.center, third.radius) == (wave.directions, wave.center, wave.radius)
    assert third.id != wave.id


@pytest.mark.parametrize("changes", [{"directions": None}, {"center": None, "radius": 1.0}])
def test_whole_points_are_asked_for_if_told(changes):
    assert PLAN.follow_up(found(), 20_000, **changes).version == 1


def test_an_analysts_own_directions_become_orthonormal():
    plan = Plan.design(3, 2, 1.0, 1000, directions=[[3.0, 4.0, 0.0], [1.0, 1.0, 0.0]])
    assert plan.directions == ((629146, 838861, 0), (838861, -629146, 0))
    assert plan.coordinates == 2


@pytest.mark.parametrize(
    ("directions", "message"),
    [
        ([[1.0, 0.0], [2.0, 0.0]], "depend on each other"),
        ([[0.0, 0.0]], "depend on each other"),
        ([[np.nan, 0.0]], "finite"),
        ([1.0, 0.0], "a direction a row"),
        ([[1.0, 0.0, 0.0]], "must have 2 coordinates"),
        ("all", 'must be an array, "auto" or None'),
    ],
)
def test_directions_that_are_refused(directions, message):
    with pytest.raises(PlanError, match=message):
        Plan.design(2, 2, 1.0, 1000, directions=directions)


def test_other_protocols_take_none():
    with pytest.raises(PlanError, match="only protocol codeword takes directions"):
        Plan.design(3, 2, 1.0, 1000, protocol="net-tree", directions=[[1.0, 0.0, 0.0]])


def test_a_policy_counts_what_directions_cost():
    plan = Plan.design(3, 2, 1.0, 1000, directions=[[1.0, 0.0, 0.0]])
    assert plan.size == plan.parameters.view_rows * 1 + 3


def test_the_promise_names_the_directions():
    plan = Plan.design(3, 2, 1.0, 1000, directions=[[1.0, 0.0, 0.0]])
    assert any("public directions" in line for line in plan.guarantee.conditions)
    assert not any("directions" in line for line in PLAN.guarantee.conditions)


def test_another_protocol_is_asked_in_a_better_ball_only_if_there_is_one():
    for radius in (0.5, 5.0):
        told = next_question(found(), radius, protocol="lsh-tree")
        suits = ball_after(found())[1]
        assert (told.asks == "ball") == (suits < radius), told.why
        assert f"{suits:.3g}, and the one before {radius:.3g}" in told.why
    with pytest.raises(PlanError, match="protocol must be one of"):
        PLAN.follow_up(found(), 10_000, protocol="nonsense")
