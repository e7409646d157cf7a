import math

import numpy as np
import pytest

from coterie.datasets import digits, gaussian_mixture, mean_norm
from coterie.errors import PlanError, PointError


def test_the_mixture_is_the_papers():
    points, true_centers, labels = gaussian_mixture(8003, 100, 8, separation=8, random_state=0)
    assert points.shape == (8003, 100)
    assert points.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(true_centers, axis=1), 1 - 1 / 8)
    assert np.bincount(labels).tolist() == [1001, 1001, 1001, 1000, 1000, 1000, 1000, 1000]
    assert np.linalg.norm(points, axis=1).max() <= 1 + 1e-12


def test_clouds_have_the_expected_radius_exactly():
    # The cloud around one center, in the half that faces the origin: projection does not touch it.
    points, true_centers, labels = gaussian_mixture(40_000, 20, 1, separation=100, random_state=3)
    offsets = points - true_centers[labels]
    norms = 100 * np.linalg.norm(offsets[offsets @ true_centers[0] < 0], axis=1)
    deviations = abs(norms.mean() - 1) / (norms.std() / math.sqrt(len(norms)))
    assert deviations < 6
    assert abs(norms.mean() - mean_norm(20) / math.sqrt(20)) > 6 * norms.std() / math.sqrt(len(norms))


def test_mean_norm_is_the_chi_distributions():
    generator = np.random.default_rng(0)
    for dimension in (1, 3, 50):
        sample = np.linalg.norm(generator.standard_normal((200_000, dimension)), axis=1)
        assert abs(sample.mean() - mean_norm(dimension)) < 6 * sample.std() / math.sqrt(len(sample))
        wrong = math.sqrt(dimension)
        assert abs(sample.mean() - wrong) > 6 * sample.std() / math.sqrt(len(sample))


def test_the_mixture_repeats_with_its_seed_and_in_float32():
    first, _, _ = gaussian_mixture(100, 5, 3, 4, random_state=7)
    again, _, _ = gaussian_mixture(100, 5, 3, 4, random_state=7, dtype=np.float32)
    other, _, _ = gaussian_mixture(100, 5, 3, 4, random_state=8)
    assert again.dtype == np.float32
    np.testing.assert_allclose(first, again, atol=1e-6)
    assert not np.allclose(first, other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 2}, r"n must be in \[3,"),
        ({"dimension": 0}, "dimension must be in"),
        ({"clusters": 0}, "clusters must be in"),
        ({"separation": 0.5}, "separation must be in"),
        ({"separation": math.nan}, "separation must be in"),
    ],
)
def test_impossible_mixtures_are_refused(change, message):
    with pytest.raises(PlanError, match=message):
        gaussian_mixture(**{"n": 10, "dimension": 2, "clusters": 3, "separation": 4.0, **change})


def test_integer_mixtures_are_refused():
    with pytest.raises(PointError, match="float32 or float64"):
        gaussian_mixture(10, 2, 3, 4, dtype=np.int64)


def test_the_digits_come_without_a_network():
    assert digits()[0].shape == (1797, 64)
    assert digits()[1].max() == 9
