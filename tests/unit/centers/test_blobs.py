"""Round groups fitted to rows: what each part of the fit is needed for."""

import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from coterie import Plan
from coterie.centers.blobs import BlobFit, Blobs, search
from coterie.centers.population import Cloud
from coterie.centers.solution import into_ball
from coterie.engines import simulate as simulate_table
from coterie.protocols.codeword.oracles.rows import rows_of

DIMENSION = 24
MIDDLE = np.zeros(DIMENSION)
SPREADS = ((0.02, 1), (0.6, 2))  # of two groups, with their seeds


def squared_errors(found, true):
    """Squared distance of each true center from the one matched with it: (k,)."""
    apart = ((found[:, None] - true[None]) ** 2).sum(axis=2)
    rows, columns = linear_sum_assignment(apart)
    errors = np.empty(len(true))
    errors[columns] = apart[rows, columns]
    return errors


WIDE = 0.3 / math.sqrt(DIMENSION)  # deviation of a coordinate where a fit starts


def start_near(centers, off, seed=0):
    return centers + off * np.random.default_rng(seed).standard_normal(centers.shape) / math.sqrt(DIMENSION)


def cloud_at(points):
    weights = np.full(len(points), 1 / len(points))
    return Cloud(points, points, weights, np.eye(DIMENSION), MIDDLE, 1e-5, 0.0, 1.0)


def test_predicted_rows_are_those_of_the_people(simulate, round_groups):
    """Against many drawn points, so that the formula has no noise to hide in."""
    points, centers = round_groups(2, DIMENSION, spread=0.3, shares=[0.7, 0.3], count=60_000)
    view = simulate(points[:1])[0]
    drawn = np.zeros_like(view.vectors)
    for piece in np.array_split(points, 20):
        drawn += view.predicted(piece, np.full(len(piece), 1 / len(points)))
    sigma = np.full(2, 0.3 / math.sqrt(DIMENSION))
    rows = BlobFit(view, MIDDLE).seen(centers, np.array([0.7, 0.3]), sigma, np.zeros(2)).rows
    assert np.abs(rows - drawn)[:, :DIMENSION].mean() < 1e-3  # several times that without the term of σ²·g
    assert np.abs(rows - drawn).max() < 0.03  # the last coordinate is that of the mean square


def test_rows_are_weighed_by_their_noise_in_each_direction(round_groups):
    """At ε = 8 it is larger along the people: what the truth misses is noise only if that is known."""
    points, _ = round_groups(2, DIMENSION, spread=0.3, count=2000)
    plan = Plan.design(DIMENSION, 2, 8.0, 300_000)
    table = simulate_table(plan, points, 300_000, random_state=1).table
    (view,) = (one for one in rows_of(table) if one.halfspaces)
    people = points, np.full(len(points), 1 / len(points))
    left = view.vectors - view.predicted(*people)
    main = np.linalg.svd(view.second_moment(*people))[0][:, :3]  # directions in which people are
    along = {}
    for name, fit in (("alike", BlobFit(view, MIDDLE)), ("weighed", BlobFit(view, MIDDLE, people))):
        pull = fit._pull(left)
        assert np.vdot(left, pull) / left.size == pytest.approx(1, abs=0.2)
        along[name] = np.vdot(left @ main, pull @ main) / (3 * len(left))
    assert along["weighed"] == pytest.approx(1, abs=0.15)
    assert along["alike"] > 1.2


def test_claimed_and_true_error_agree(simulate, round_groups):
    claimed, true = [], []
    for seed in range(5):
        points, centers = round_groups(4, DIMENSION, seed=seed)
        fit = BlobFit(simulate(points, 10**6, seed)[0], MIDDLE)
        blobs = fit.fit(start_near(centers, 0.5, seed), np.full(4, 0.25), np.full(4, WIDE))
        claimed.append(blobs.errors)
        true.append(squared_errors(blobs.centers, centers))
    assert 0.3 < np.mean(true) / np.mean(claimed) < 1.4  # of tight groups signs tell more than is claimed


