"""From rows to centers: evidence, errors, and what the solution says of itself."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from coterie.centers import evidence, repeats
from coterie.centers import explain as module
from coterie.centers.answer import Answer, k_means
from coterie.centers.blobs import BlobFit, search
from coterie.centers.evidence import Evidence, Parts, combined, weigh
from coterie.centers.explain import explain
from coterie.centers.population import fit_population, into_ball
from coterie.geometry.spread import spread_points
from coterie.plan.codeword_design import spread_offsets
from coterie.plan.views import Halfspaces, Net
from coterie.wire import workers

DIMENSION = 24

pytestmark = pytest.mark.usefixtures("few_atoms")


def rng():
    return np.random.default_rng(0)


def cost(points, centers):
    return float(((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).mean())


def distances(found, true):
    """Distance of each found center from the true one matched with it: (k,)."""
    apart = np.linalg.norm(found[:, None] - true[None], axis=2)
    rows, columns = linear_sum_assignment(apart**2)
    matched = np.empty(len(found))
    matched[rows] = apart[rows, columns]
    return matched


def ring(count=3000):
    """People on a circle in a plane: nothing round about them."""
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    points = np.zeros((count, DIMENSION))
    points[:, 0], points[:, 1] = 0.8 * np.cos(angles), 0.8 * np.sin(angles)
    return points


def sticks(count=3000):
    """Two long thin groups side by side."""
    draw = np.random.default_rng(1)
    points = np.zeros((count, DIMENSION))
    points[:, 0] = np.where(np.arange(count) % 2, 0.3, -0.3)
    points[:, 1] = draw.uniform(-0.85, 0.85, count)
    return points


def explanations(views, clusters):
    """Both explanations and the evidence, as `explain` finds them."""
    population = fit_population(views, rng())
    start = k_means(population.inner, population.weights, clusters, rng())
    fit = BlobFit(views[0], np.zeros(DIMENSION))
    blobs = search(fit, population, [(start.centers, start.shares)])
    return Parts(population, blobs, weigh(population, blobs, fit, views[1:], rng()))


@pytest.mark.parametrize("shape", [ring, sticks])
def test_the_cells_deny_round_groups_where_there_are_none(simulate, shape):
    points = shape()
    parts = explanations(simulate(points, 10**6), 4)
    assert parts.evidence.inside < 0.2
    assert not parts.evidence.round_groups
    answer = combined(parts, 4, rng())
    believed = replace(parts, evidence=Evidence(True, True, 1.0, 1.0))
    assert cost(points, answer.centers) < 1.05 * cost(points, combined(believed, 4, rng()).centers)


def test_the_cells_confirm_round_groups_and_the_blobs_are_better(simulate, round_groups):
    points, _ = round_groups(4, DIMENSION)
    parts = explanations(simulate(points, 10**6), 4)
    assert parts.evidence.round_groups
    assert parts.evidence.inside > 0.8
    assert parts.evidence.outside > 0.6
    answer = combined(parts, 4, rng())
    np.testing.assert_array_equal(answer.centers, parts.blobs.centers)
    denied = replace(parts, evidence=Evidence(False, False, 0.0, 0.0))
    assert cost(points, combined(denied, 4, rng()).centers) > 2 * cost(points, answer.centers)


def test_round_groups_are_sure_where_many_people_form_them(simulate, round_groups):
    points, _ = round_groups(4, DIMENSION)
    assert explanations(simulate(points, 10**6), 4).evidence.sure
    assert not explanations(simulate(points, 20_000), 4).evidence.sure


def test_people_who_form_no_round_groups_are_never_sure_to(simulate):
    """Few enough of them, and blobs explain the rows as well as anything; that is not yet evidence."""
    along = 0.4 * 0.7 ** np.arange(DIMENSION)
    broad = into_ball(np.random.default_rng(2).standard_normal((4000, DIMENSION)) * along)
    seen = [explanations(simulate(broad, 60_000, seed), 4).evidence for seed in range(4)]
    assert any(one.round_groups for one in seen)
    assert not any(one.sure for one in seen)


def test_sure_blobs_win_clearly_miss_no_more_than_noise_and_know_their_centers(
    simulate, round_groups, monkeypatch
):
    points, _ = round_groups(3, DIMENSION)
    views = simulate(points, 10**6)
    parts, fit = explanations(views, 3), BlobFit(views[0], np.zeros(DIMENSION))
    population, blobs = parts.population, parts.blobs
    fitted, numbers = 3 * population.basis.shape[1], 10_000

    def sure(ours, theirs, blobs=blobs):
        monkeypatch.setattr(evidence, "_misfits", lambda *_: (ours, theirs, numbers))
        return evidence._certain(fit, blobs, population)

    assert sure(numbers, numbers + 5 * fitted)
    assert not sure(numbers, numbers + 5 * fitted - 1)
    noise = math.sqrt(2 * numbers)
    assert sure(numbers + 1.9 * noise, 2 * numbers)
    assert not sure(numbers + 2.1 * noise, 2 * numbers)
    apart = ((blobs.centers - fit.middle) ** 2).sum(axis=1)
    assert sure(numbers, 2 * numbers, replace(blobs, errors=0.08 * apart))
    assert not sure(numbers, 2 * numbers, replace(blobs, errors=0.1 * apart))


def test_errors_are_wider_where_groups_are_not_sure(simulate, round_groups):
    points, _ = round_groups(3, DIMENSION)
    views = simulate(points, 10**6)
    parts, fit = explanations(views, 3), BlobFit(views[0], np.zeros(DIMENSION))
    answer = combined(parts, 3, rng())
    assert parts.evidence.round_groups
    radii = [
        repeats.radii_of(
            repeats.distances_of(
                views, fit, replace(parts, evidence=replace(parts.evidence, sure=sure)), answer, rng(), 4
            )[0]
        )
        for sure in (True, False)
    ]
    assert (radii[1] > 1.3 * radii[0]).all()


def test_the_two_are_compared_on_the_same_rows(simulate, round_groups):
    """How well the population explains other tables' rows is beside the point."""
    points, _ = round_groups(3, DIMENSION)
    views = simulate(points, 10**6)
    parts, fit = explanations(views, 3), BlobFit(views[0], np.zeros(DIMENSION))
    for misfit in (0.0, 100.0):
        elsewhere = replace(parts.population, misfit=misfit)
        assert weigh(elsewhere, parts.blobs, fit, views[1:], rng()).round_groups


