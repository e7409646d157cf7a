"""From rows to centers: evidence, errors, and what the solution says of itself."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from coterie.centers import evidence, repeats
from coterie.centers.answer import Answer, k_means
from coterie.centers.blobs import BlobFit, Blobs, search
from coterie.centers.doubts import doubts
from coterie.centers.evidence import Evidence, Parts, combined, weigh
from coterie.centers.explain import (
    _alternatives,
    _told_apart,
    explain,
    find_groups,
    one_group,
    stand_clear,
)
from coterie.centers.population import Cloud, fit_population
from coterie.centers.repeats import Found, own_means, pairs_in_doubt
from coterie.centers.solution import Choice, Interval, into_ball
from coterie.geometry.ball import SCALE
from coterie.geometry.spread import spread_points
from coterie.plan.views import Halfspaces, Net
from coterie.protocols.codeword.design import spread_offsets
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
    blobs = search(fit, population, start.centers, start.shares)
    return Parts(population, blobs, weigh(population, blobs, fit, views, rng()))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [ring, sticks])
def test_the_cells_deny_round_groups_where_there_are_none(simulate, shape):
    points = shape()
    parts = explanations(simulate(points, 10**6), 4)
    assert parts.evidence.alpha < 0.2
    assert not parts.evidence.alone
    answer = combined(parts, 4, rng())
    believed = replace(parts, evidence=Evidence(True, True, 1.0))
    assert cost(points, answer.centers) < 1.05 * cost(points, combined(believed, 4, rng()).centers)


@pytest.mark.slow
def test_the_cells_confirm_round_groups_and_the_blobs_are_better(simulate, round_groups):
    points, _ = round_groups(4, DIMENSION)
    parts = explanations(simulate(points, 10**6), 4)
    assert parts.evidence.alone
    assert parts.evidence.alpha > 0.4
    answer = combined(parts, 4, rng())
    np.testing.assert_array_equal(answer.centers, parts.blobs.centers)
    denied = replace(parts, evidence=Evidence(False, False, 0.0))
    assert cost(points, combined(denied, 4, rng()).centers) > 2 * cost(points, answer.centers)


@pytest.mark.slow
def test_round_groups_are_sure_where_many_people_form_them(simulate, round_groups):
    points, _ = round_groups(4, DIMENSION)
    assert explanations(simulate(points, 10**6), 4).evidence.sure
    assert not explanations(simulate(points, 20_000), 4).evidence.sure


@pytest.mark.slow
def test_people_who_form_no_round_groups_are_never_sure_to(simulate):
    """Few enough of them, and blobs explain the rows as well as anything; that is not yet evidence."""
    along = 0.4 * 0.7 ** np.arange(DIMENSION)
    broad = into_ball(np.random.default_rng(2).standard_normal((4000, DIMENSION)) * along)
    seen = [explanations(simulate(broad, 60_000, seed), 4).evidence for seed in range(4)]
    assert not any(one.sure for one in seen)


def test_what_wins_by_a_hair_does_not_take_all(simulate):
    """Among much noise blobs explain the rows as well as anything; the answer is still of both."""
    points = ring()
    parts = explanations(simulate(points, 60_000), 4)
    assert not parts.evidence.alone
    answer = combined(parts, 4, rng())
    assert len(answer.points) > len(parts.population.inner)


def test_round_blobs_miss_no_more_than_noise(simulate, round_groups, monkeypatch):
    points, _ = round_groups(3, DIMENSION)
    views = simulate(points, 10**5)
    parts, fit, numbers = explanations(views, 3), BlobFit(views[0], np.zeros(DIMENSION)), 10_000

    def within(ours, theirs):
        monkeypatch.setattr(evidence, "_misfits", lambda *_: (ours, theirs, numbers))
        return evidence._within_noise(fit, parts.blobs, parts.population)

    noise = math.sqrt(2 * numbers)
    assert within(numbers + 1.9 * noise, 1.1 * numbers)
    assert not within(numbers + 2.1 * noise, 1.1 * numbers)
    assert within(1.049 * numbers, 2 * numbers)  # next to nothing of what the population misses
    assert not within(1.051 * numbers, 2 * numbers)


def test_sure_blobs_are_far_apart_known_and_believed_by_rows_left_out():
    centers = np.array([[0.5, 0.0], [-0.5, 0.0]])
    blobs = Blobs(centers, np.full(2, 0.5), np.full(2, 0.1), np.zeros(2), 1.0, 0.0)  # 1 apart, 0.14 wide each
    assert evidence._far_apart(blobs)
    assert not evidence._far_apart(replace(blobs, sigma=np.full(2, 0.19)))
    assert not evidence._far_apart(
        replace(blobs, errors=np.full(2, 0.05))
    )  # 0.26 wide with what is not known
    assert Evidence(round=True, apart=True, alpha=0.3).sure  # no rows left out are none against
    assert not Evidence(round=True, apart=True, alpha=0.29).sure  # less than was expected before looking
    assert not Evidence(round=False, apart=True, alpha=1.0).sure
    assert not Evidence(round=True, apart=False, alpha=1.0).sure


def test_the_rows_left_out_judge_between_the_answer_and_one_group(simulate, round_groups):
    points, _ = round_groups(3, DIMENSION)
    views = simulate(points, 10**5)
    found, one = find_groups(views, 3, rng(), 1), one_group(views, rng())
    for clear in (False, True):
        assert evidence.better_than_one(views, found.people, one.people, clear=clear)
        against = [views[0], replace(views[1], vectors=views[1].predicted(*one.people))]
        assert not evidence.better_than_one(against, found.people, one.people, clear=clear)
        silent = [views[0], replace(views[1], deviations=1e6 * views[1].deviations)]
        assert evidence.better_than_one(silent, found.people, one.people, clear=clear) is clear


@pytest.mark.slow
def test_groups_that_rows_left_out_deny_go_and_clear_ones_stay_where_these_say_nothing(simulate, monkeypatch):
    views = simulate(ring(), 10**5)
    one = one_group(views, rng())
    against = [views[0], replace(views[1], vectors=views[1].predicted(*one.people))]
    silent = [views[0], replace(views[1], deviations=1e6 * views[1].deviations)]
    assert explain(against, 3, rng(), repeats=0).one_group
    assert not explain(silent, 3, rng(), repeats=0).one_group
    monkeypatch.setattr("coterie.centers.explain.stand_clear", lambda *_: np.zeros(3, dtype=bool))
    solution = explain(silent, 3, rng(), repeats=0)
    assert solution.one_group
    assert (solution.centers == solution.centers[0]).all()
    assert solution.explained == (0, 0, 0)
    assert not solution.supported.any()


@pytest.mark.slow
def test_evidence_without_rows_stays_at_what_was_expected(simulate, round_groups):
    points, _ = round_groups(3, DIMENSION)
    views = simulate(points, 10**6)
    parts = explanations(views, 3)
    none = weigh(parts.population, parts.blobs, BlobFit(views[0], np.zeros(DIMENSION)), views[:1], rng())
    assert none.alpha == pytest.approx(evidence._EXPECTED)


def test_what_hangs_on_the_side_of_a_border_tells_nothing(simulate):
    """A group beside a cell's border: it is not known on which side, and both explanations put it on both."""
    first, second = np.eye(2, DIMENSION) * 0.7
    (cells,) = (view for view in simulate(first[None], 10**5) if not view.halfspaces)

    def cell(place):
        return cells.geometry.of(place[None] * SCALE)[0]

    for _ in range(10):  # to the border between two cells
        middle = (first + second) / 2
        first, second = (middle, second) if cell(middle) == cell(first) else (first, middle)
    border, sure = (first + second) / 2, np.ones(1)
    blobs = Blobs(border[None], sure, 1e-6 * sure, 0.01 * sure, 1.0, 0.0)
    points, weights = blobs.atoms(200, rng())
    mine = np.array([cell(point) == cell(first) for point in points])
    lean = weights * np.where(mine, 2.0, 0.5)  # the population leans to the side where the people are
    cloud = Cloud(points, points, lean / lean.sum(), np.eye(DIMENSION), np.zeros(DIMENSION), 1e-5, 0.0, 1.0)
    views = [simulate(first[None])[0], replace(cells, vectors=cells.predicted(first[None], sure))]
    known = replace(blobs, centers=second[None], errors=0 * sure)
    found = [
        weigh(cloud, each, BlobFit(views[0], np.zeros(DIMENSION)), views, rng()) for each in (blobs, known)
    ]
    assert found[0].alpha > 0.2
    assert found[1].alpha == 0  # as surely on the wrong side, it is denied


