"""The fast Walsh-Hadamard transform, unnormalised, in natural order.

    y_i = Σ_j (-1)^popcount(i & j) · u_j

It is its own inverse up to the factor S (the size). A transform of size a·b is a transform of size a along
one axis and of size b along the other, so large sizes become a few products with small ±1 matrices, which
BLAS does faster than numpy does butterflies. With integer input every product is exact as long as
S·max|u| < 2^53.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

_BLOCK: Final = 64  # largest factor done as one product


def is_power_of_two(value: int) -> bool:
    """Return whether `value` is one of 1, 2, 4, 8, and so on."""
    return value > 0 and value & (value - 1) == 0


@lru_cache(maxsize=16)
def hadamard_matrix(size: int) -> NDArray[np.float64]:
    """Return the (S, S) matrix of signs (-1)^popcount(i & j), read-only.

    Examples
    --------
    >>> hadamard_matrix(2).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    if not is_power_of_two(size):
        raise ValueError(f"a Hadamard matrix here has a power of two as its size, got {size}")
    index = np.arange(size, dtype=np.uint32)
    signs: NDArray[np.float64] = 1.0 - 2.0 * (np.bitwise_count(index[:, None] & index[None, :]) & 1)
    signs.flags.writeable = False
    return signs


def fwht(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Transform along the last axis; the input is left alone.

    Parameters
    ----------
    values : ndarray of float64, shape (..., S)
        S a power of two.

    Returns
    -------
    ndarray of float64, shape (..., S)

    Examples
    --------
    >>> fwht(np.array([1.0, 0.0, 0.0, 2.0])).tolist()
    [3.0, -1.0, -1.0, 3.0]
    """
    size = values.shape[-1]
    if not is_power_of_two(size):
        raise ValueError(f"the transform needs a power of two along the last axis, got {size}")
    if size <= _BLOCK:
        return values @ hadamard_matrix(size)
    # Index i = high·_BLOCK + low: transform the low part, then the high part, by the same rule.
    blocks = values.reshape(*values.shape[:-1], size // _BLOCK, _BLOCK) @ hadamard_matrix(_BLOCK)
    high = fwht(np.ascontiguousarray(np.swapaxes(blocks, -1, -2)))  # (..., _BLOCK, size // _BLOCK)
    return np.ascontiguousarray(np.swapaxes(high, -1, -2)).reshape(values.shape)