def test_overwhelming_evidence_for_round_groups_stands_without_the_cells(simulate, round_groups):
    """A tight group at the border of two cells may be predicted in the wrong one."""
    points, _ = round_groups(3, DIMENSION)
    halfspaces, cells = simulate(points, 10**6)
    parts, fit = explanations([halfspaces, cells], 3), BlobFit(halfspaces, np.zeros(DIMENSION))
    nothing = module._nothing(3, np.zeros(DIMENSION), 0.64, rng())
    against = replace(cells, vectors=cells.predicted(nothing.points, nothing.weights))
    views = [halfspaces, against]
    assert parts.evidence.round_groups
    assert evidence.better_than_one(fit, parts, views, nothing, rng())
    other = replace(parts, evidence=replace(parts.evidence, round_groups=False))
    assert not evidence.better_than_one(fit, other, views, nothing, rng())


def test_what_is_not_known_of_the_centers_is_taken_out_of_the_spread(simulate, round_groups):
    """Tight groups, few people: the fitted spread is mostly doubt, and a possible truth has less of it."""
    fitted, possible, true = [], [], 0.05**2 / DIMENSION
    for seed in range(4):
        points, centers = round_groups(4, DIMENSION, seed=seed)
        fit = BlobFit(simulate(points, 10**5, seed)[0], np.zeros(DIMENSION))
        blobs = fit.fit(centers, np.full(4, 0.25))
        spread = repeats.spread_without_doubt(blobs)
        fitted.append(np.abs(blobs.sigma**2 - true).mean())
        possible.append(np.abs(spread**2 - true).mean())
    assert np.mean(possible) < 0.7 * np.mean(fitted)


def test_evidence_without_rows_stays_at_what_was_expected(simulate, round_groups):
    points, _ = round_groups(3, DIMENSION)
    views = simulate(points, 10**6)
    parts = explanations(views, 3)
    none = weigh(parts.population, parts.blobs, BlobFit(views[0], np.zeros(DIMENSION)), [], rng())
    assert none.inside == pytest.approx(evidence._EXPECTED)


