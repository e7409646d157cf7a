"""The guarantee by cells of a net: every term of t, restated; its premises; the people it is about."""

import math
from dataclasses import replace

import numpy as np
import pytest

from coterie import Plan
from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.cells import NetCells
from coterie.plan.views import Net
from coterie.protocols.codeword.approximation import bias, count_noise, extent_of, sets, slack_of

PEOPLE = 10**10


@pytest.fixture(scope="module")
def plan():
    return Plan.design(1, 4, 1.0, PEOPLE)


def test_every_term_of_the_additive_error(plan):
    found = plan.approximation(failure=0.1, slack=0.3)
    net = plan.parameters.views[1]
    places = np.array(net.points) / SCALE
    reach, cells, n, s, k = NetCells.from_points(net.points).reach(), 64, PEOPLE, 16, 4
    law, b = plan.parameters.randomizer, 0.3
    gain = law.gain(128)
    variance = (1 + law.second_gain(128) * b**2) / (gain * b) ** 2
    size = math.sqrt(128) / (gain * b)
    ends = np.array([[-1.0], [1.0]])
    h1 = ((places - ends[:, None]) ** 2).sum(axis=(1, 2)).max()
    h = math.sqrt(((places - ends[:, None]) ** 4).sum(axis=(1, 2)).max())

    def noise(log, first, second):
        return math.sqrt(2 * s / n * variance * log) * second + 2 / 3 * s / n * (size * first + 4) * log

    error = noise(k * math.log(129) + math.log(80), h1, h)
    error += (4 + 1 / cells) * noise(math.log(80 * cells), 1, 1)
    exchange = noise((k + 1) * math.log(cells) + math.log(80), h1, h)
    off = math.sqrt(2 * 15 * math.log(80) / n) + 2 / 3 * 16 * math.log(80) / n
    own = math.sqrt(2 * (k * math.log(129) + math.log(200)) * variance * s / n) * h
    own *= (1 + off) / math.sqrt(1 - off)
    kappa, rho = (2 + math.sqrt(10)) ** 2, law.gain_error(128, 20) / b
    zeta = 1.5 / 1.3 - 1
    t = (1 + zeta) * (
        kappa * (1 + rho) * (1 + 1 / 0.3) * reach**2
        + (1 + 2 / math.sqrt(10)) * k * exchange
        + 2 * error
        + 2.02 * own
    )
    t = (t + (1 + 1 / zeta) * 9 * (1 + off) * (1 + rho) * reach**2) / (1 - rho)
    assert np.isclose(found.additive / n, t, rtol=2e-3)  # h₁ and h are of the ends, which the bound meets
    assert found.additive / n >= t * (1 - 1e-9)
    assert np.isclose(found.ratio, kappa * 1.5 * (1 + rho) / (1 - rho), rtol=1e-6)
    assert np.isclose(found.count_error, n * error, rtol=2e-3)
    assert (found.nodes, found.failure, found.slack) == (cells, 0.1, 0.3)


def test_the_slack_is_the_best_one_and_radius_and_people_scale(plan):
    best = plan.approximation()
    assert all(plan.approximation(slack=xi).additive >= best.additive for xi in (0.05, 0.2, 0.34, 0.45))
    assert best.additive < PEOPLE  # it says something
    assert plan.approximation(people=10**6).additive > 10**6
    wide = Plan.design(1, 4, 1.0, PEOPLE, radius=3.0)
    assert np.isclose(wide.approximation().additive, 9 * best.additive)
    assert plan.approximation(failure=0.001).additive > best.additive
    assert plan.additive_error() == best.additive


