import math

import numpy as np
import pytest

from coterie.errors import PointError
from coterie.metrics import distances, nearest, normalized_objective, recovered

GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (50_000, 3, 4), (300, 100, 8)])
def test_nearest_agrees_with_the_definition(shape, dtype):
    n, d, k = shape
    points = (10 * GENERATOR.standard_normal((n, d))).astype(dtype)
    centers = 10 * GENERATOR.standard_normal((k, d))
    all_pairs = np.linalg.norm(points[:, None].astype(np.float64) - centers, axis=2)
    labels, squared = nearest(points, centers)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, all_pairs.argmin(axis=1))
    np.testing.assert_allclose(squared, all_pairs.min(axis=1) ** 2, rtol=1e-9)
    np.testing.assert_allclose(distances(points, centers), all_pairs, rtol=1e-5)
    assert normalized_objective(points, centers) == pytest.approx((all_pairs.min(axis=1) ** 2).mean())


def test_distances_do_not_drown_far_from_the_origin():
    far = np.array([[1e8, 1e8], [1e8 + 1, 1e8]])
    assert nearest(far, far)[0].tolist() == [0, 1]
    assert nearest(far, far[:1])[1].tolist() == [0, 1]


def test_transform_keeps_the_type_of_the_points():
    assert distances(np.zeros((2, 2), dtype=np.float32), np.ones((1, 2))).dtype == np.float32
    assert distances(np.zeros((2, 2), dtype=np.int8), np.ones((1, 2))).dtype == np.float64


def test_recovered_is_one_for_non_private_and_zero_for_one_center():
    assert recovered(0.1, one_center=0.9, non_private=0.1) == 1
    assert recovered(0.9, one_center=0.9, non_private=0.1) == 0
    assert recovered(1.3, one_center=0.9, non_private=0.1) < 0
    assert math.isnan(recovered(0.0, one_center=0.0, non_private=0.0))


@pytest.mark.parametrize(
    ("points", "centers"),
    [((3, 2), (2, 3)), ((3,), (2, 3)), ((3, 2), (2,)), ((3, 2), (0, 2)), ((0, 2), (1, 2))],
)
def test_shapes_that_do_not_fit_are_refused(points, centers):
    with pytest.raises(PointError, match=r"shapes \(n, d\)|no points"):
        nearest(np.zeros(points), np.zeros(centers))