@pytest.mark.slow
def test_between_the_two_the_answer_is_k_means_on_both(simulate, round_groups):
    points, _ = round_groups(3, DIMENSION, spread=0.4)
    parts = replace(explanations(simulate(points, 10**6), 3), evidence=Evidence(False, False, 0.4))
    answer = combined(parts, 3, rng())
    population = parts.population
    count = len(population.inner)
    assert answer.weights[:count].sum() == pytest.approx(0.6)
    assert answer.weights[count:].sum() == pytest.approx(0.4, abs=1e-5)  # shares have six decimals
    np.testing.assert_array_equal(answer.points[:count], population.inner)
    alone = [
        combined(replace(parts, evidence=Evidence(False, False, e)), 3, rng()).centers for e in (0.0, 0.49)
    ]
    assert distances(alone[0], answer.centers).max() > 0
    assert cost(points, answer.centers) < 1.1 * min(cost(points, centers) for centers in alone)


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_is_said_of_the_people_nearest_to_each_center_is_true(simulate, round_groups):
    """Round groups, and a ring that has none: means and shares for 9 groups in 10; bounds for 32 groups."""
    means, shares, explained = [], [], []
    for seed in range(4):
        for points, people in ((round_groups(4, DIMENSION, seed=seed)[0], 10**6), (ring(), 2 * 10**5)):
            solution = explain(simulate(points, people, seed), 4, np.random.default_rng(seed), repeats=4)
            everybody = (points, np.ones(len(points)))
            true, share = own_means(everybody, solution.centers)
            means.append(np.linalg.norm(solution.centers - true, axis=1) <= solution.errors)
            shares.append(np.abs(solution.shares - share) <= solution.share_errors)
            gain = 1 - cost(points, solution.centers) / cost(points, points.mean(axis=0)[None])
            explained.append(solution.explained.low <= gain <= solution.explained.high)
            assert solution.errors.max() < 0.3
    assert 0.75 <= np.mean(means) <= 1
    assert 0.75 <= np.mean(shares) <= 1
    assert np.mean(explained) >= 0.75