def test_premises(plan):
    cones = Plan.design(20, 4, 1.0, PEOPLE)  # cells of a rotation have no places
    few = plan.approximation(people=100)  # who serves the cells is too uncertain
    parameters = plan.parameters
    uncounted = replace(plan, parameters=replace(parameters, count_weight=0))
    alone = replace(plan, parameters=replace(parameters, views=(replace(parameters.views[0], weight=16),)))
    flat = Plan.design(2, 4, 1.0, PEOPLE).parameters
    net = replace(flat.views[1], points=((SCALE, SCALE), *flat.views[1].points[1:]))
    outside = replace(Plan.design(2, 4, 1.0, PEOPLE), parameters=replace(flat, views=(flat.views[0], net)))
    groups = replace(plan, parameters=parameters.asking_about([[5], [9], [-5], [-9]]))
    for nothing in (cones, uncounted, alone, outside, groups):
        assert math.isinf(nothing.approximation().ratio)
        assert math.isinf(nothing.additive_error())
    assert math.isinf(few.ratio)
    with pytest.raises(PlanError, match="takes no solver"):
        plan.approximation(solver_ratio=1.0)
    with pytest.raises(PlanError, match="has no option 'constants'; it has none"):
        plan.approximation({"constants": "theory"})


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_extents_hold_everywhere_in_the_ball_and_are_nearly_met(dimension):
    places = np.array(Plan.design(dimension, 4, 1.0, 10**6).parameters.views[1].points) / SCALE
    rng = np.random.default_rng(dimension)
    centers = rng.standard_normal((4000, dimension))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    apart = ((places - centers[:, None]) ** 2).sum(axis=2)
    first, second = extent_of(places)
    assert 0.97 * first <= apart.sum(axis=1).max() <= first
    assert 0.93 * second <= math.sqrt((apart**2).sum(axis=1).max()) <= second


def test_a_net_reaches_every_point_of_the_ball():
    rng = np.random.default_rng(0)
    for dimension, tight in ((1, 1.01), (2, 1.1), (3, 1.3)):
        net = NetCells.from_points(Plan.design(dimension, 4, 1.0, 10**6).parameters.views[1].points)
        points = rng.standard_normal((20_000, dimension))
        points *= rng.uniform(0, 1, (20_000, 1)) ** (1 / dimension) / np.linalg.norm(points, axis=1)[:, None]
        far = np.sqrt(((points[:, None] - net.places) ** 2).sum(axis=2).min(axis=1)).max()
        assert far <= net.reach() <= tight * far + 0.02
    assert NetCells.from_points([[0] * 20, [5] * 20]).reach() == 1.0  # too many dimensions to look
    assert NetCells.from_points([[SCALE] * 20]).reach() == 1 + math.sqrt(20)


def test_sums_over_people_stay_within_the_bound():
    """The noise of D at random sets of centers, by its law, against E and e, which hold for all sets."""
    plan = Plan.design(1, 4, 1.0, 10**8)
    parameters, rng = plan.parameters, np.random.default_rng(0)
    places = np.array(parameters.views[1].points) / SCALE
    variance = count_noise(parameters)[0]
    deviation = math.sqrt(variance * 16 / 10**8)
    noise = deviation * rng.standard_normal((400, 64))
    centers = rng.uniform(-1, 1, (500, 4))
    centers[:4] = [[-1] * 4, [1] * 4, [-1, -1, 1, 1], [0] * 4]
    costs = ((places - centers[:, None]) ** 2).min(axis=2)  # (500, 64)
    largest = np.abs(noise @ costs.T).max(axis=1)
    error = plan.approximation().count_error / 10**8
    assert np.quantile(largest, 0.99) < slack_of(deviation, places, 4) < error
    assert error < 5 * np.quantile(largest, 0.99)  # the union over all sets is worth a factor, no more
    assert np.isclose(sets(4, 1, 64, 0.1), 4 * math.log(129) + math.log(20))


def test_the_bias_is_more_than_what_the_least_lucky_points_have_under_real_rotations():
    from benchmarks.guarantees import rotation_bias, worst_point

    for dimension, epsilon, seed in ((1, 1.0, 0), (5, 4.0, 1), (12, 4.0, 1)):
        plan = Plan.design(dimension, 4, epsilon, 10**6, seed=seed)
        point, roots = worst_point(plan, seed)
        error, known = abs(rotation_bias(plan, point)[dimension]), plan.parameters.randomizer
        assert error / 0.3 <= bias(plan.parameters) < 0.1
        assert 0.5 < error / known.gain_error(128, roots) < 1.3  # it is by far the largest term
    assert error > 4 * known.gain_error(128)  # more than one fixed point has


def test_a_plan_of_two_nets_has_no_guarantee(plan):
    half, net = plan.parameters.views
    both = (replace(half, weight=14), net, Net(net.points, 1))
    assert math.isinf(replace(plan, parameters=replace(plan.parameters, views=both)).approximation().ratio)
