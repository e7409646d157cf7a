"""Public random subspaces: from d dimensions to d', scaled so that nearly everybody fits the unit ball.

    x' = Λ·Π_P(x) when ‖Π_P(x)‖ ≤ 1/Λ, else 0

P is the span of d' normal vectors from public bytes, hence uniform among subspaces; its orthonormal basis is
the QR factor with a positive diagonal, which is unique. A projection shortens a fixed vector by about
√(d'/d), so Λ = √(d/d')/c keeps length 1/c on average. The paper's Λ makes sure of *everybody* and shrinks the
data by a further 10·√log(n/β) (docs/theory/errata.md). When d ≤ d' nothing is projected.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError
from coterie.geometry.public_bytes import public_bytes


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A subspace and a scale.

    Examples
    --------
    >>> projection = Projection.from_key(bytes(16), dimension=100, onto=6, scale=2.0)
    >>> points, outside = projection.apply(np.eye(100)[:5])
    >>> points.shape, outside
    ((5, 6), 0)
    """

    basis: NDArray[np.float64]  # (d, d'), orthonormal columns
    scale: float  # Λ

    @classmethod
    def from_key(cls, key: bytes, dimension: int, onto: int, scale: float) -> Projection:
        """Draw the subspace from a 16-byte key; `onto` equal to `dimension` leaves points as they are."""
        if not 1 <= onto <= dimension:
            raise PlanError(f"a subspace has between 1 and {dimension} dimensions, got {onto}")
        if onto == dimension:
            return cls(np.eye(dimension), scale)
        words = public_bytes(key, 4 * dimension * onto).view(">u4").tolist()
        deviate = NormalDist().inv_cdf
        normal = np.array([deviate((word + 0.5) / 2**32) for word in words]).reshape(dimension, onto)
        basis, upper = np.linalg.qr(normal)
        return cls(basis * np.sign(np.diagonal(upper)), scale)

    def apply(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
        """Project and scale points of the unit ball.

        Returns
        -------
        projected : ndarray of float64, shape (n, d')
            In the unit ball.
        outside : int
            How many fell outside and were put at 0. Computed from the points: not private.
        """
        projected = self.scale * (points @ self.basis)
        outside = np.einsum("ij,ij->i", projected, projected) > 1
        projected[outside] = 0
        return projected, int(np.count_nonzero(outside))