@pytest.mark.slow
def test_without_repeats_no_error_is_claimed(simulate, round_groups):
    solution = explain(simulate(round_groups(3, DIMENSION)[0]), 3, rng(), repeats=0)
    np.testing.assert_array_equal(solution.errors, 1)
    assert solution.supported.all()
    assert solution.explained[1:] == (0, 1)


def found_of(centers, shares=None, **more):
    centers = np.array(centers)
    shares = np.full(len(centers), 1 / len(centers)) if shares is None else np.array(shares)
    answer = Answer(centers, shares, centers, shares)
    return Found(answer, (centers, shares), np.empty((centers.shape[1], 0)), 0.0, 0.0, **more)


def test_one_more_miss_is_held_at_the_rate_itself():
    """Of 31 misses: numpy's own quantile would hold the next one in 87.6 %."""
    draws = np.abs(rng().standard_normal((20_000, 32)))
    held = np.mean([one[0] <= repeats._reach(one[1:]) for one in draws])
    assert abs(held - 0.9) < 0.012  # 5.7 deviations


def test_errors_are_those_of_doing_it_again(simulate):
    """A finder that is off by 0.1 in one coordinate, and by a twentieth of every share, whatever it sees."""
    truth = np.eye(2, DIMENSION) * 0.5
    found = found_of(truth, [0.5, 0.5])

    def find(views, clusters, own, members):
        return found_of(truth + 0.1 * np.eye(1, DIMENSION, 5), [0.55, 0.45])

    told = repeats.repeated(find, simulate(truth, 10**6)[:1], found, rng(), 3, 4)  # no rows left out
    np.testing.assert_allclose(told.radii, 1.05 * 0.1 * np.sqrt(0.55 / 0.5), rtol=0.01)
    np.testing.assert_allclose(told.share_errors, 1.05 * 0.05 * np.sqrt(0.5 / 0.45), rtol=0.02)
    assert told.profile.argmax() == 5
    assert told.explained.low < 1 - 0.01 / 0.125 < told.explained.high  # misses of 0.1 in a spread of 0.125