def test_between_the_two_the_answer_is_k_means_on_both(simulate, round_groups):
    points, _ = round_groups(3, DIMENSION, spread=0.4)
    parts = replace(explanations(simulate(points, 10**6), 3), evidence=Evidence(False, False, 0.4, 1.0))
    answer = combined(parts, 3, rng())
    population = parts.population
    count = len(population.inner)
    assert answer.weights[:count].sum() == pytest.approx(0.6)
    assert answer.weights[count:].sum() == pytest.approx(0.4)
    np.testing.assert_array_equal(answer.points[:count], population.inner)
    alone = [
        combined(replace(parts, evidence=Evidence(False, False, e, 1.0)), 3, rng()).centers
        for e in (0.0, 0.49)
    ]
    assert distances(alone[0], answer.centers).max() > 0
    assert cost(points, answer.centers) < 1.1 * min(cost(points, centers) for centers in alone)


@pytest.mark.parametrize(("people", "spread"), [(10**3, 0.0), (10**4, 0.5), (10**6, 0.5)])
def test_never_worse_than_one_center(simulate, people, spread):
    """Nobody to be told from noise, and one broad group."""
    points = into_ball(
        np.random.default_rng(2).standard_normal((3000, DIMENSION)) * spread / math.sqrt(DIMENSION)
    )
    for seed in range(3):
        solution = explain(simulate(points, people, seed), 4, np.random.default_rng(seed), repeats=3)
        one = cost(points, points.mean(axis=0, keepdims=True))
        assert cost(points, solution.centers) < 1.02 * one + 1e-3


def test_radii_cover_about_as_often_as_they_say(simulate, round_groups):
    """For 9 centers in 10; bounds for 40 centers, and for radii from few repeats."""
    inside = []
    for seed in range(10):
        points, centers = round_groups(4, DIMENSION, seed=seed)
        solution = explain(simulate(points, 10**6, seed), 4, np.random.default_rng(seed))
        assert solution.supported.all()
        assert solution.errors.max() < 0.1
        inside.append(distances(solution.centers, centers) <= solution.errors)
    assert 0.8 <= np.mean(inside) < 1


def test_without_repeats_no_error_is_claimed(simulate, round_groups):
    solution = explain(simulate(round_groups(3, DIMENSION)[0]), 3, rng(), repeats=0)
    np.testing.assert_array_equal(solution.errors, 1)
    assert solution.supported.all()


def solution_of(centers, distances, middle, peak=0.0, near=None):
    """A solution from the distances of repeated fits, and from those that stayed near the answer."""
    centers = np.array(centers)
    answer = Answer(centers, np.full(len(centers), 1 / len(centers)), centers, np.ones(len(centers)))
    near = distances if near is None else near
    return module._solution(answer, np.array(distances), np.array(near), np.array(middle), peak)


def test_centers_without_support_are_the_mean_of_everybody():
    """The second center is no farther from the mean than noise may have put it."""
    solution = solution_of([[0.5, 0.0], [0.1, 0.1]], [[0.1, 0.3]] * 6, [0.1, 0.0])
    assert solution.supported.tolist() == [True, False]
    np.testing.assert_allclose(solution.centers, [[0.5, 0.0], [0.1, 0.0]])
    assert solution.errors[0] < 0.3
    assert solution.errors[1] == 1


def test_radii_are_the_quantile_of_the_repeats():
    distances = np.random.default_rng(0).rayleigh(0.1, size=(400, 3))
    assert solution_of(np.eye(3), distances, np.zeros(3)).errors == pytest.approx(
        0.1 * np.sqrt(2 * np.log(10)), rel=0.1
    )


def test_doubts_are_named():
    apart, close = [[0.5, 0.0], [-0.5, 0.0]], [[0.5, 0.0], [0.5, 0.1]]
    assert solution_of(apart, [[0.1, 0.1]] * 6, [0.0, 0.0]).notes == ()
    (pair,) = solution_of(close, [[0.1, 0.1]] * 6, [0.0, 0.0]).notes
    assert pair.startswith("Centers 0 and 1 may be one group")
    (missed,) = solution_of(apart, [[0.1, 0.1]] * 6, [0.0, 0.0], peak=9.0).notes
    assert "a group that none of the centers explains" in missed


