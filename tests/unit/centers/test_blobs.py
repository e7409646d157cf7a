"""Round groups fitted to rows: what each part of the fit is needed for."""

import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from coterie.centers.blobs import BlobFit, Blobs, _conjugate_gradients, search
from coterie.centers.population import Cloud
from coterie.centers.solution import into_ball
from coterie.centers.spreads import Spreads

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
    rows = BlobFit(view, MIDDLE).predicted(centers, np.array([0.7, 0.3]), sigma, np.zeros(2))[0]
    assert np.abs(rows - drawn)[:, :DIMENSION].mean() < 1e-3  # several times that without the term of σ²·g
    assert np.abs(rows - drawn).max() < 0.03  # the last coordinate is that of the mean square


def test_claimed_and_true_error_agree(simulate, round_groups):
    claimed, true = [], []
    for seed in range(5):
        points, centers = round_groups(4, DIMENSION, seed=seed)
        fit = BlobFit(simulate(points, 10**6, seed)[0], MIDDLE)
        blobs = fit.fit(start_near(centers, 0.5, seed), np.full(4, 0.25))
        claimed.append(blobs.errors)
        true.append(squared_errors(blobs.centers, centers))
    assert np.mean(true) / np.mean(claimed) == pytest.approx(1, abs=0.4)


def test_without_the_derivative_of_the_sign_the_fit_is_lost(simulate, round_groups, monkeypatch):
    points, centers = round_groups(4, DIMENSION)
    fit = BlobFit(simulate(points, 10**6)[0], MIDDLE)
    start = start_near(centers, 0.5)
    whole = fit.fit(start, np.full(4, 0.25))
    assert whole.chi < 0  # fewer than the numbers: some were fitted
    predicted = BlobFit.predicted

    def flat(self, *arguments):
        rows, signs, slopes, lifted = predicted(self, *arguments)
        return rows, signs, np.zeros_like(slopes), lifted

    monkeypatch.setattr(BlobFit, "predicted", flat)
    half = fit.fit(start, np.full(4, 0.25))
    errors = [squared_errors(blobs.centers, centers).mean() for blobs in (whole, half)]
    assert errors[0] < 0.002
    assert errors[1] > 5 * errors[0]


def test_far_off_starts_see_smooth_signs_first(simulate, round_groups):
    """The assumed uncertainty is what lets a start be off by more than the groups are wide."""
    points, centers = round_groups(6, DIMENSION, spread=0.03)
    fit = BlobFit(simulate(points, 10**6)[0], MIDDLE)
    start = start_near(centers, 1.0, seed=3)
    sigma = np.full(6, 0.03 / math.sqrt(DIMENSION))
    calm = fit.fit(start, np.full(6, 1 / 6), sigma=sigma)
    sudden = fit.fit(start, np.full(6, 1 / 6), sigma=sigma, unsure=0.01)
    assert sudden.chi > calm.chi + 300


@pytest.mark.parametrize("spread", [0.2, 0.4])
def test_the_spread_of_the_groups_is_fitted(simulate, round_groups, spread):
    points, centers = round_groups(3, DIMENSION, spread=spread)
    blobs = BlobFit(simulate(points, 10**6)[0], MIDDLE).fit(start_near(centers, 0.3), np.full(3, 1 / 3))
    np.testing.assert_allclose(blobs.sigma * math.sqrt(DIMENSION), spread, rtol=0.2)


def test_every_group_has_a_spread_of_its_own_and_is_polished_until_it_settles(simulate, round_groups):
    """From one spread for both, the first polish goes a third of the way only."""
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
    blobs = BlobFit(simulate(points, 10**6)[0], MIDDLE).fit(start_near(centers, 0.3), np.full(3, 1 / 3))
    np.testing.assert_allclose(blobs.shares, shares, atol=0.01)
    assert blobs.shares.sum() == pytest.approx(1)


@pytest.fixture(scope="module")
def two_in_one(simulate, round_groups):
    """Six groups, and a start in which four centers sit in the first two and none in the last two."""
    points, centers = round_groups(6, DIMENSION)
    start = start_near(centers[[0, 1, 2, 3, 0, 1]], 0.02)
    return BlobFit(simulate(points, 10**5)[0], MIDDLE), centers, start, cloud_at(points[::4])


def test_a_center_moves_to_where_the_rows_are_explained_worst(two_in_one):
    fit, centers, start, cloud = two_in_one
    stuck = search(fit, cloud, start, np.full(6, 1 / 6), tries=0)
    assert squared_errors(stuck.centers, centers).max() > 0.2
    residual = fit.residual(stuck, centers)
    assert residual.argmax() in (4, 5)
    assert residual.max() > 6
    blobs = search(fit, cloud, start, np.full(6, 1 / 6))
    assert squared_errors(blobs.centers, centers).max() < 0.1
    assert fit.residual(blobs, centers).max() < 6


def test_atoms_scatter_as_the_group_does_and_as_its_center_may_be_wrong():
    centers = np.array([np.zeros(DIMENSION), 0.3 * np.eye(DIMENSION)[0]])
    blobs = Blobs(
        centers, np.array([0.25, 0.75]), np.full(2, 0.01), np.array([0.0, 0.12]), np.zeros(2), 1.0, 0.0
    )
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