def test_errors_are_larger_by_what_rows_left_out_are_missed(simulate):
    """Rows of other people than supposed: a finder's miss of 0.1 counts Birge's ratio times as much."""
    truth = np.eye(2, DIMENSION) * 0.5
    found = replace(found_of(truth, [0.5, 0.5]), basis=np.eye(DIMENSION)[:, :3])

    def find(views, clusters, own, members):
        return found_of(truth + 0.1 * np.eye(1, DIMENSION, 5), [0.55, 0.45])

    def reach(views, found=found):
        return repeats.repeated(find, views, found, rng(), 3, 4).radii[0] / 0.1

    halves, cells = simulate(truth, 10**6)
    noise = np.random.default_rng(1).standard_normal(cells.vectors.shape) * cells.deviations[:, None]
    astray = replace(cells, vectors=cells.vectors + 3 * noise)
    assert reach([halves, astray]) > 2.5 * reach([halves, cells])
    assert reach([halves, astray], replace(found, sure=True)) == pytest.approx(reach([halves]), rel=1e-6)
    assert reach([astray]) == pytest.approx(reach([halves]), rel=1e-6)  # they were fitted themselves


def test_a_share_of_a_spread_that_is_hardly_known_may_be_far_larger():
    """Fieller's interval: a gain of 1 in a spread of 4 ± 1 is a quarter, or two fifths, or a sixth."""
    draws = np.random.default_rng(0)
    missed = np.column_stack([np.zeros(4000), draws.standard_normal(4000)])
    value, low, high = repeats._interval(np.array([1.0, 4.0]), missed - missed.mean(axis=0), False)
    assert value == pytest.approx(0.25)
    assert 1 / low == pytest.approx(4 + 1.645, rel=0.12)  # what the model misses is added
    assert 1 / high == pytest.approx(4 - 1.645, rel=0.12)
    assert repeats._interval(np.array([1.0, 1.0]), missed, False)[1:] == (0, 1)
    assert {type(each) for each in (value, low, high)} == {float}  # as it is printed


def test_what_repeated_fits_say_too_much_is_taken_off_only_where_people_are_as_supposed():
    """Others are more clustered than supposed: a fit to them need not err on the same side."""
    said, missed = np.array([1.5, 4.0]), np.tile([0.5, 0.0], (8, 1))
    for one in (missed, -missed):
        value, low, high = repeats._interval(said, one, False)
        assert value == pytest.approx(1.5 / 4)
        assert value - low == pytest.approx(1.645 * 0.5 / 4, rel=0.15)  # what the model misses is added
        assert high - value == pytest.approx(1.645 * 0.5 / 4, rel=0.15)
    value, low, high = repeats._interval(said, missed, True)
    assert value == pytest.approx(0.25)
    assert low < 0.25 < high  # the model's own


def test_groups_may_lie_elsewhere_where_noise_hides_it(simulate):
    """Outside the subspace the supposed people's groups are moved, nowhere else; everybody's mean stays."""
    basis = np.eye(DIMENSION)[:, :3]
    found = replace(found_of(np.eye(3, DIMENSION) * 0.5), basis=basis, hidden=0.04)
    moved = repeats._truth(found, rng())[0] - found.people[0]
    assert np.abs(moved @ basis).max() < 1e-12
    assert (moved**2).sum(axis=1).mean() == pytest.approx(0.04, rel=0.5)
    np.testing.assert_allclose(moved.mean(axis=0), 0, atol=1e-12)
    assert repeats._truth(replace(found, hidden=0.0), rng())[0] is found.people[0]


def test_own_means_are_of_the_nearest_people():
    points = np.array([[0.0], [0.2], [1.0], [3.0]])
    means, shares = own_means((points, np.array([1.0, 1.0, 2.0, 0.0])), np.array([[0.0], [1.1], [9.0]]))
    np.testing.assert_allclose(means.ravel(), [0.1, 1.0, 9.0])
    np.testing.assert_allclose(shares, [0.5, 0.5, 0.0])


