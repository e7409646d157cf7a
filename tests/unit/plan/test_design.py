import numpy as np
import pytest

from coterie.plan import Plan
from coterie.plan.design import choose_embedding
from coterie.plan.net import spread_points
from coterie.plan.views import CrossPolytope, Net
from coterie.privacy import largest_odds


def design(dimension=100, epsilon=1.0, clusters=8, expected_users=10**6, **changes):
    return Plan.design(dimension, clusters, epsilon, expected_users, **changes).numbers


@pytest.mark.parametrize(("epsilon", "cap"), [(0.5, 108), (1.0, 89), (2.0, 55), (4.0, 17), (6.0, 4)])
def test_the_cap_is_the_best_one(epsilon, cap):
    numbers = design(epsilon=epsilon)
    assert (numbers.codewords, numbers.cap, numbers.odds) == (256, cap, largest_odds(epsilon))


@pytest.mark.parametrize(
    ("dimension", "epsilon", "embedding"),
    [
        (1, 1.0, 128),
        (100, 1.0, 128),
        (101, 1.0, 256),  # 1.25·103 > 128
        (3000, 1.0, 4096),
        (100, 6.0, 128),
        (100, 6.5, 512),
        (20, 8.0, 128),
        (3000, 8.0, 4096),
    ],
)
def test_the_embedding(dimension, epsilon, embedding):
    assert choose_embedding(dimension, epsilon) == embedding


def test_every_allowed_epsilon_and_dimension_has_a_plan():
    for epsilon in (1e-7, 0.01, 7.9, 16.0):
        assert design(epsilon=epsilon).odds == largest_odds(epsilon)
    for dimension in (17, 3000):
        assert isinstance(design(dimension=dimension).views[0], CrossPolytope)


@pytest.mark.parametrize("dimension", [1, 2, 8, 16])
def test_low_dimensions_get_a_net_inside_the_ball(dimension):
    (net,) = design(dimension=dimension).views
    assert isinstance(net, Net)
    points = np.array(net.points)
    assert points.shape == (128 if dimension <= 3 else 256, dimension)
    assert (np.square(points).sum(axis=1) <= 2**40).all()
    assert len(np.unique(points, axis=0)) == len(points)


def test_a_net_is_spread_and_depends_on_the_seed_alone():
    points = spread_points(256, dimension=2, seed=5)
    assert points == spread_points(256, dimension=2, seed=5)
    assert points != spread_points(256, dimension=2, seed=6)
    net = np.array(points) / 2**20
    angle, length = np.random.default_rng(0).uniform(size=(2, 20_000))
    people = np.sqrt(length)[:, None] * np.stack(
        [np.cos(2 * np.pi * angle), np.sin(2 * np.pi * angle)], axis=1
    )
    nearest = np.sqrt(np.square(people[:, None] - net).sum(axis=2).min(axis=1))
    # 256 cells of area π/256 each: a disc of that area has radius 1/16.
    assert nearest.max() < 3 / 16
    assert np.sqrt(np.mean(nearest**2)) < 1 / 16


def test_quiet_studies_get_a_second_view_and_noisy_ones_more_cells():
    quiet = design(dimension=100, clusters=8, expected_users=10**6).views
    assert [(view.cells, view.weight) for view in quiet] == [(128, 3), (256, 1)]
    many = design(dimension=64, clusters=10, expected_users=10**6).views
    assert [(view.cells, view.weight) for view in many] == [(64, 5), (256, 3)]
    louder = design(dimension=100, clusters=16, expected_users=10**6).views
    assert [(view.cells, view.weight) for view in louder] == [(256, 1), (512, 1)]
    noisy = design(dimension=100, clusters=32, expected_users=10**6).views
    assert [(view.cells, view.weight) for view in noisy] == [(512, 1)]


def test_tables_stay_small_in_any_dimension():
    assert design(dimension=3000, clusters=100, expected_users=10**9).rows <= 2048
