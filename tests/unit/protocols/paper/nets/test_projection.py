import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.protocols.paper.nets.projection import Projection


def test_columns_are_orthonormal_and_the_key_decides():
    first = Projection.from_key(bytes(16), 50, 6, 1.0)
    assert first.basis.T @ first.basis == pytest.approx(np.eye(6), abs=1e-12)
    assert not np.allclose(first.basis, Projection.from_key(b"k" * 16, 50, 6, 1.0).basis)


def test_a_full_projection_changes_nothing():
    points = np.array([[0.1, 0.2], [0.6, -0.8]])
    projected, outside = Projection.from_key(bytes(16), 2, 2, 1.0).apply(points)
    assert projected.tolist() == points.tolist()
    assert outside == 0


def test_points_that_fall_outside_go_to_zero_and_are_counted():
    projection = Projection(np.eye(3, 2), 2.0)
    projected, outside = projection.apply(np.array([[0.4, 0.0, 0.9], [0.6, 0.0, 0.0]]))
    assert projected.tolist() == [[0.8, 0.0], [0.0, 0.0]]
    assert outside == 1


def test_length_is_kept_on_average_up_to_the_scale():
    generator = np.random.default_rng(0)
    points = generator.standard_normal((4000, 100))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    scale = np.sqrt(100 / 6) / 2  # Λ = √(d/d')/c with c = 2
    projected, outside = Projection.from_key(bytes(16), 100, 6, scale).apply(points)
    assert np.mean(np.sum(projected**2, axis=1)) == pytest.approx(0.25, rel=0.05)
    assert outside < 20


def test_refuses_more_dimensions_than_there_are():
    with pytest.raises(PlanError, match="between 1 and 3 dimensions"):
        Projection.from_key(bytes(16), 3, 4, 1.0)
