import math
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coterie.errors import PointError
from coterie.geometry.ball import SCALE, SCALE_SQUARED, as_points, quantize

COORDINATES = (
    st.floats(-3, 3) | st.floats(-1e30, 1e30) | st.sampled_from([0.0, 1.0, -1.0, math.nextafter(1, 2)])
)


@pytest.mark.slow
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=COORDINATES))
def test_every_point_lands_on_the_grid_inside_the_ball(points):
    quantized, clipped = quantize(points, None, 1.0)
    assert (quantized == np.floor(quantized)).all()
    squares = [sum(int(value) ** 2 for value in row) for row in quantized]
    assert max(squares) <= SCALE_SQUARED
    norms = np.linalg.norm(points, axis=1)
    assert np.count_nonzero(norms > 1.001) <= clipped <= np.count_nonzero(norms > 1)
    # Inside the ball a coordinate moves by half a step; outside, the direction stays.
    inside = norms < 0.999
    assert np.abs(quantized[inside] / SCALE - points[inside]).max(initial=0) <= 0.5 / SCALE
    far = norms > 1
    unit = points[far] / norms[far, None]
    assert np.abs(quantized[far] / SCALE - unit).max(initial=0) <= 3 / SCALE


def test_center_and_radius_shift_and_scale():
    points = np.array([[3.0, -1.0], [5.0, 5.0]])
    quantized, clipped = quantize(points, (3.0, 1.0), 4.0)
    assert quantized[0].tolist() == [0, -SCALE / 2]
    assert clipped == 1
    assert points.tolist() == [[3.0, -1.0], [5.0, 5.0]]  # the caller's array is left alone


def test_rounding_is_half_up():
    quantized, _ = quantize(np.array([[0.5, -0.5, 1.5, -1.5]]) / SCALE, None, 1.0)
    assert quantized.tolist() == [[1, 0, 2, -1]]


def test_points_on_the_sphere_are_not_counted_as_clipped():
    points = np.random.default_rng(0).normal(size=(2000, 50))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    assert quantize(points * (1 - 1e-12), None, 1.0)[1] == 0
    assert quantize(points * 1.0001, None, 1.0)[1] == 2000


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_coordinates_are_refused_without_quoting_them(value):
    with pytest.raises(PointError, match="NaN or infinite") as caught:
        quantize(np.array([[0.123, value]]), None, 1.0)
    assert "0.123" not in str(caught.value)


@pytest.mark.parametrize("value", [1e-320, 3.9, 4.1, 1e10, 1.7e308])
@pytest.mark.parametrize(
    ("center", "radius"),
    [
        (None, 1.0),
        (None, 1e-10),
        (None, sys.float_info.min),
        ((-1.7e308, 1.7e308), 1.0),
        ((-1.7e308, 0.5), 1e-300),
        ((1.7e308, -1.7e308), 1.7e308),
    ],
)
def test_no_ball_makes_a_finite_point_refused(value, center, radius):
    # A refusal that depends on the value would tell it to whoever chose the ball.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quantized, _ = quantize(np.array([[value, -value]]), center, radius)
    assert (quantized == np.floor(quantized)).all()
    assert (quantized**2).sum() <= SCALE_SQUARED


def test_points_that_overflow_keep_their_signs():
    far = math.trunc(SCALE / math.sqrt(2))
    for points, center, radius in (
        ([[1.7e308, -1.7e308]], None, 1.0),
        ([[1e308, -1e300]], None, 1e-10),
        ([[1e308, -1e308]], (-1e308, 1e308), 1.0),
    ):
        quantized, clipped = quantize(np.array(points), center, radius)
        assert quantized.tolist() == [[far, -far]]
        assert clipped == 1


def test_one_point_that_overflows_leaves_the_others_alone():
    points = np.array([[0.25e-10, 0.0], [1e308, 0.0], [3e-10, 4e-10]])
    together, clipped = quantize(points, None, 1e-10)
    alone = [quantize(point[None], None, 1e-10)[0][0].tolist() for point in points]
    assert together.tolist() == alone
    assert clipped == 2


def test_no_points_are_fine():
    quantized, clipped = quantize(np.empty((0, 3)), None, 1.0)
    assert quantized.shape == (0, 3)
    assert clipped == 0


@pytest.mark.parametrize(
    ("points", "match"),
    [
        ([[1.0, 2.0, 3.0]], r"shape \(n, 2\)"),
        ([1.0, 2.0], r"shape \(n, 2\)"),
        ([[1.0, 2.0], [1.0]], "unequal length"),
        ([["a", "b"]], r"real numbers .*, got str$"),  # and not how long the texts are
        ([[True, False]], "real numbers"),
        ([[1j, 0]], "real numbers"),
        (np.zeros((1, 2), dtype=np.longdouble), "real numbers"),
    ],
)
def test_bad_shapes_and_types(points, match):
    with pytest.raises(PointError, match=match):
        as_points(points, 2)
