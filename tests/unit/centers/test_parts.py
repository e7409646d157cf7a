"""The parts of decoding, each on small problems whose answer is known."""

import numpy as np
import pytest

from coterie.centers.tight.factors import amounts, directions_of, unexplained
from coterie.centers.tight.kept_cells import significant_cells
from coterie.centers.tight.shrinkage import shrink, shrink_factors
from coterie.centers.tight.solve import _stands_clear
from coterie.centers.tight.subspace import shrink_in_blocks, signal_subspace
from coterie.protocols.codeword.oracles.cell_sums import CellSums
from coterie.protocols.codeword.oracles.rows import Lift
from coterie.protocols.codeword.oracles.second_moment import SecondMoment

DIMENSION = 30
LIFT = Lift(np.sqrt(1 - 0.3**2), 0.3, DIMENSION)


def random_points(count, length, seed=0):
    points = np.random.default_rng(seed).normal(size=(count, DIMENSION))
    return length * points / np.linalg.norm(points, axis=1, keepdims=True)


def view(places, shares, cells, where, noise, seed=0):
    """The cell sums of clusters `places`, cluster i wholly in cell `where[i]`."""
    rng = np.random.default_rng(seed)
    sums = noise * rng.normal(size=(cells, DIMENSION + 2))
    np.add.at(sums, where, np.asarray(shares)[:, None] * LIFT.of(places))
    return CellSums(sums, noise**2, 1000)


def test_lifted_points_have_length_one():
    lifted = LIFT.of(random_points(5, 0.7))
    np.testing.assert_allclose(np.linalg.norm(lifted, axis=1), 1)
    np.testing.assert_allclose(lifted[:, DIMENSION], 0.3)


def test_leaves_above_the_noise_are_kept_and_counted_by_length():
    places = random_points(4, 0.8)
    shares = [0.4, 0.3, 0.2, 0.1]
    cells = significant_cells([view(places, shares, 64, [3, 9, 20, 41], 0.004)], LIFT, at_least=2)
    assert np.flatnonzero(cells.kept).tolist() == [3, 9, 20, 41]
    np.testing.assert_allclose((cells.looseness * cells.lengths)[[3, 9, 20, 41]], shares, atol=0.02)


def test_pure_noise_keeps_only_what_is_asked_for_and_nothing_stands():
    cells = significant_cells([view(random_points(1, 0.5), [0.0], 64, [0], 0.01)], LIFT, at_least=3)
    assert cells.kept.sum() == 3
    assert not cells.standing.any()


def test_broad_cells_are_loose():
    """Half of a cell's people at each of two orthogonal points: the mean lifted vector is shorter than 1."""
    places = random_points(2, 0.9)
    cells = significant_cells([view(places, [0.5, 0.5], 16, [5, 5], 1e-4)], LIFT, at_least=1)
    assert cells.looseness == pytest.approx(1 / np.linalg.norm(LIFT.of(places).mean(axis=0)), rel=0.01)


def test_shrinking_beats_not_shrinking_and_lands_on_the_target_for_noise():
    rng = np.random.default_rng(1)
    truth = random_points(400, 0.5, seed=2)
    noisy = truth + 0.1 * rng.normal(size=truth.shape)
    error = ((shrink(noisy, 0.01) - truth) ** 2).sum(axis=1).mean()
    assert error < 0.7 * ((noisy - truth) ** 2).sum(axis=1).mean()
    assert shrink_factors(np.zeros((1, 9)), 0.1)[0] == 0
    np.testing.assert_allclose(shrink(np.zeros((1, 9)), 0.1, target=0.25), 0.25)
    assert shrink_factors(np.full((1, 2), 50.0), 10.0)[0] == pytest.approx(1 / 21)  # noise beyond the ball


def test_the_subspace_spans_the_centers_and_shrinking_uses_it():
    places = random_points(3, 0.9)
    moment = places.T @ places / 3
    rng = np.random.default_rng(3)
    noise = rng.normal(size=moment.shape)
    deviation = 0.004
    noisy = SecondMoment(moment + deviation * (noise + noise.T) / np.sqrt(2), deviation)
    basis = signal_subspace(noisy, DIMENSION)
    assert basis.shape == (DIMENSION, 3)
    assert np.linalg.norm(places - places @ basis @ basis.T) < 0.3 * np.linalg.norm(places)
    estimates = places + 0.15 * rng.normal(size=places.shape)
    variances, target = np.full(3, 0.15**2), np.zeros(DIMENSION)
    with_basis = np.linalg.norm(shrink_in_blocks(estimates, variances, target, basis) - places)
    without = np.linalg.norm(shrink_in_blocks(estimates, variances, target, None) - places)
    assert with_basis < 0.7 * without
    assert signal_subspace(SecondMoment(deviation * noise, 10 * deviation), DIMENSION).shape[1] == 0


def test_two_clusters_in_one_cell_are_told_apart_by_the_other_view():
    places = random_points(3, 0.9)
    shares = [0.4, 0.35, 0.25]
    views = [
        view(places, shares, 16, [4, 4, 9], 0.004, seed=1),
        view(places, shares, 32, [1, 20, 30], 0.007, seed=2),
    ]
    cells = significant_cells(views, LIFT, at_least=3)
    found = amounts(cells, LIFT.of(places))
    assert set(zip(*map(np.ndarray.tolist, np.nonzero(found)), strict=True)) == {
        (4, 0), (4, 1), (9, 2), (17, 0), (36, 1), (46, 2),
    }  # fmt: skip
    np.testing.assert_allclose(found[4], [0.4, 0.35, 0], atol=0.03)
    directions, variances = directions_of(cells, found)
    errors = np.linalg.norm(directions - LIFT.of(places), axis=1)
    assert (errors < 3 * np.sqrt(variances * (DIMENSION + 2))).all()
    assert (unexplained(cells, LIFT.of(places), found) < 110).all()
    wrong = LIFT.of(places)[[0, 0, 2]]
    assert unexplained(cells, wrong, amounts(cells, wrong)).max() > 1000


def test_a_cluster_that_no_cell_holds_has_no_direction():
    cells = significant_cells([view(random_points(1, 0.5), [0.9], 8, [2], 0.01)], LIFT, at_least=1)
    found = np.zeros((8, 2))
    found[2, 0] = 0.9
    directions, variances = directions_of(cells, found)
    assert np.isinf(variances[1])
    assert not directions[1].any()


def test_support_needs_a_clear_leaf_or_two_witnesses():
    places = random_points(1, 0.8)
    cells = significant_cells([view(places, [0.9], 64, [7], 0.01)], LIFT, at_least=3)
    found = np.zeros((64, 2))
    found[7, 0], found[8, 1] = 0.9, 0.1
    assert _stands_clear(np.array([8000.0, 8000.0]), cells, found).tolist() == [True, False]
    assert _stands_clear(np.array([10.0, 10.0]), cells, found).tolist() == [False, False]
