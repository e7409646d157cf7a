"""Atoms that explain rows: weights, turns, and where atoms come from."""

from dataclasses import replace

import numpy as np
import pytest

from coterie.centers import population
from coterie.centers.population import (
    clear_cells,
    feature_blocks,
    fit_population,
    pooled,
    reweight,
    seen_parts,
    spread_beyond,
)
from coterie.geometry.spread import spread_points
from coterie.plan.views import CrossPolytope, Halfspaces, Net
from coterie.protocols.codeword.design import spread_offsets

DIMENSION = 24
EXPLAINED = 1.06  # chi-square per number up to which rows count as explained

pytestmark = pytest.mark.usefixtures("few_atoms")


def test_known_weights_of_two_atoms_are_recovered(simulate):
    rng = np.random.default_rng(0)
    others = rng.standard_normal((60, DIMENSION))
    others *= 0.6 / np.linalg.norm(others, axis=1, keepdims=True)
    pair = np.zeros((2, DIMENSION))
    pair[0, 0], pair[1, 1] = 0.7, -0.7
    views = simulate(np.repeat(pair, [7, 3], axis=0), 10**7)[:1]
    seen = seen_parts(views, np.eye(DIMENSION))
    every = np.concatenate([pair, others])
    weights, misfit = reweight(every, views, seen, feature_blocks(every, views))
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(weights[:2], [0.7, 0.3], atol=0.02)
    assert misfit == pytest.approx(1, abs=0.05)


def test_where_rows_tell_little_all_atoms_weigh_about_the_same(simulate):
    """Without entropy the weights would follow the noise: some atoms thirty times the average, most none."""
    atoms = 0.1 * np.random.default_rng(1).standard_normal((200, DIMENSION))
    views = simulate(atoms, 10**3)[:1]
    weights, _ = reweight(atoms, views, seen_parts(views, np.eye(DIMENSION)), feature_blocks(atoms, views))
    np.testing.assert_allclose(weights * 200, 1, atol=0.6)


def test_the_rows_are_explained_within_their_noise(simulate, round_groups):
    points, centers = round_groups(4, DIMENSION, spread=0.3)
    cloud = fit_population(simulate(points, 10**6), np.random.default_rng(0))
    assert 0.9 < cloud.misfit < EXPLAINED
    assert cloud.weights.sum() == pytest.approx(1)
    apart = np.linalg.norm(cloud.inner[:, None] - centers, axis=2)
    near = cloud.weights @ (apart.min(axis=1) < 0.45)  # people scatter by 0.3, in all directions
    assert near > 0.85


@pytest.mark.slow
def test_turns_explain_what_the_first_atoms_cannot(simulate, round_groups, monkeypatch):
    """Resampling and jitter move the atoms to where the people are."""
    views = simulate(round_groups(6, DIMENSION, spread=0.3)[0], 10**6)
    whole = fit_population(views, np.random.default_rng(0)).misfit
    monkeypatch.setattr(population, "_JITTERS", (0.0,) * 7)
    unmoved = fit_population(views, np.random.default_rng(0)).misfit
    monkeypatch.setattr(population, "_JITTERS", (0.4,))
    first = fit_population(views, np.random.default_rng(0)).misfit
    assert whole < EXPLAINED
    assert unmoved > whole + 0.025
    assert first > whole + 0.05


def test_a_cell_that_stands_clear_is_a_point_with_a_share(simulate, round_groups):
    points, centers = round_groups(3, DIMENSION, shares=[0.5, 0.3, 0.2])
    leaves, shares = clear_cells(simulate(points, 10**8))
    for center, share in zip(centers, [0.5, 0.3, 0.2], strict=True):
        near = np.linalg.norm(leaves - center, axis=1) < 0.1
        assert shares[near].sum() == pytest.approx(share, abs=0.05)
    assert shares.sum() == pytest.approx(1, abs=0.05)