@pytest.mark.slow
def test_small_groups_are_less_certain_of_their_mean(simulate, round_groups):
    points, _ = round_groups(3, DIMENSION, shares=[0.6, 0.3, 0.1])
    solution = explain(simulate(points, 10**6), 3, rng(), repeats=3)
    assert (np.diff(solution.shares) < 0).all()  # the largest first
    np.testing.assert_allclose(
        solution.errors * np.sqrt(solution.shares), solution.errors[0] * np.sqrt(solution.shares[0])
    )


def test_doubts_are_named_by_groups_and_taken_together():
    assert doubts(found_of(np.eye(3)), np.full(3, 0.1)) == ()
    close = [[0.5, 0.0], [0.5, 0.1], [0.5, 0.2], [-0.5, 0.0], [-0.5, 0.1]]
    assert pairs_in_doubt(np.array(close), np.full(5, 0.1)) == [(0, 1), (1, 2), (3, 4)]
    more, two = doubts(found_of(close), np.full(5, 0.1))
    assert more.startswith("Groups A, B and C may be fewer")
    assert two.startswith("Groups D and E may be one")
    (spare,) = doubts(found_of(np.eye(3), spare=(0, 2)), np.full(3, 0.1))
    assert spare.startswith("Groups A and C may be one")
    (missed,) = doubts(found_of(np.eye(3), peak=9.0), np.full(3, 0.1))
    assert "a group that none of the centers explains" in missed
    assert "tell no groups apart" in doubts(None)[0]


def test_a_group_stands_clear_by_what_the_rows_would_lose_without_it(simulate):
    """Not by its distance from everybody's mean: one of three groups lies there."""
    direction = np.random.default_rng(4).standard_normal(DIMENSION)
    line = np.outer([-0.6, 0.001, 0.6], direction / np.linalg.norm(direction))
    views = simulate(line, 10**6)
    assert stand_clear(views, found_of(line)).all()
    assert not stand_clear(simulate(line, 300), found_of(line)).any()
    twin = np.vstack([line, line[2] * (1 + 1e-6)])
    clear = stand_clear(views, found_of(twin, [0.3, 0.3, 0.2, 0.2]))
    assert clear.tolist() == [True, True, False, False]


@pytest.mark.parametrize(("people", "apart"), [(10**6, [True] * 3), (300, [True, False, False])])
def test_groups_that_do_not_stand_clear_cannot_be_told_apart_either(simulate, people, apart):
    """However far from each other noise puts them."""
    line = np.eye(3, DIMENSION) * 0.6
    told = [Choice(number, Interval(0.5, 0.4, 0.6), True) for number in (1, 2, 3)]
    judged = _told_apart(told, found_of(line), simulate(line, people))
    assert [choice.apart for choice in judged] == apart
    known = found_of(line, clear=np.zeros(3, dtype=bool))  # of this number alone
    assert _told_apart(told, known, simulate(line, people)) == tuple(told)


