"""The lattice A*_d: a covering nearly as thin as its packing is dense, with a fast closest point.

A*_d is Z^(d+1) projected onto the hyperplane Σ t = 0. Two integer vectors have the same image when they
differ by a multiple of (1, …, 1), so a point is named by u ∈ Z^d, u_j = z_j - z_(d+1). In an orthonormal
basis of the hyperplane (`basis`, rows), the point of u is `generator @ u`.

    covering radius  √(d(d+2) / (12(d+1)))     packing radius  ½√(d/(d+1))     ratio √((d+2)/3) ≤ 3 to d = 25

*Closest point* (McKilliam, Clarkson and Quinn 2008, in O(d log d)). A nearest z to y rounds every coordinate
of y + λ·1 for some λ, since otherwise one coordinate could be moved by one and lower the distance. As λ grows
over an interval of length one, coordinates round up one by one, those with the largest remainder first: d+1
candidates, after one sort. With remainders e = y - z the squared distance is Σe² - (Σe)²/(d+1), which two
running sums follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError
from coterie.protocols.paper.nets.sizes import covering_radius, net_points

MAX_DIMENSION: Final = 64
MAX_ENUMERATED: Final = 1 << 22  # points that `within` lists at most


@dataclass(frozen=True, slots=True, eq=False)
class DualRootLattice:
    """A*_d, unscaled.

    Examples
    --------
    >>> lattice = DualRootLattice.of(2)  # hexagonal
    >>> round(lattice.covering_radius, 4)
    0.4714
    >>> lattice.closest(lattice.points(np.array([[3, -5]]))).tolist()
    [[3, -5]]
    """

    dimension: int  # d
    basis: NDArray[np.float64]  # (d, d+1), orthonormal rows, each orthogonal to (1, …, 1)
    generator: NDArray[np.float64]  # (d, d): column j is the point of the j-th unit vector

    @classmethod
    def of(cls, dimension: int) -> DualRootLattice:
        """Return the lattice of a dimension from 1 to 64."""
        if not 1 <= dimension <= MAX_DIMENSION:
            raise PlanError(f"a net's dimension must be in 1..{MAX_DIMENSION}, got {dimension}")
        basis = np.zeros((dimension, dimension + 1))
        for j in range(1, dimension + 1):  # Helmert's rows: (1, …, 1, -j, 0, …, 0) / √(j(j+1))
            basis[j - 1, :j] = 1 / math.sqrt(j * (j + 1))
            basis[j - 1, j] = -j / math.sqrt(j * (j + 1))
        return cls(dimension, basis, basis[:, :dimension].copy())

    @property
    def covering_radius(self) -> float:
        """Largest distance of any place from the lattice."""
        return covering_radius(self.dimension)

    def points(self, names: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the points of names u: (..., d) -> (..., d)."""
        return names @ self.generator.T

    def closest(self, places: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the name of the closest lattice point: (n, d) -> (n, d)."""
        return self.closest_with_margin(places)[0]

    def closest_with_margin(
        self, places: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the closest name and by how much the next candidate's squared distance exceeds its own.

        A margin of zero is a tie. Every closest point is among the candidates, so no tie goes unseen.

        Parameters
        ----------
        places : ndarray of float64, shape (n, d)
            Any places.

        Returns
        -------
        names : ndarray of int64, shape (n, d)
        margins : ndarray of float64, shape (n,)
        """
        lifted = places @ self.basis  # y, (n, d+1)
        rounded = np.floor(lifted + 0.5)
        remainders = lifted - rounded  # e, in [-1/2, 1/2]
        order = np.argsort(-remainders, axis=1, kind="stable")  # largest first
        falling = np.take_along_axis(remainders, order, axis=1)
        # Candidate m has the m largest remainders lowered by one, m = 0..d.
        squares = np.zeros_like(lifted)
        np.cumsum(1 - 2 * falling[:, :-1], axis=1, out=squares[:, 1:])
        sums = remainders.sum(axis=1)[:, None] - np.arange(self.dimension + 1)
        distances = squares - sums * sums / (self.dimension + 1)  # up to the constant Σe²
        best = distances.argmin(axis=1)
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.arange(self.dimension + 1)[None, :], axis=1)
        chosen = rounded + (place < best[:, None])
        names = (chosen[:, :-1] - chosen[:, -1:]).astype(np.int64)
        two = np.partition(distances, 1, axis=1)[:, :2]
        return names, two[:, 1] - two[:, 0]

    def within(self, place: NDArray[np.float64], radius: float) -> NDArray[np.int64]:
        """Return all names of points within `radius` of a place, (d,) -> (m, d), sorted.

        The generator is triangular after a rotation; coordinates are fixed one by one from the last, and what
        already is too far is dropped (Fincke and Pohst 1985), all surviving prefixes at once.
        """
        expected = net_points(self.dimension, radius, self.covering_radius)
        if expected > MAX_ENUMERATED:
            raise PlanError(
                f"a ball of radius {radius:g} holds up to {expected:.3g} points of the "
                f"net in dimension {self.dimension}; at most {MAX_ENUMERATED} are listed"
            )
        turn, upper = np.linalg.qr(self.generator)  # generator = turn · upper
        target = turn.T @ place
        names = np.zeros((1, self.dimension), dtype=np.int64)
        left = np.array([radius * radius * (1 + 1e-12)])  # squared radius not yet spent
        for row in range(self.dimension - 1, -1, -1):
            step = upper[row, row]
            middle = (target[row] - names[:, row + 1 :] @ upper[row, row + 1 :]) / step
            reach = np.sqrt(left) / abs(step)
            lowest = np.ceil(middle - reach).astype(np.int64)
            counts = np.maximum(np.floor(middle + reach).astype(np.int64) - lowest + 1, 0)
            parent = np.repeat(np.arange(len(names)), counts)
            within = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
            values = lowest[parent] + within
            names = names[parent]
            names[:, row] = values
            left = left[parent] - (step * (values - middle[parent])) ** 2
            alive = left >= 0
            names, left = names[alive], left[alive]
        return names[np.lexsort(names.T[::-1])]
