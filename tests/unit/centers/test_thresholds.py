"""Rules of the decoder that hang on a number: what they do on either side of it.

`python -m benchmarks constants` halves and doubles each number and asks these tests first. Most say what the
number means: how finely, how surely, how often. The last ones say what time and space allow.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from coterie import Aggregate, Plan
from coterie.centers import explain, least, population, repeats
from coterie.centers.answer import Answer, k_means
from coterie.centers.blobs import BlobFit, Blobs, search
from coterie.centers.doubts import doubts
from coterie.centers.dress import dress
from coterie.centers.evidence import Evidence, better_than_one, weigh
from coterie.centers.explain import hidden_outside, one_group
from coterie.centers.population import (
    Cloud,
    clear_cells,
    feature_blocks,
    fit_population,
    reweight,
    seen_parts,
)
from coterie.centers.population_file import MAX_BYTES
from coterie.centers.repeats import Found
from coterie.centers.solution import Choice, Interval, Solution, squared_distances
from coterie.centers.spectrum import _told, covariance, spectrum
from coterie.plan.public import MAX_DIMENSION
from coterie.plan.views import Halfspaces
from coterie.protocols.codeword.design import spread_offsets

DIMENSION = 24
FULL_SIZE = {  # what `tests/conftest.py` makes smaller once the tests begin
    population: ("ATOMS", population.ATOMS),
    repeats: ("REPEATS", repeats.REPEATS),
    explain: ("MEMBERS", explain.MEMBERS),
}
ATOMS, REPEATS, MEMBERS = (number for _, number in FULL_SIZE.values())
TELLING = Interval(0.5, 0.4, 0.6)
KEYS = {  # of a result in JSON, by version
    3: "alternatives centers choices clear count coverage delta epsilon errors everybody explained fragile "
    "groups mean mean_error model notes plan_id plan_ids profile study_id supported version weight_errors "
    "weights"
}


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def full_size(monkeypatch):
    """As many atoms, repetitions and populations as users get."""
    for module, (name, number) in FULL_SIZE.items():
        monkeypatch.setattr(module, name, number)


def pair(apart=1.0, dimension=DIMENSION):
    """Two places, so far apart, on either side of the middle."""
    return apart / 2 * np.outer([1, -1], np.eye(1, dimension)[0])


def found_of(centers, shares=None, **more):
    shares = np.full(len(centers), 1 / len(centers)) if shares is None else np.array(shares)
    answer = Answer(centers, shares, centers, shares)
    return Found(answer, (centers, shares), np.empty((centers.shape[1], 0)), 0.0, 0.0, **more)


# What an answer is


def test_an_optimum_that_costs_hardly_more_is_as_good():
    """A rectangle of four groups is cut in two either way; one way costs half a hundredth more, or two."""
    for worse, as_good in ((1.005, True), (1.02, False)):
        corners = np.array([[x, y] for x in (-1, 1) for y in (-1, 1)]) * [math.sqrt(worse), 1.0] / 2
        across = np.array([[0.0, 0.5], [0.0, -0.5]])  # the dearer way is found besides
        found = k_means(corners, np.full(4, 0.25), 2, rng(), across)
        ways = {bool(abs(centers[0, 0]) > abs(centers[0, 1])) for centers in (found.centers, *found.others)}
        assert ways == ({True, False} if as_good else {True})


def test_starts_are_enough_for_many_groups_and_no_more():
    """Of twenty groups on a square half as many starts lose one in two runs of five."""
    draw = rng()
    middles = draw.uniform(-0.7, 0.7, (20, 2))
    places = np.concatenate([middles + 0.01 * draw.standard_normal((20, 2)) for _ in range(4)])
    weights = np.full(len(places), 1 / len(places))

    def cost(seed, **starts):
        centers = k_means(places, weights, 20, rng(seed), **starts).centers
        return float(squared_distances(places, centers).min(axis=1).mean())

    best = min(cost(seed, starts=50) for seed in (99, 100))
    assert sum(cost(seed) < 1.02 * best for seed in range(20)) >= 17
    same = k_means(places, weights, 1, rng())  # from wherever it starts: all but one go along
    assert len(same.others) < 15


def test_less_than_one_in_a_thousand_is_nobody(simulate):
    """Whose mean is told as well as that of one in a thousand; of a few more it is told better."""
    truth = 0.5 * np.eye(4, 6)
    found = found_of(truth, [0.9978, 0.0015, 0.0007, 0.0])

    def find(views, clusters, own, members):
        return found_of(truth + 0.001 * own.standard_normal(truth.shape), found.answer.shares)

    radii = repeats.repeated(find, simulate(truth)[:1], found, rng(), 3, 2).radii
    assert radii[2] == radii[3]
    assert radii[1] < 0.9 * radii[2]


# Round groups


def test_a_group_at_the_surface_is_not_followed_to_it(simulate):
    """There the slope of the last coordinate has no bound; a little farther inside, it has."""
    fit = BlobFit(simulate(pair())[0], np.zeros(DIMENSION))
    centers = np.array([[math.sqrt(square)] + [0.0] * (DIMENSION - 1) for square in (0.97, 0.985)])
    seen = fit.seen(centers, np.full(2, 0.5), np.full(2, 1e-6), np.zeros(2))
    assert seen.free.tolist() == [True, False]


@pytest.mark.parametrize(("won", "taken"), [(15.0, False), (25.0, True)])
def test_another_arrangement_must_win_clearly(won, taken):
    """Not by what noise gives to the best of several that were tried: 15 of chi-square."""
    atoms = pair(dimension=3)
    cloud = Cloud(atoms, atoms, np.full(2, 0.5), np.eye(3), np.zeros(3), 0.0, 0.0, 1.0)

    class Fit:
        chi = 1000.0

        def fit(self, centers, shares, sigma, *, apart=1.0, own_spreads=False):
            found = Blobs(centers, shares, sigma, 0 * sigma, apart, self.chi if not own_spreads else 1000.0)
            self.chi = 1000.0 - won
            return found

        def residual(self, blobs, points):
            return np.arange(len(points), dtype=float)

    blobs = search(Fit(), cloud, atoms[[0, 0]], np.full(2, 0.5))
    assert (blobs.chi < 1000) is taken


def test_rounds_end_where_nothing_settles(simulate, monkeypatch):
    """What settles takes up to six; what does not is left soon after."""
    rounds = []

    def restless(self, centers, shares, *others):
        rounds.append(len(rounds))
        return centers + (-1) ** len(rounds) * 0.1, shares

    monkeypatch.setattr(BlobFit, "_places", restless)
    monkeypatch.setattr(BlobFit, "_spreads", lambda self, centers, shares, sigma, *others: sigma)
    BlobFit(simulate(pair())[0], np.zeros(DIMENSION)).fit(pair(), np.full(2, 0.5), np.full(2, 0.1))
    assert 6 <= len(rounds) <= 12


# What is said of an answer


def table_of(people, planned=1000):
    table = Aggregate(Plan.design(3, 2, 1.0, planned))
    table.add(bytes(people * table.plan.report_width))
    return table


def solution(errors=0.1, **more):
    halves = np.full(2, 0.5)
    places = pair(dimension=3)
    return Solution(places, halves, np.full(2, errors), np.ones(2, dtype=bool), places, halves, **more)


@pytest.mark.parametrize(("people", "said"), [(400, True), (600, False)])
def test_far_fewer_people_than_planned_are_spoken_of(people, said):
    notes = dress(solution(), [table_of(people)]).notes
    assert any("accuracy is lower than planned" in note for note in notes) is said


@pytest.mark.parametrize(("errors", "said"), [(0.4, False), (0.6, True)])
def test_centers_that_may_be_anywhere_in_half_the_ball_are_called_rough(errors, said):
    notes = dress(solution(errors, explained=TELLING), [table_of(1000)]).notes
    assert any("rough directions" in note for note in notes) is said


def test_no_more_is_doubted_than_anybody_reads():
    many = tuple(f"doubt {number}" for number in range(9))
    assert dress(solution(notes=many), [table_of(1000)]).notes == many[:5]


def test_a_result_in_json_has_other_keys_only_with_another_version():
    told = dress(solution(), [table_of(1000)]).to_dict()
    assert sorted(told) == KEYS[told["version"]].split()


@pytest.mark.parametrize(("peak", "said"), [(5.0, False), (7.0, True)])
def test_a_further_group_must_stand_out_of_thousands_of_places(peak, said):
    """Of 8,000 of them noise alone makes one stand out by 4 deviations, and seldom one by 5."""
    notes = doubts(found_of(pair(), peak=peak))
    assert any("none of the centers explains" in note for note in notes) is said


# Evidence


def told_by(cells, first, second, way, known):
    """Cells that say that the truth is so far on the way from one place to the other, within 1/known."""
    one = np.ones(1)
    start = cells.predicted(first[None], one)
    gap = cells.predicted(second[None], one) - start
    noise = np.linalg.norm(gap) / known
    return replace(cells, vectors=start + way * gap, deviations=np.full(len(cells.deviations), noise))


@pytest.mark.parametrize(
    ("way", "known", "clear", "better"),
    [
        (0.1, 100.0, False, False),  # sure to be hardly nearer to the answer than to one group
        (0.2, 100.0, False, True),
        (0.3, math.sqrt(2.0), False, False),  # not known to two thirds
        (0.3, math.sqrt(8.0), False, True),
    ],
)
def test_an_answer_needs_rows_that_side_with_it(simulate, way, known, clear, better):
    places, one = pair(), np.ones(1)
    views = [told_by(simulate(places)[1], places[0], places[1], way, known)]
    found = better_than_one(views, (places[1:], one), (places[:1], one), clear=clear)
    assert found is better


def test_rows_that_know_it_well_count_four_times_what_was_expected(simulate):
    """From 0.3, where blobs are expected to be, to 1, where these rows know them to be within a tenth."""
    places, one = pair(), np.ones(1)
    halves, cells = simulate(places)
    cloud = Cloud(places[:1], places[:1], one, np.eye(DIMENSION), np.zeros(DIMENSION), 1e-5, 0.0, 1.0)
    blobs = Blobs(places[1:], one, 1e-9 * one, 0 * one, 1.0, 0.0)
    views = [halves, told_by(cells, places[0], places[1], 1.0, 10.0)]
    alpha = weigh(cloud, blobs, BlobFit(halves, np.zeros(DIMENSION)), views, rng()).alpha
    assert 0.8 < alpha < 0.9


def test_blobs_are_sure_where_rows_left_out_say_no_less_than_is_usual():
    assert Evidence(round=True, apart=True, alpha=0.31).sure
    assert not Evidence(round=True, apart=True, alpha=0.29).sure


# Rows, and how they are explained


def test_differences_of_less_than_five_decimals_change_no_step_and_larger_ones_do():
    """Those are last bits, in which processors differ, and what steps have made of them."""
    steep, where = np.array([1.0, 7.0, 30.0]), np.array([0.123456, -0.654321, 0.2])

    def found(off, steps):
        def loss(place):
            away = place - where
            return float(steep @ away**2), 2 * steep * away * (1 + off)

        return least.least(loss, np.zeros(3), steps)

    for steps in (1, 2, 3):
        np.testing.assert_array_equal(found(0.0, steps), found(np.array([1e-9, -1e-9, 0.0]), steps))
    np.testing.assert_allclose(found(0.0, 60), where, atol=1e-3)


def test_an_endless_fall_is_left():
    """Fits to rows end within sixty steps, nearly all of them; what does not is left there."""
    steps = []

    def loss(place):
        steps.append(place)
        return -float(place.sum()), -np.ones(2)

    least.least(loss, np.zeros(2))
    assert 45 <= len(steps) <= 90


def test_of_two_places_half_are_expected_within_a_twentieth(simulate):
    """Rows that know the share of one as well, and say 0.6, are met half the way."""
    (view,) = simulate(pair())[:1]
    ways = [view.predicted(place[None], np.ones(1)) for place in pair()]
    noise = np.linalg.norm(ways[0] - ways[1]) / 20
    rows = 0.6 * ways[0] + 0.4 * ways[1]
    views = [replace(view, vectors=rows, deviations=np.full(len(rows), noise))]
    weights, _ = reweight(pair(), views, seen_parts(views, np.eye(DIMENSION)), feature_blocks(pair(), views))
    assert 0.543 < weights[0] < 0.558


def test_sums_of_weights_are_exact_and_fine(simulate):
    """The same in whatever order atoms are added, and as double precision has them."""
    draw = rng()
    atoms = 0.3 * draw.standard_normal((2000, DIMENSION))
    views = simulate(pair())[:1]
    (block, *_), (seen,) = feature_blocks(atoms, views), seen_parts(views, np.eye(DIMENSION))
    weights = draw.exponential(size=len(atoms))
    weighted = (weights / weights.sum())[:, None] * (views[0].lifted(atoms) @ seen.projection)
    whole = population._whole(weighted, population._EXACT_BITS)
    miss, _ = block.miss(whole, seen.targets[block.rows])
    order = draw.permutation(len(atoms))
    turned, _ = replace(block, features=block.features[order]).miss(whole[order], seen.targets[block.rows])
    np.testing.assert_array_equal(miss, turned)
    exact = block.features.T.astype(np.float64) @ weighted * block.trust - seen.targets[block.rows]
    np.testing.assert_allclose(miss, exact, atol=1e-5 * float(block.trust.max()))


def test_three_empty_cells_in_ten_thousand_propose_atoms(simulate):
    cells, many = simulate(pair())[1], 100_000
    empty = float(cells.deviations[0]) * rng().standard_normal((many, cells.vectors.shape[1]))
    _, shares = clear_cells([replace(cells, vectors=empty)])
    assert 20 <= len(shares) <= 45


@pytest.mark.parametrize(("share", "directions"), [(0.02, 1), (0.045, 2)])
def test_a_direction_that_cells_see_needs_some_of_what_they_see(simulate, share, directions):
    line = pair(1.4)
    halves = simulate(line, 10**9)[:1]
    cells, shares = np.vstack([line, 0.7 * np.eye(DIMENSION)[5]]), np.array([0.5, 0.5, 0.0])
    shares = np.append(shares[:2] * (1 - share), share)
    basis, *_ = population._span(halves, cells, shares, np.zeros(DIMENSION), math.sqrt(0.51))
    assert basis.shape[1] == directions


@pytest.mark.usefixtures("full_size")
def test_atoms_start_as_wide_as_people_and_never_all_in_one_place(simulate):
    """At the least a hundredth of the ball around it."""
    mean = 0.3 * np.eye(1, 6)[0]
    for wide, least_wide, most_wide in ((0.0, 0.008, 0.012), (0.4, 0.38, 0.42)):
        rest = math.sqrt(1 - 0.09 - wide**2)
        places = population._as_wide([], mean, rest, rng()).places
        assert least_wide < math.sqrt(((places - mean) ** 2).sum(axis=1).mean()) < most_wide


@pytest.mark.parametrize(("dimension", "filled"), [(10, True), (15, False)])
def test_atoms_fill_few_dimensions_and_of_many_those_where_people_differ(
    few_atoms, simulate, dimension, filled
):
    cloud = fit_population(simulate(pair(1.2, dimension), 10**6), rng())
    assert (cloud.basis.shape[1] == dimension) is filled


@pytest.mark.usefixtures("few_atoms")
def test_atoms_move_far_enough_and_settle_finely_enough(simulate, round_groups):
    """Among much noise; with steps half or twice as long they end farther from where people are."""
    points, centers = round_groups(3, DIMENSION, spread=0.0, count=600)
    views, squares = simulate(points, 10**5), []
    for seed in range(6):
        cloud = fit_population(views, rng(seed))
        squares.append(float(cloud.weights @ squared_distances(cloud.inner, centers).min(axis=1)))
    assert math.sqrt(np.mean(squares)) < 0.252


def test_where_nobody_differs_some_spread_is_left(simulate):
    """Everybody on one axis: any other has about a sixth of the mean variance, and not that of the first."""
    through = (Halfspaces(2048, (0,) * 2048, 1),)
    (view,) = simulate(pair(1.4, 10), 10**10, views=through)
    wide = np.linalg.eigvalsh(covariance([view], np.zeros(10), 0.49)) / 0.049
    assert 0.12 < np.median(wide) < 0.23
    assert wide.sum() == pytest.approx(10)


def test_rows_beside_the_middle_see_people_a_tenth_of_the_ball_long_at_the_least(simulate):
    """Everybody in the middle, as far as noise lets see: halfspaces farther off hold all, nearer ones not."""
    (view,) = simulate(pair(0.0))[:1]
    away = np.abs(view.geometry.offsets) / np.linalg.norm(view.geometry.normals, axis=1)

    def told(nearest, farthest):
        some = np.flatnonzero((away > nearest) & (away < farthest))
        assert len(some) > 20
        own = {name: getattr(view, name)[some] for name in ("vectors", "deviations", "kept")}
        return list(_told(replace(view, **own), np.zeros(DIMENSION), 1e-6))

    assert told(0.055, 0.095)
    assert not told(0.105, 0.19)


# Errors


def test_what_noise_hides_of_groups_is_not_said_to_be_less_than_it_is(round_groups, simulate):
    """Nor far more, where all directions of groups were found: their means' errors outside them."""
    true, said = [], []
    for seed in range(24):
        dimension = (16, 24)[seed % 2]
        points, centers = round_groups(2, dimension, seed=seed, count=400)
        halves = simulate(points, (50_000, 100_000)[seed // 2 % 2], seed)[:1]
        seen = spectrum(halves, points.mean(axis=0), 0.64)
        away = centers - centers.mean(axis=0)
        true.append(((away - away @ seen.basis @ seen.basis.T) ** 2).sum(axis=1).mean())
        said.append(hidden_outside(seen.edge, 2, seen.basis.shape[1]))
    assert 1.0 < np.mean(said) / np.mean(true) < 2.5


def test_what_the_model_misses_leaves_a_half_uncertain_by_a_thirtieth():
    """Even where all repetitions agree."""
    value, low, high = repeats._interval(np.array([0.5, 1.0]), np.zeros((8, 2)), sure=False)
    assert value == 0.5
    assert 1 / 40 < value - low < 1 / 25
    assert high - value == pytest.approx(value - low, rel=0.1)


@pytest.mark.parametrize(("wide", "vague"), [(0.45, False), (0.55, True)])
def test_a_share_known_to_no_better_than_a_half_is_vague(wide, vague):
    assert Interval(0.3, 0.2, 0.2 + wide).is_vague == vague


@pytest.mark.parametrize(("gain", "best"), [(0.015, 2), (0.03, 3)])
def test_a_group_more_must_explain_more_than_a_little(gain, best):
    """However sure it is to."""
    told = [Choice(number, Interval(0.0, 0.0, 0.0), True) for number in (1, 2, 3)]
    explained = np.tile([0.0, 0.8, 0.8 + gain], (8, 1))
    assert repeats._best(told, explained, 100, 1.0) == best


def test_a_stated_radius_varies_by_an_eighth_with_what_is_drawn(full_size, simulate):
    """More repetitions take longer, fewer leave more of it to chance."""
    truth = 0.5 * np.eye(2, 3)
    (view,) = simulate(truth, views=(Halfspaces(16, spread_offsets(16, 8), 7),))

    def find(views, clusters, own, members):
        return found_of(truth + 0.05 * own.standard_normal(truth.shape))

    radii = [
        repeats.repeated(find, [view], found_of(truth), rng(seed), repeats.REPEATS, 2).radii[0]
        for seed in range(60)
    ]
    assert 0.1 < np.std(radii) / np.mean(radii) < 0.145


# How many are drawn: their own noise, time and space


def test_of_a_group_so_many_are_drawn_that_their_mean_is_right_within_a_twentieth(simulate):
    views = simulate(pair(), 10**8)
    found = [one_group(views, rng(seed)) for seed in range(8)]
    wrong = [one.people[0].mean(axis=0) - one.answer.centers[0] for one in found]
    assert 0.042 < np.sqrt(np.mean(np.square(wrong))) / np.mean([one.people[0].std() for one in found]) < 0.06


def test_of_everybody_so_many_are_drawn_that_their_mean_is_right_within_a_fortieth(full_size):
    """Atoms as a population starts with."""
    wrong = []
    for seed in range(8):
        places = population._as_wide([], np.zeros(DIMENSION), math.sqrt(0.9), rng(seed)).places
        wrong.append(places.mean(axis=0) / places.std())
    assert 0.019 < np.sqrt(np.mean(np.square(wrong))) < 0.027


def test_a_pool_depends_half_as_much_on_starts_as_one_population(simulate, round_groups, monkeypatch):
    monkeypatch.setattr(population, "ATOMS", 300)  # for speed
    points, _ = round_groups(4, 8, spread=0.3, count=800)
    halves, cells = simulate(points, 10**5)
    fits = [fit_population([halves, cells], rng(seed)) for seed in range(24)]
    rows = np.array([cells.predicted(one.atoms, one.weights).ravel() for one in fits])
    pools = rows.reshape(len(fits) // MEMBERS, MEMBERS, -1).mean(axis=1)
    alone, together = (np.sqrt(some.var(axis=0, ddof=1).mean()) for some in (rows, pools))
    assert 0.42 < together / alone < 0.6


def test_atoms_of_the_most_dimensions_leave_room_in_the_file_of_a_population():
    """Which is refused if it is larger than 256 MiB; points of round groups come besides."""
    assert MEMBERS * ATOMS * MAX_DIMENSION * np.dtype(np.float64).itemsize < MAX_BYTES


def test_a_block_of_rows_is_what_a_core_keeps_near(simulate):
    """One or two MiB: more would not stay in its cache, less would be more calls than work."""
    block = feature_blocks(np.zeros((ATOMS, DIMENSION)), simulate(pair())[:1])[0]
    assert 1 << 20 <= block.features.nbytes <= 2 << 20


def test_while_atoms_still_move_a_third_of_the_steps_will_do(simulate, monkeypatch):
    taken = []

    def hardly(loss, start, steps):
        taken.append(steps)
        return least.least(loss, start, 1)

    monkeypatch.setattr(population, "least", hardly)
    fit_population(simulate(pair(), 10**6), rng())
    *moving, last = taken
    assert len(moving) >= 2
    assert all(0.25 < steps / last < 0.5 for steps in moving)


@pytest.mark.parametrize(("room", "best"), [(1.0, 1), (0.4, 3)])
def test_a_group_is_as_wide_as_people_are_where_groups_are_looked_for(room, best):
    """Where most of people's spread lies outside the directions, halves of a round group explain less."""
    told = [Choice(number, Interval(0.0, 0.0, 0.0), True) for number in (1, 2, 3)]
    explained = np.tile([0.0, 0.1, 0.2], (8, 1))
    assert repeats._best(told, explained, 6, room) == best


def test_room_is_the_part_of_peoples_spread_in_the_directions():
    points = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 2, 0], [0, -2, 0]]) / 4
    people, answer = (points, np.ones(4)), Answer(points[:1], np.ones(1), points, np.ones(4))
    assert repeats._room(repeats.Found(answer, people, np.eye(3)[:, :1], 0.0, 0.0)) == (1, pytest.approx(0.2))
    assert repeats._room(repeats.Found(answer, people, np.empty((3, 0)), 0.0, 0.0)) == (3, 1.0)


def test_a_number_of_groups_that_was_not_reached_explains_nothing():
    places, shares = np.array([[0.5, 0.0], [-0.5, 0.0]]), np.array([0.5, 0.5])
    people = places, shares
    found = Found(Answer(places, shares, places, shares), people, np.eye(2), 0.0, 0.0)
    again = repeats._compared(found, people, 6)  # two points can be cut in two
    for told in (again.said_by, again.true_by):
        np.testing.assert_allclose(told[:, 0] / told[:, 1], [0, 1, 0, 0, 0, 0])