@pytest.mark.parametrize("volume", [False, True])
def test_slopes_are_those_of_the_loss(simulate, round_groups, volume, monkeypatch):
    """Signs, bulges, lengths and what is not known of a center: a wrong term is seen at once."""
    for rounding in ("on_grid", "coarse"):  # too coarse for small steps
        monkeypatch.setattr(f"coterie.centers.blobs.{rounding}", np.asarray)
    rng = np.random.default_rng(4)
    points, true = round_groups(3, 5, spread=0.1, count=2000)
    fit = BlobFit(simulate(points)[0], points.mean(axis=0))
    centers, shares = true + 0.1 * rng.standard_normal((3, 5)), np.array([0.3, 0.5, 0.2])
    sigma, errors, prior = np.array([0.05, 0.1, 0.2]), np.array([0.01, 0.0, 0.04]), 7.0

    def loss(centers, shares, sigma):
        seen = fit.seen(centers, shares, sigma, errors)
        return fit._chi(seen) / 2 + (fit._volume(seen, shares, prior)[0] if volume else 0.0)

    seen = fit.seen(centers, shares, sigma, errors)
    slopes = fit._slopes(seen, shares, sigma, fit._volume(seen, shares, prior)[1] if volume else None)
    wider, farther = rng.standard_normal(3) * sigma, rng.standard_normal(centers.shape)
    ways = {"sigma": (0 * farther, np.zeros(3), wider), "centers": (farther, np.zeros(3), np.zeros(3))}
    if not volume:
        ways["shares"] = (0 * farther, rng.standard_normal(3), np.zeros(3))
    for name, way in ways.items():
        here = (centers, shares, sigma)
        up, down = (loss(*(a + sign * 1e-5 * b for a, b in zip(here, way, strict=True))) for sign in (1, -1))
        told = sum(
            float((getattr(slopes, part) * step).sum())
            for part, step in zip(("centers", "shares", "sigma"), way, strict=True)
        )
        assert told == pytest.approx((up - down) / 2e-5, rel=1e-4), name


def test_slopes_do_not_depend_on_the_order_of_sums(simulate, round_groups):
    """Exact products leave no last bit in which processors could differ: rows in another order show it."""
    points, centers = round_groups(4, DIMENSION)
    view = simulate(points, 10**5)[0]
    fit, turned = BlobFit(view, MIDDLE), BlobFit(view, MIDDLE)
    order = np.random.default_rng(0).permutation(len(fit.rows))
    for name in ("rows", "normals", "offsets", "lengths", "weights"):
        setattr(turned, name, getattr(fit, name)[order])
    groups = start_near(centers, 0.3), np.array([0.1, 0.2, 0.3, 0.4]), np.full(4, WIDE)
    here, there = (one._slopes(one.seen(*groups, np.full(4, 0.01)), *groups[1:]) for one in (fit, turned))
    np.testing.assert_array_equal(here.centers, there.centers)
    np.testing.assert_array_equal(here.shares, there.shares)


@pytest.mark.parametrize("wide", [0.1, 1.0, 3.0])
def test_starts_that_are_off_by_more_than_groups_are_wide_find_them(simulate, round_groups, wide):
    """What is not known of a center blurs its signs, so that it sees in which direction to go."""
    points, centers = round_groups(6, DIMENSION, spread=0.03)
    fit = BlobFit(simulate(points, 10**6)[0], MIDDLE)
    blobs = fit.fit(start_near(centers, 1.0, seed=3), np.full(6, 1 / 6), np.full(6, wide * WIDE))
    assert squared_errors(blobs.centers, centers).max() < 0.01
    assert blobs.chi < 300


def test_errors_do_not_fall_with_the_spread(simulate, round_groups):
    """However sharp the signs are: a group at one place would grow sharper until it fits noise."""
    points, center = round_groups(1, DIMENSION, spread=0.01, count=2000)
    view = simulate(points, 10**5)[0]
    fit, prior, shares = BlobFit(view, MIDDLE), 20.0, np.ones(1)
    for sigma in (1e-6, 0.1):
        seen = fit.seen(center, shares, np.full(1, sigma), np.zeros(1))
        told = view.lift.point**2 * float(fit.weights @ seen.signs[:, 0] ** 2)
        assert fit._errors(seen, shares, prior)[0] == pytest.approx(DIMENSION / (2 * told + prior))
        assert told > 0.5 * view.lift.point**2 * float(fit.weights.sum())


def test_a_start_without_people_is_no_crash(simulate, round_groups):
    points, centers = round_groups(3, DIMENSION)
    fit = BlobFit(simulate(points, 10**5)[0], MIDDLE)
    blobs = fit.fit(start_near(centers, 0.1), np.array([0.5, 0.5, 0.0]), np.full(3, WIDE))
    np.testing.assert_allclose(blobs.shares, 1 / 3, atol=0.1)


@pytest.mark.parametrize("spread", [0.2, 0.4])
def test_the_spread_of_the_groups_is_fitted(simulate, round_groups, spread):
    points, centers = round_groups(3, DIMENSION, spread=spread)
    fit = BlobFit(simulate(points, 10**6)[0], MIDDLE)
    blobs = fit.fit(start_near(centers, 0.3), np.full(3, 1 / 3), np.full(3, WIDE))
    np.testing.assert_allclose(blobs.sigma * math.sqrt(DIMENSION), spread, rtol=0.2)