def test_conjugate_gradients_solve():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((12, 12))
    matrix = root @ root.T + 4 * np.eye(12)
    right = rng.standard_normal((3, 4, 3))

    def apply(moves):
        return (moves.reshape(len(moves), 12) @ matrix).reshape(moves.shape)

    solved = _conjugate_gradients(apply, right, np.full((4, 1), 0.1))
    exact = np.linalg.solve(matrix, right.reshape(3, 12).T).T.reshape(right.shape)
    assert np.linalg.norm(solved - exact) < 0.03 * np.linalg.norm(exact)


def test_a_step_solves_the_normal_equations_of_all_rows_and_coordinates(simulate, round_groups):
    """Short cuts by rank against the whole Jacobian, (rows·D, k·d), and its chi-square."""
    rng = np.random.default_rng(4)
    points, true = round_groups(2, 3, spread=0.1, count=2000)
    view = simulate(points)[0]
    fit = BlobFit(view, points.mean(axis=0))
    centers, shares = true + 0.1 * rng.standard_normal((2, 3)), np.array([0.4, 0.6])
    sigma, unsure = np.array([0.05, 0.1]), np.array([0.2, 0.1])
    probes = np.sign(rng.standard_normal((2, 2, 3)))
    step, errors, signs, lifted = fit._step(centers, shares, sigma, unsure, probes, 0.3)

    rows, _, slopes, _ = fit.predicted(centers, shares, sigma, unsure)
    point, root = view.lift.point, np.sqrt(fit.weights)[:, None]
    jacobian = np.zeros((*rows.shape, 2, 3))
    for group in range(2):
        for axis in range(3):
            moved = np.zeros(5)
            moved[axis], moved[-1] = point, -(point**2) * centers[group, axis] / lifted[group, -1]
            direct = np.outer(signs[:, group] * shares[group], moved)
            turned = np.outer(slopes[:, group] * shares[group] * fit.normals[:, axis], lifted[group])
            jacobian[:, :, group, axis] = root * (direct + turned)
    whole = jacobian.reshape(rows.size, 6)
    prior = 3 / 0.3  # three coordinates, a squared distance of 0.3 expected beforehand
    matrix = whole.T @ whole + prior * np.eye(6)
    right = whole.T @ (root * (fit.rows - rows)).ravel() - prior * (centers - fit.middle).ravel()
    assert step.ravel() == pytest.approx(np.linalg.solve(matrix, right), rel=0.05, abs=1e-4)
    inverse = [np.linalg.solve(matrix, probe.ravel()).reshape(2, 3) for probe in probes]
    expected = np.mean([(a * b).sum(axis=1) for a, b in zip(probes, inverse, strict=True)], axis=0)
    assert errors == pytest.approx(expected, rel=0.05)

    _, signs, slopes, _ = fit.predicted(centers, shares, sigma, np.zeros(2))
    volume = np.log(fit.curvature(shares, signs, slopes, 0.3)).sum()
    plain = fit.chi(centers, shares, sigma, np.zeros(2)) + 3 * volume
    assert Spreads(fit, centers, shares, sigma, 0.3).surprise == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize(("reach", "least", "most"), [(0.2, 0.01, 0.1), (0.8, 0.2, 0.4)])
def test_how_far_apart_centers_lie_is_learned_from_the_rows(simulate, round_groups, reach, least, most):
    points, true = round_groups(3, 8, spread=0.03, count=20_000)
    points, true = points * reach, true * reach
    fit = BlobFit(simulate(points)[0], points.mean(axis=0))
    blobs = fit.fit(into_ball(true), np.full(3, 1 / 3), unsure=0.3)
    assert least < ((true - points.mean(axis=0)) ** 2).sum(axis=1).mean() < most
    assert least < blobs.apart < most < 1.0  # where it began


def test_one_spread_changed_is_as_surprising_as_all_of_them_anew(simulate, round_groups):
    points, true = round_groups(5, DIMENSION, spread=0.1)
    fit = BlobFit(simulate(points)[0], points.mean(axis=0))
    rng = np.random.default_rng(5)
    shares, sigma = np.array([0.1, 0.3, 0.2, 0.15, 0.25]), 0.03 * rng.uniform(0.5, 2, 5)
    spreads = Spreads(fit, true, shares, sigma, 0.4)
    for group in (2, 0, 2, 4):
        sigma = sigma.copy()
        sigma[group] *= rng.uniform(0.5, 2)
        anew = Spreads(fit, true, shares, sigma, 0.4).surprise
        assert anew != pytest.approx(spreads.surprise, rel=1e-9)
        assert spreads.with_one(group, float(sigma[group])) == pytest.approx(anew, rel=1e-10)
        spreads.set_one(group, float(sigma[group]))
        assert spreads.surprise == pytest.approx(anew, rel=1e-10)
        np.testing.assert_array_equal(spreads.sigma, sigma)
