"""The lift: a point of the ball becomes a unit vector that also counts.

    w = (a·q, b, √(2^40 - Σ(a·q_i)² - b²)),   a = √(2^40 - b²) / 2^20,   all over 2^20

The coordinate b is the same for everyone, so one vector sum over a cell yields its count besides its sum of
points; the last coordinate makes the length 1, which is what the randomizer's fixed gain needs. Components
are integers, rounded towards zero, so Σ w_i² ≤ 2^40 holds exactly.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE, SCALE_SQUARED

EXTRA_COORDINATES: Final = 2  # a count and a filler: D = d + 2


def point_weight(count_weight: int) -> float:
    """Return a, the factor of the point's own coordinates, for b = `count_weight` in 0..2^20.

    Examples
    --------
    >>> point_weight(0)
    1.0
    """
    return math.sqrt(SCALE_SQUARED - count_weight * count_weight) / SCALE


def lift(quantized: NDArray[np.float64], count_weight: int) -> NDArray[np.float64]:
    """Lift quantized points to unit vectors in d + 2 dimensions.

    Parameters
    ----------
    quantized : ndarray of float64, shape (n, d)
        Integers with squared row sums at most 2^40 (`coterie.geometry.ball.quantize`).
    count_weight : int
        b, the counting coordinate, in 0..2^20.

    Returns
    -------
    ndarray of float64, shape (n, d + 2)
        Integers with squared row sums at most 2^40, and short of it by less than 2^22.

    Examples
    --------
    >>> lift(np.array([[524288.0, 0.0]]), count_weight=419430).astype(int).tolist()
    [[480517, 0, 419430, 832282]]
    """
    people, dimension = quantized.shape
    lifted = np.empty((people, dimension + 2))
    body = lifted[:, :dimension]
    np.multiply(quantized, point_weight(count_weight), out=body)
    np.trunc(body, out=body)
    lifted[:, dimension] = count_weight
    used = np.einsum("ij,ij->i", body, body) + count_weight * count_weight
    lifted[:, dimension + 1] = np.floor(np.sqrt(SCALE_SQUARED - used))  # exact below 2^52
    return lifted