def test_empty_cells_propose_nothing(simulate):
    nobody = np.zeros((1, DIMENSION))
    alone = [clear_cells(simulate(nobody, 10**3, seed)[1:])[1] for seed in range(20)]
    assert sum(map(len, alone)) <= 4  # 1,280 cells, a chance of 3·10⁻⁴ each, and the one that all are in


def test_a_direction_that_only_cells_see_joins_the_subspace(simulate):
    """A small group in a cell of its own: too small for the spectrum, clear by itself."""
    rng = np.random.default_rng(0)
    broad = 0.7 * rng.standard_normal((4000, 1)) @ np.eye(1, DIMENSION)
    points = population.into_ball(broad)
    points[:160] = 0.9 * np.eye(1, DIMENSION, 5)
    seldom = (Halfspaces(512, spread_offsets(512, 128), 1), CrossPolytope(32, 7))
    views = simulate(points, 10**5, views=seldom)
    with_cells = fit_population(views, np.random.default_rng(0)).basis
    without = fit_population(views[:1], np.random.default_rng(0)).basis
    assert np.linalg.norm(with_cells[5]) > 0.5
    assert np.linalg.norm(without[5]) < 0.2


def test_where_nothing_stands_clear_there_is_no_population(simulate):
    nobody = np.zeros((1, DIMENSION))
    assert fit_population(simulate(nobody, 10**3), np.random.default_rng(0)) is None


def test_in_few_dimensions_the_atoms_fill_the_ball(simulate):
    """Three groups 0.03 apart in the plane: far closer than the ball's own scale."""
    places = np.array([[0.5, 0.2], [0.53, 0.2], [0.5, 0.23]])
    views = simulate(places, 10**6, views=(Net(spread_points(128, 2, seed=0)),))
    cloud = fit_population(views, np.random.default_rng(0))
    assert cloud.misfit < EXPLAINED
    assert np.linalg.norm(cloud.weights @ cloud.inner - places.mean(axis=0)) < 0.02
    assert cloud.weights @ (np.linalg.norm(cloud.inner - places.mean(axis=0), axis=1) < 0.15) > 0.9


def test_what_is_missing_in_length_is_found_exactly():
    points, weights = np.array([[0.6, 0.0], [0.0, 0.3]]), np.array([0.4, 0.6])
    longer = np.sqrt(1 - (points**2).sum(axis=1) - 0.2)
    assert spread_beyond(points, weights, float(weights @ longer), 4) == pytest.approx(0.2 / 4, abs=1e-6)
    assert spread_beyond(points, weights, 1.0, 4) < 1e-6  # nobody is that short
    assert spread_beyond(points, weights, 0.5, 0) == 0


def test_a_pool_has_equal_parts_of_its_members(simulate, round_groups):
    views = simulate(round_groups(3, DIMENSION)[0], 10**5)
    members = [fit_population(views, np.random.default_rng(seed)) for seed in (0, 1)]
    pool = pooled(members)
    assert len(pool.inner) == sum(len(one.inner) for one in members)
    assert pool.weights[: len(members[0].inner)].sum() == pytest.approx(0.5)


def test_last_bits_of_the_rows_in_which_processors_differ_change_no_atom(simulate, round_groups):
    points, _ = round_groups(4, DIMENSION, spread=0.3)
    views = simulate(points, 10**6)
    bits = np.random.default_rng(1)
    nearly = [
        replace(view, vectors=view.vectors * (1 + 1e-15 * bits.standard_normal(view.vectors.shape)))
        for view in views
    ]
    one, other = (fit_population(some, np.random.default_rng(0)) for some in (views, nearly))
    np.testing.assert_array_equal(one.inner, other.inner)
    np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("dimension", [4, DIMENSION])
def test_atoms_do_not_hang_on_which_of_two_signs_an_eigenvector_has(
    monkeypatch, simulate, round_groups, dimension
):
    views = simulate(round_groups(3, dimension)[0], 10**5)
    usual = np.linalg.eigh
    one = fit_population(views, np.random.default_rng(0))
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: (usual(matrix)[0], -usual(matrix)[1]))
    other = fit_population(views, np.random.default_rng(0))
    np.testing.assert_array_equal(one.inner, other.inner)
