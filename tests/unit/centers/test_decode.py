"""Decoding whole tables: exact cases, hopeless cases, and what the result says."""

import json

import numpy as np
import pytest

from coterie import Aggregate, Client, Plan, decode
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import play
from coterie.errors import DecodeError
from coterie.metrics import normalized_objective


def decoded(points, clusters, epsilon, seed=0, **design):
    plan = Plan.design(
        dimension=points.shape[1],
        clusters=clusters,
        epsilon=epsilon,
        expected_users=len(points),
        seed=seed,
        **design,
    )
    return decode(play(plan, points, SimulationCoins(seed)), random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "epsilon", "at_most"), [(2, 1.0, 0.03), (12, 2.0, 0.06), (40, 4.0, 0.04)]
)
def test_clear_groups_are_found(dimension, epsilon, at_most):
    points, _, _ = gaussian_mixture(30_000, dimension, 3, separation=10, random_state=5)
    result = decoded(points, 3, epsilon)
    assert normalized_objective(points, result.centers) < at_most
    assert result.supported == 3
    assert result.notes == ()
    np.testing.assert_allclose(result.weights, 1 / 3, atol=0.2)


@pytest.mark.slow
def test_stated_errors_are_about_right():
    points, true_centers, _ = gaussian_mixture(60_000, 60, 4, separation=50, random_state=6)
    result = decoded(points, 4, 2.0)
    assert len(true_centers) == 4
    labels = ((points[:, None] - result.centers) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([points[labels == number].mean(axis=0) for number in range(4)])
    distances = np.linalg.norm(result.centers - means, axis=1)  # of the people nearest to each center
    assert (distances <= 1.3 * result.errors).all()
    assert result.errors.max() < 3 * distances.max()


@pytest.mark.slow
def test_results_live_in_the_plans_coordinates():
    points, _, _ = gaussian_mixture(20_000, 2, 2, separation=10, random_state=7)
    center, radius = np.array([100.0, -50.0]), 20.0
    here = decoded(points, 2, 4.0)
    there = decoded(points * radius + center, 2, 4.0, center=center, radius=radius)
    # Another plan has another id and other coins, so only about the same.
    order = [
        int(np.linalg.norm(there.centers - (c * radius + center), axis=1).argmin()) for c in here.centers
    ]
    np.testing.assert_allclose(there.centers[order], here.centers * radius + center, atol=0.15 * radius)
    assert there.errors.max() < 0.2 * radius
    np.testing.assert_allclose(there.population.points.mean(axis=0), center, atol=radius)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 10, 40])
def test_never_much_worse_than_one_center(dimension):
    """Too few reports for any cluster: the result is about the ball's center, and says so."""
    points = np.random.default_rng(8).normal(size=(500, dimension))
    points *= 0.6 / np.linalg.norm(points, axis=1, keepdims=True)
    for seed in range(4):
        result = decoded(points, 5, 0.3, seed=seed)
        one_center = normalized_objective(points, points.mean(axis=0, keepdims=True))
        assert normalized_objective(points, result.centers) < 1.15 * one_center
        assert result.centers.shape == (5, dimension)


@pytest.mark.parametrize("dimension", [1, 2, 10, 40])
def test_noise_supports_no_centers(dimension):
    points = np.random.default_rng(8).normal(size=(500, dimension))
    points *= 0.6 / np.linalg.norm(points, axis=1, keepdims=True)
    result = decoded(points, 5, 0.3)
    assert result.supported <= 1
    if not result.supported:  # then it is one group, and says so
        assert "tell no groups apart" in result.notes[0] or "not stand clear" in " ".join(result.notes)


@pytest.mark.slow
def test_centers_beyond_the_one_group_of_people_are_named_or_unsupported():
    points = np.tile([[0.3, -0.4, 0.2] + [0.0] * 20], (20_000, 1))
    result = decoded(points, 4, 2.0)
    assert result.supported <= 1 or any("may be" in note for note in result.notes)
    assert np.linalg.norm(result.centers - points[0], axis=1).min() < 0.3


@pytest.mark.slow
def test_one_cluster_is_the_mean():
    points, _, _ = gaussian_mixture(20_000, 30, 1, separation=5, random_state=9)
    result = decoded(points, 1, 2.0)
    assert np.linalg.norm(result.centers[0] - points.mean(axis=0)) < 0.25


@pytest.mark.slow
def test_more_clusters_than_leaves():
    points = np.tile([[0.5, 0.5]], (5_000, 1))
    result = decoded(points, 6, 4.0)  # everybody in one place
    assert result.centers.shape == (6, 2)
    assert np.isfinite(result.centers).all()
    assert result.weights.sum() == pytest.approx(1)
    assert len(result.notes) <= 5


@pytest.mark.slow
def test_the_same_table_and_seed_give_the_same_result():
    points, _, _ = gaussian_mixture(5_000, 8, 3, separation=10, random_state=1)
    plan = Plan.design(dimension=8, clusters=3, epsilon=2.0, expected_users=5_000)
    table = play(plan, points, SimulationCoins(0))
    first, second = decode(table, random_state=4), decode(table, random_state=4)
    assert json.dumps(first.to_dict()) == json.dumps(second.to_dict())
    assert first.plan_id == plan.id
    assert first.count == 5_000


def test_few_reports_are_said():
    plan = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=10_000)
    table = Aggregate(plan)
    table.add(Client(plan).encode_many(np.zeros((100, 3))))
    assert any("designed for 10000 reports and 100 came" in note for note in decode(table).notes)


def test_what_cannot_be_decoded():
    plan = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=100)
    with pytest.raises(DecodeError, match="the aggregate is empty"):
        decode(Aggregate(plan))
    with pytest.raises(DecodeError, match="needs an Aggregate, got Plan"):
        decode(plan)
