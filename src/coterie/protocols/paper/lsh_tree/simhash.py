"""SimHash (Charikar 2002): public hyperplanes through the ball's center, and on which sides a point lies.

    g_i(x) = 1 if ⟨v_i, x⟩ < 0, else 0,  v_i normal        Pr[g_i(x) ≠ g_i(y)] = angle(x, y)/π

The code of x at level i is g_1(x)…g_i(x), read as a binary number with g_1 the most significant bit: so the
parent of a code is the code halved, and the codes of all levels form one binary tree. (The paper's text has
g_T where g_i is meant: docs/theory/errata.md.)

Normals are integers of scale 2^12, so that every sum stays an exact integer below 2^53.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.public_bytes import public_bytes
from coterie.protocols.base import numbers_of_bits

_SCALE: Final = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class SimHash:
    """T hyperplanes.

    Examples
    --------
    >>> hashes = SimHash.from_key(bytes(16), dimension=3, levels=4)
    >>> x = np.array([[5.0, 1.0, 0.0]])
    >>> int(hashes.codes(x)[0]) + int(hashes.codes(-x)[0])  # the opposite point has all bits flipped
    15
    """

    normals: NDArray[np.float64]  # (d, T), integers

    @classmethod
    def from_key(cls, key: bytes, dimension: int, levels: int) -> Self:
        """Draw the hyperplanes from a 16-byte key: one big-endian 32-bit word a coordinate."""
        words = public_bytes(key, 4 * dimension * levels).view(">u4").tolist()
        deviate = NormalDist(sigma=_SCALE).inv_cdf
        normals = np.rint([deviate((word + 0.5) / 2**32) for word in words])
        return cls(np.ascontiguousarray(normals.reshape(levels, dimension).T))

    def codes(self, quantized: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the code of the deepest level: (n, d) integers -> (n,); `code >> (T - i)` is level i's."""
        return numbers_of_bits(quantized @ self.normals < 0)