def test_other_answers_that_are_as_good_are_told():
    """A square of four groups can be cut in two either way; groups are told that the other way cuts."""
    square = np.array([[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [-0.5, -0.5]])
    answer = k_means(square, np.full(4, 0.25), 2, rng())
    assert answer.others
    assert _alternatives(answer, np.full(2, 0.1)) == ((0, 1),)
    assert _alternatives(answer, np.full(2, 2.0)) == ()


@pytest.mark.slow
def test_the_number_of_groups_is_chosen_by_what_can_be_told_apart(simulate, round_groups):
    points, _ = round_groups(4, DIMENSION)
    for planned in (3, 6):
        solution = explain(simulate(points, 10**6), planned, rng(), choose=True, repeats=3)
        assert len(solution.centers) == 4
    values = {choice.clusters: choice.explained.value for choice in solution.choices}
    assert list(values) == list(range(1, 15))
    assert values[4] > values[3] + 0.1
    assert values[1] == 0


def test_where_nothing_stands_clear_every_center_is_the_mean(simulate):
    solution = explain(simulate(np.zeros((1, DIMENSION)), 10**3), 3, rng())
    assert not solution.supported.any()
    assert solution.one_group
    assert np.linalg.norm(solution.centers, axis=1).max() < 0.5
    assert solution.shares.tolist() == [1, 0, 0]
    assert len(explain(simulate(np.zeros((1, DIMENSION)), 10**3), 3, rng(), choose=True).centers) == 1


@pytest.mark.slow
def test_two_centers_in_one_group_are_named(simulate, round_groups):
    points, _ = round_groups(3, DIMENSION)
    solution = explain(simulate(points, 10**6), 4, rng(), repeats=4)
    assert any("may be" in note for note in solution.notes)
    assert [choice.apart for choice in solution.choices] == [True] * 3 + [False] * 7  # as the note says
    three = explain(simulate(points, 10**6), 3, rng(), repeats=4)
    assert three.notes == ()


@pytest.mark.slow
def test_a_group_that_no_center_explains_is_named(simulate, round_groups):
    points, _ = round_groups(12, DIMENSION)
    solution = explain(simulate(points, 4 * 10**6), 11, rng(), repeats=2)
    assert any("a group that none of the centers explains" in note for note in solution.notes)


@pytest.mark.slow
def test_two_groups_on_one_ray_are_told_apart(simulate):
    """Every halfspace through the middle has both on one side: only those beside it can tell."""
    ray = np.concatenate([0.3 * np.eye(1, DIMENSION), 0.9 * np.eye(1, DIMENSION)])
    solution = explain(simulate(ray, 10**6), 2, rng(), repeats=2)
    assert cost(ray, solution.centers) < 0.01  # one center: 0.09
    straight = Halfspaces(512, (0,) * 512, 7)
    blind = explain(simulate(ray, 10**6, views=(straight,)), 2, rng(), repeats=2)
    assert cost(ray, blind.centers) > 0.02


@pytest.mark.slow
def test_a_tight_group_inside_a_broad_one(simulate):
    draw = np.random.default_rng(3)
    broad = into_ball(0.7 * draw.standard_normal((1500, DIMENSION)) / math.sqrt(DIMENSION))
    tight = 0.6 * np.eye(1, DIMENSION) + 0.02 * draw.standard_normal((1500, DIMENSION)) / math.sqrt(DIMENSION)
    points = np.concatenate([broad, into_ball(tight)])
    solution = explain(simulate(points, 10**6), 2, rng(), repeats=2)
    best = np.array([broad.mean(axis=0), tight.mean(axis=0)])
    assert cost(points, solution.centers) < 1.05 * cost(points, best)
    assert distances(solution.centers, best).max() < 0.25


@pytest.mark.slow
@pytest.mark.parametrize(("people", "at_most"), [(10**6, 0.02), (10**8, 0.012)])
def test_three_groups_very_close_together_in_the_plane(simulate, people, at_most):
    """0.03 apart: far closer than cells are wide, so they are found as one place, and well placed."""
    places = np.array([[0.5, 0.2], [0.53, 0.2], [0.5, 0.23]])
    views = (Halfspaces(1024, spread_offsets(1024, 128), 7), Net(spread_points(64, 2, seed=0)))
    solution = explain(simulate(places, people, views=views), 3, rng(), repeats=2)
    assert np.sqrt(cost(places, solution.centers)) < at_most * 2
    held = solution.shares > 0.01
    assert np.linalg.norm(solution.centers[held] - places.mean(axis=0), axis=1).max() < 0.15


@pytest.mark.slow
def test_the_same_rows_and_generator_give_the_same_solution(simulate, round_groups):
    views = simulate(round_groups(3, DIMENSION, spread=0.3)[0])
    first, second = (explain(views, 3, rng(), repeats=1) for _ in range(2))
    np.testing.assert_array_equal(first.centers, second.centers)
    np.testing.assert_array_equal(first.errors, second.errors)


@pytest.mark.slow
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


@pytest.mark.slow
def test_centers_beyond_the_places_where_people_are_are_doubted(simulate):
    """Three centers for one place: two of them fit noise, and the result must not take them for groups."""
    solution = explain(simulate(np.tile(0.5 * np.eye(DIMENSION)[0], (100, 1)), 300_000), 3, rng())
    assert any("may be" in note for note in solution.notes)