@pytest.mark.parametrize(("spread", "least", "most"), [(0.3, 0.25, 0.325), (0.02, 0.0, 0.08)])
def test_a_spread_is_neither_too_small_nor_what_is_not_known(simulate, round_groups, spread, least, most):
    """Among much noise: chi-square alone finds 0.14 and 0, with signs that are not blurred 0.33 and 0.14."""
    found = []
    for seed in range(3):
        points, centers = round_groups(6, DIMENSION, spread=spread, seed=seed)
        fit = BlobFit(simulate(points, 10**5, seed)[0], MIDDLE)
        blobs = fit.fit(start_near(centers, 0.3, seed), np.full(6, 1 / 6), np.full(6, WIDE))
        found.append(float(blobs.sigma.mean()) * math.sqrt(DIMENSION))
    assert least < np.mean(found) < most


def test_every_group_has_a_spread_of_its_own_if_that_explains_more(simulate, round_groups):
    (tight, one), (broad, two) = (round_groups(1, DIMENSION, spread, seed=seed) for spread, seed in SPREADS)
    points, centers = np.concatenate([tight, broad]), np.concatenate([one, two])
    fit = BlobFit(simulate(points, 10**7)[0], MIDDLE)
    blobs = search(fit, cloud_at(points[::16]), start_near(centers, 0.3), np.full(2, 0.5))
    found = blobs.sigma * math.sqrt(DIMENSION)
    np.testing.assert_allclose(found, [spread for spread, _ in SPREADS], rtol=0.25)
    assert blobs.chi < 1000  # 30,000 with one spread for both


def test_the_shares_are_fitted(simulate, round_groups):
    shares = [0.5, 0.3, 0.2]
    points, centers = round_groups(3, DIMENSION, shares=shares)
    blobs = BlobFit(simulate(points, 10**6)[0], MIDDLE).fit(
        start_near(centers, 0.3), np.full(3, 1 / 3), np.full(3, WIDE)
    )
    np.testing.assert_allclose(blobs.shares, shares, atol=0.01)
    assert blobs.shares.sum() == pytest.approx(1)


@pytest.fixture(scope="module")
def two_in_one(simulate, round_groups):
    """Six groups, and a start in which four centers sit in the first two and none in the last two."""
    points, centers = round_groups(6, DIMENSION)
    start = centers[[0, 1, 2, 3, 0, 1]]  # two at one place stay together
    return BlobFit(simulate(points, 10**5)[0], MIDDLE), centers, start, cloud_at(points[::4])


def test_a_center_moves_to_where_the_rows_are_explained_worst(two_in_one):
    fit, centers, start, cloud = two_in_one
    stuck = search(fit, cloud, start, np.full(6, 1 / 6), tries=0)
    assert squared_errors(stuck.centers, centers).max() > 0.2
    residual = fit.residual(stuck, centers)
    assert residual.max() > 6
    blobs = search(fit, cloud, start, np.full(6, 1 / 6))
    assert squared_errors(blobs.centers, centers).max() < 0.1
    assert fit.residual(blobs, centers).max() < 6


def test_atoms_scatter_as_the_group_does_and_as_its_center_may_be_wrong():
    centers = np.array([np.zeros(DIMENSION), 0.3 * np.eye(DIMENSION)[0]])
    blobs = Blobs(centers, np.array([0.25, 0.75]), np.full(2, 0.01), np.array([0.0, 0.12]), 1.0, 0.0)
    points, weights = blobs.atoms(2000, np.random.default_rng(0))
    assert weights.sum() == pytest.approx(1)
    assert weights[:2000].sum() == pytest.approx(0.25)
    apart = ((points - np.repeat(centers, 2000, axis=0)) ** 2).sum(axis=1)
    assert apart[:2000].mean() == pytest.approx(DIMENSION * 0.01**2, rel=0.05)
    assert apart[2000:].mean() == pytest.approx(DIMENSION * 0.01**2 + 0.12, rel=0.05)
    basis = np.eye(DIMENSION)[:, :2]
    inner, _ = blobs.atoms(10, np.random.default_rng(0), basis)
    assert not inner[:, 2:].any()
    np.testing.assert_array_equal(inner, into_ball(inner))


@pytest.mark.parametrize(("reach", "least", "most"), [(0.2, 0.01, 0.1), (0.8, 0.2, 0.4)])
def test_how_far_apart_centers_lie_is_learned_from_the_rows(simulate, round_groups, reach, least, most):
    points, true = round_groups(3, 8, spread=0.03, count=20_000)
    points, true = points * reach, true * reach
    fit = BlobFit(simulate(points)[0], points.mean(axis=0))
    blobs = fit.fit(into_ball(true), np.full(3, 1 / 3), np.full(3, 0.02))
    assert least < ((true - points.mean(axis=0)) ** 2).sum(axis=1).mean() < most
    assert least < blobs.apart < most < 1.0  # where it began
