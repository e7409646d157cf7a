"""K-means on a population: what processors differ in does not grow."""

import numpy as np

from coterie.centers.answer import k_means

DIMENSION, FLAT, NARROW = 100, 8, 1e-6  # a middle rounded to a grid leaves a subspace by so much


def test_last_bits_of_points_that_hardly_leave_a_subspace_stay_last_bits():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((DIMENSION, FLAT + 1)))[0]
    wide = np.append(np.full(FLAT, 0.3), NARROW)
    points = rng.standard_normal((2000, FLAT + 1)) * wide @ basis.T
    nearly = points * (1 + 1e-16 * rng.standard_normal(points.shape))
    weights = np.full(len(points), 1 / len(points))
    one, other = (k_means(some, weights, 4, np.random.default_rng(1)) for some in (points, nearly))
    np.testing.assert_allclose(one.centers, other.centers, rtol=0, atol=1e-14)
