"""The decoder of cells alone: what settling, swapping and the subspace are needed for."""

from dataclasses import replace

import numpy as np

from coterie import Plan, decode
from coterie.centers.tight import cells as module
from coterie.centers.tight.settle import Problem
from coterie.centers.tight.solve import solve
from coterie.centers.tight.subspace import signal_subspace
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import play
from coterie.metrics import normalized_objective
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
    sums = noise * np.random.default_rng(seed).normal(size=(cells, DIMENSION + 2))
    np.add.at(sums, where, np.asarray(shares)[:, None] * LIFT.of(places))
    return CellSums(sums, noise**2, 1000)


def errors(solved, places):
    return np.linalg.norm(places[:, None] - solved[0].centers, axis=2).min(axis=1)


def rng():
    return np.random.default_rng(0)


def test_settling_takes_a_shared_cell_apart(monkeypatch):
    """Two clusters in one cell of the first view: k-means puts the cell with one, settling divides it."""
    monkeypatch.setattr(Problem, "swap", lambda self, state, kept, points: state)
    places, shares = random_points(3, 0.9), [0.4, 0.35, 0.25]
    views = [view(places, shares, 16, [4, 4, 9], 0.003, 1), view(places, shares, 32, [1, 20, 30], 0.003, 2)]
    assert errors(solve(views, None, LIFT, 3, rng()), places).max() < 0.15
    monkeypatch.setattr(Problem, "settle", lambda self, state, rounds=0: state)
    assert errors(solve(views, None, LIFT, 3, rng()), places).max() > 0.3


def test_swapping_finds_the_cluster_that_k_means_took_for_another(monkeypatch):
    """Five clusters, of which three pairs share cells: k-means on the cells misses one."""
    places, shares = random_points(5, 0.9), [0.3, 0.25, 0.2, 0.15, 0.1]
    views = [
        view(places, shares, 16, [4, 4, 9, 9, 2], 0.002, 1),
        view(places, shares, 32, [1, 20, 30, 7, 20], 0.002, 2),
    ]
    assert errors(solve(views, None, LIFT, 5, rng()), places).max() < 0.4
    monkeypatch.setattr(Problem, "swap", lambda self, state, kept, points: state)
    assert errors(solve(views, None, LIFT, 5, rng()), places).max() > 0.8


def test_the_subspace_takes_most_of_the_noise_out():
    squares = []
    for seed in range(10):
        places = random_points(3, 0.8, seed)
        lifted = LIFT.of(places)
        wrong = 0.002 * np.random.default_rng(seed).normal(size=(DIMENSION + 2, DIMENSION + 2))
        moment = SecondMoment(lifted.T @ lifted / 3 + (wrong + wrong.T) / np.sqrt(2), 0.002)
        views = [view(places, [1 / 3] * 3, 16, [1, 5, 9], 0.02, seed)]
        squares.append(
            [
                (errors(solve(views, known, LIFT, 3, rng()), places) ** 2).mean()
                for known in (signal_subspace(moment, DIMENSION), None)
            ]
        )
    with_it, without = np.mean(squares, axis=0)
    assert with_it < 0.5 * without


def test_groups_that_noise_explains_do_not_stand_clear():
    places = random_points(1, 0.8)
    views = [view(places, [1.0], 16, [3], 0.02, 1), view(places, [1.0], 32, [20], 0.02, 2)]
    answer, clear = solve(views, None, LIFT, 4, rng())
    assert 0 < clear.sum() < 4
    assert np.linalg.norm(answer.centers[clear] - places[0], axis=1).min() < 0.3


def test_a_tight_plan_of_a_noisy_study_is_decoded_by_it(monkeypatch):
    points, _, _ = gaussian_mixture(30_000, 40, 4, separation=100, random_state=1)
    plan = Plan.design(40, 4, 1.0, 30_000, shape="tight")
    asked = []
    monkeypatch.setattr(module, "solve", lambda *known, **more: asked.append(1) or solve(*known, **more))
    result = decode(play(plan, points, SimulationCoins(0)), random_state=0)
    assert len(asked) > 1  # found, and found again
    assert result.coverage == 0.9
    one = normalized_objective(points, points.mean(axis=0, keepdims=True))
    assert normalized_objective(points, result.centers) < 0.7 * one
    assert result.population.points.shape[1] == 40


def test_a_tight_plan_without_half_of_its_groups_clear_is_one_group():
    """No rows are left out there that could judge: what does not stand clear by itself is not believed."""
    broad = np.random.default_rng(3).normal(size=(20_000, 40)) * 0.5 / np.sqrt(40)
    plan = Plan.design(40, 8, 0.5, 20_000, shape="tight")
    result = decode(play(plan, broad, SimulationCoins(0)), random_state=0)
    assert result.supported == 0
    assert (result.centers == result.centers[0]).all()
    assert result.weights.tolist() == [1.0] + [0.0] * 7


def test_views_say_how_large_a_cluster_is_by_how_many_people_they_have():
    places = random_points(2, 0.9)
    few, many = (
        view(places, [0.5, 0.5], 16, [4, 9], 0.003, 1),
        view(places, [0.8, 0.2], 32, [1, 20], 0.003, 2),
    )
    answer, _ = solve([few, replace(many, people=4 * few.people)], None, LIFT, 2, rng())
    nearest = np.linalg.norm(places[:, None] - answer.centers, axis=2).argmin(axis=1)
    np.testing.assert_allclose(answer.shares[nearest], [0.74, 0.26], atol=0.02)
