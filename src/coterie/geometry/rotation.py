"""Public pseudo-random rotations: two rounds of signs and Walsh-Hadamard transforms.

    rotate(u) = H · S₂ · H · S₁ · (u padded with zeros to size S)

H is the unnormalised transform, so rotate() multiplies lengths by exactly S and maps integers to integers:
|y_i| ≤ S·‖u‖, exact in float64 for everything this package rotates. The signs are the first 2S bits of an
AES-128 stream under the rotation's own key (bit 1 means -1), so a rotation is a few bytes of the plan and
the same in every language. Two rounds, because after one a vector with few non-zero coordinates still has
coordinates that are all alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.hadamard import fwht, is_power_of_two
from coterie.geometry.public_bytes import public_bytes

_MATRIX_LIMIT: Final = 1 << 16  # entries of a rotation's matrix up to which one product is the faster way


@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    """A rotation of size S times the factor S.

    Examples
    --------
    >>> rotation = Rotation.from_key(bytes(16), size=128)
    >>> turned = rotation.apply(np.array([[3.0, 4.0]]))
    >>> turned.shape, float(np.linalg.norm(turned))
    ((1, 128), 640.0)
    """

    first: NDArray[np.float64]  # S₁, (S,) of ±1; or (n, S), a rotation for each of n vectors
    second: NDArray[np.float64]  # S₂, of the same shape

    @classmethod
    def from_key(cls, key: bytes, size: int) -> Self:
        """Expand a 16-byte key: block j of the stream is AES-128(key, j as 16 bytes, big-endian)."""
        if not is_power_of_two(size):
            raise ValueError(f"a rotation's size is a power of two, got {size}")
        signs = 1.0 - 2.0 * np.unpackbits(public_bytes(key, -(-2 * size // 8))).astype(np.float64)
        return cls(signs[:size].copy(), signs[size : 2 * size].copy())

    @property
    def size(self) -> int:
        """S, the number of coordinates after rotating."""
        return int(self.first.shape[-1])

    def apply(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rotate the last axis.

        Parameters
        ----------
        vectors : ndarray of float64, shape (..., D)
            D at most S; padded with zeros.

        Returns
        -------
        ndarray of float64, shape (..., S)
            Exact integers where `vectors` are integers.
        """
        padded = np.zeros((*vectors.shape[:-1], self.size))
        padded[..., : vectors.shape[-1]] = vectors * self.first[..., : vectors.shape[-1]]
        return fwht(fwht(padded) * self.second)

    def matrix(self, columns: int) -> NDArray[np.float64]:
        """Return the first `columns` columns as a matrix, shape (S, columns), of integers.

        `matrix(D) @ u` equals `apply(u)` for D-dimensional u; `matrix(D) / S` has orthonormal columns.
        """
        return np.ascontiguousarray(self.apply(np.eye(columns, self.size)).T)

    def for_width(
        self, columns: int, kept: int | None = None
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return `apply` for many vectors of one width, (n, columns) -> (n, kept), by the faster way.

        Of the S coordinates the first `kept` are returned, all if None. One product with the matrix beats two
        transforms in numpy as long as the matrix is small.
        """
        kept = self.size if kept is None else kept
        if columns * self.size > _MATRIX_LIMIT:
            return lambda vectors: self.apply(vectors)[..., :kept]
        rows = np.ascontiguousarray(self.matrix(columns)[:kept].T)  # (columns, kept)
        return lambda vectors: vectors @ rows