def test_where_nothing_stands_clear_every_center_is_the_mean(simulate):
    solution = explain(simulate(np.zeros((1, DIMENSION)), 10**3), 3, rng())
    assert not solution.supported.any()
    np.testing.assert_array_equal(solution.errors, 1)
    assert np.linalg.norm(solution.centers, axis=1).max() < 0.5


def test_two_centers_in_one_group_are_named(simulate, round_groups):
    points, _ = round_groups(3, DIMENSION)
    solution = explain(simulate(points, 10**6), 4, rng(), repeats=4)
    assert any("may be one group" in note for note in solution.notes)
    three = explain(simulate(points, 10**6), 3, rng(), repeats=4)
    assert three.notes == ()


def test_a_group_that_no_center_explains_is_named(simulate, round_groups):
    points, _ = round_groups(12, DIMENSION)
    solution = explain(simulate(points, 4 * 10**6), 11, rng(), repeats=2)
    assert any("a group that none of the centers explains" in note for note in solution.notes)


def test_two_groups_on_one_ray_are_told_apart(simulate):
    """Every halfspace through the middle has both on one side: only those beside it can tell."""
    ray = np.concatenate([0.3 * np.eye(1, DIMENSION), 0.9 * np.eye(1, DIMENSION)])
    solution = explain(simulate(ray, 10**6), 2, rng(), repeats=2)
    assert cost(ray, solution.centers) < 0.01  # one center: 0.09
    straight = Halfspaces(512, (0,) * 512, 7)
    blind = explain(simulate(ray, 10**6, views=(straight,)), 2, rng(), repeats=2)
    assert cost(ray, blind.centers) > 0.02


def test_a_tight_group_inside_a_broad_one(simulate):
    draw = np.random.default_rng(3)
    broad = into_ball(0.7 * draw.standard_normal((1500, DIMENSION)) / math.sqrt(DIMENSION))
    tight = 0.6 * np.eye(1, DIMENSION) + 0.02 * draw.standard_normal((1500, DIMENSION)) / math.sqrt(DIMENSION)
    points = np.concatenate([broad, into_ball(tight)])
    solution = explain(simulate(points, 10**6), 2, rng(), repeats=2)
    best = np.array([broad.mean(axis=0), tight.mean(axis=0)])
    assert cost(points, solution.centers) < 1.05 * cost(points, best)
    assert distances(solution.centers, best).max() < 0.25


@pytest.mark.parametrize(("people", "at_most"), [(10**6, 0.02), (10**8, 0.012)])
def test_three_groups_very_close_together_in_the_plane(simulate, people, at_most):
    """0.03 apart: far closer than cells are wide, so they are found as one place, and well placed."""
    places = np.array([[0.5, 0.2], [0.53, 0.2], [0.5, 0.23]])
    views = (Halfspaces(1024, spread_offsets(1024, 128), 7), Net(spread_points(64, 2, seed=0)))
    solution = explain(simulate(places, people, views=views), 3, rng(), repeats=2)
    assert np.sqrt(cost(places, solution.centers)) < at_most * 2
    assert np.linalg.norm(solution.centers - places.mean(axis=0), axis=1).max() < 0.15


def test_the_same_rows_and_generator_give_the_same_solution(simulate, round_groups):
    views = simulate(round_groups(3, DIMENSION, spread=0.3)[0])
    first, second = (explain(views, 3, rng(), repeats=1) for _ in range(2))
    np.testing.assert_array_equal(first.centers, second.centers)
    np.testing.assert_array_equal(first.errors, second.errors)


def test_cores_change_nothing(simulate, round_groups, monkeypatch):
    """Neither a bit of the result nor what a caller hears of warnings afterwards."""
    points, _ = round_groups(4, DIMENSION)
    for people in (10**6, 30_000):  # groups that are sure, and not
        views = simulate(points, people)
        filters, found = list(warnings.filters), []
        for cores in (1, 3):
            monkeypatch.setattr(workers, "default_workers", lambda cores=cores: cores)
            found.append(explain(views, 4, rng()))
            assert warnings.filters == filters
        for name in ("centers", "errors", "shares", "supported"):
            np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))
