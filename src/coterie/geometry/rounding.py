"""Rounding of rotated vectors, so that the scores of codewords fit 24 bits.

    r = ⌊(y + 2^(h-1)) / 2^h⌋,   h = ⌈(3·log2 P - 5)/2⌉

‖y‖ ≤ P·2^20 (`coterie.geometry.rotation`), so Σ|y_j| ≤ P^1.5·2^20, and Σ|r_j| ≤ 2^22.5 + P/2 < 2^23.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rounding_shift(embedding: int) -> int:
    """Return h: rotated vectors of size P = `embedding` are divided by 2^h.

    Examples
    --------
    >>> rounding_shift(128), rounding_shift(256)
    (8, 10)
    """
    return -(-(3 * (embedding.bit_length() - 1) - 5) // 2)


def rounded(rotated: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return r in place of y: (n, P) -> (n, P).

    Examples
    --------
    >>> rounded(np.array([[128.0, 127.0, -128.0, -129.0] + 124 * [0.0]]))[0, :4].tolist()
    [1.0, 0.0, 0.0, -1.0]
    """
    shift = rounding_shift(rotated.shape[-1])
    # a sum below 2^53 and a power of two, so the doubles are exact
    rotated += 1 << (shift - 1)
    rotated *= 0.5**shift
    return np.floor(rotated, out=rotated)
