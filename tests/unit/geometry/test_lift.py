import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.geometry.ball import SCALE, SCALE_SQUARED, quantize
from coterie.geometry.lift import lift, point_weight


@given(
    st.integers(0, SCALE),
    st.lists(st.lists(st.floats(-2, 2), min_size=4, max_size=4), min_size=1, max_size=8),
)
def test_lifted_vectors_have_unit_length_from_below(count_weight, points):
    quantized, _ = quantize(np.array(points), None, 1.0)
    lifted = lift(quantized, count_weight)
    for row in lifted:
        squares = sum(int(value) ** 2 for value in row)
        assert SCALE_SQUARED - (1 << 22) < squares <= SCALE_SQUARED
    assert (lifted[:, 4] == count_weight).all()
    assert (np.abs(lifted[:, :4] - quantized * point_weight(count_weight)) < 1).all()


def test_the_extremes_of_the_count_weight():
    quantized = np.array([[SCALE, 0.0], [0.0, 0.0]])
    assert lift(quantized, 0).tolist() == [[SCALE, 0, 0, 0], [0, 0, 0, SCALE]]
    assert lift(quantized, SCALE).tolist() == [[0, 0, SCALE, 0], [0, 0, SCALE, 0]]
