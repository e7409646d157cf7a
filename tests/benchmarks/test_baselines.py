import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.baselines import central, in_the_open, interactive, noisy_points, sums
from benchmarks.baselines.calibration import gaussian_deviation
from benchmarks.baselines.privunit import PrivUnit
from benchmarks.reproduction.methods import available_methods
from coterie.datasets import gaussian_mixture
from coterie.errors import MissingExtraError
from coterie.metrics import normalized_objective

DEVIATIONS = 5.0


@pytest.fixture(scope="module")
def data():
    return gaussian_mixture(20_000, 20, 4, 30, random_state=0)


@pytest.fixture
def generator():
    return np.random.default_rng(1)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_gaussian_noise_is_the_smallest_that_is_private(epsilon):
    def delta(deviation, sensitivity=2.0):
        a, b = sensitivity / (2 * deviation), epsilon * deviation / sensitivity
        return norm.cdf(a - b) - np.exp(epsilon) * norm.cdf(-a - b)

    found = gaussian_deviation(epsilon, 1e-6, 2.0)
    assert delta(found) <= 1e-6 * (1 + 1e-6)
    assert delta(0.99 * found) > 1e-6


def test_k_means_in_the_open_beats_one_center(data):
    points = data[0]
    one = normalized_objective(points, in_the_open.one_center(points))
    assert normalized_objective(points, in_the_open.k_means(points, 4, seed=0)) < 0.01 * one


@pytest.mark.parametrize("method", [noisy_points.gaussian, noisy_points.laplace, noisy_points.privunit])
def test_noisy_points_find_nothing_at_a_small_epsilon_and_something_at_a_huge_one(method, data, generator):
    points = data[0]
    one = normalized_objective(points, in_the_open.one_center(points))
    small, huge = (
        method(points, 4, 0.5, generator),
        method(points, 4, 30.0 if method is noisy_points.privunit else 200.0, generator),
    )
    assert np.linalg.norm(small, axis=1).max() <= 1 + 1e-9
    assert normalized_objective(points, small) > 0.9 * one
    assert normalized_objective(points, huge) < 0.6 * one


def test_local_sums_have_privunit_s_noise(generator):
    points, labels = np.zeros((900, 6)), np.arange(900) % 3
    found = [sums.local_sums(points, labels, 3, 2.0, generator, count_share=0.0) for _ in range(300)]
    squares = np.array([(vectors**2).mean() for vectors, _ in found])
    law = 900 / 7 / PrivUnit.best(7, 2.0).gain ** 2
    error = squares.std(ddof=1) / 300**0.5
    assert abs(squares.mean() - law) < DEVIATIONS * error
    assert abs(squares.mean() - 0.9**2 * law) > DEVIATIONS * error
    assert abs(squares.mean() - 1.1**2 * law) > DEVIATIONS * error
    assert all((counts == 300).all() for _, counts in found)


def test_known_partition_is_better_than_anything_that_must_find_it(data, generator):
    points, _, labels = data
    bound = normalized_objective(points, sums.known_partition(points, labels, 4, 4.0, generator))
    rounds = normalized_objective(points, interactive.lloyd_in_rounds(points, 4, 4.0, generator))
    assert bound < rounds


@pytest.mark.parametrize("split", ["budget", "users"])
def test_interaction_gains_over_one_center(split, data, generator):
    points = data[0]
    centers = interactive.lloyd_in_rounds(points, 4, 8.0, generator, split=split)
    assert normalized_objective(points, centers) < 0.9 * normalized_objective(
        points, in_the_open.one_center(points)
    )


def test_a_curator_s_tree_is_nearly_as_good_as_no_privacy(data, generator):
    points = data[0]
    centers = central.central_tree(points, 4, 1.0, generator)
    assert centers.shape == (4, 20)
    one = normalized_objective(points, in_the_open.one_center(points))
    assert normalized_objective(points, centers) < 0.5 * one


def test_a_curator_s_tree_gives_k_centers_of_few_people(generator):
    assert central.central_tree(np.zeros((9, 3)), 5, 1.0, generator).shape == (5, 3)


def test_the_peer_works_or_says_what_is_missing(data, generator):
    if "central-diffprivlib" in available_methods():
        assert central.diffprivlib_k_means(data[0], 4, 1.0, generator).shape == (4, 20)
    else:
        with pytest.raises(MissingExtraError, match=r"coterie\[peers\]"):
            central.diffprivlib_k_means(data[0], 4, 1.0, generator)
