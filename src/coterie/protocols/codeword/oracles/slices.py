"""Distances to given centers, read off halfspaces: what k-medians costs, without knowing anybody's place.

With u uniform on the unit sphere, |x - c| = C_d·E|⟨u, x⟩ - ⟨u, c⟩|, C_d = 1/E|u₁|; and on a line, for
s = ⟨u, c⟩ and y = ⟨u, x⟩,

    |y - s| = sign(y)·y - ∫₀ˢ sign(y - t) dt

Both terms are signs of halfspaces, the first times the point itself, and E[sign·x], E[sign] are what rows
have. Hyperplanes through the middle serve the first term, those beside it the integral: each stands for the
thresholds between the midpoints to the next ones. Where there are k centers, min_i |y - s_i| takes the place
of |y - s|: its mean, the *sliced* cost, is the cost for k = 1 and at most that for k > 1
(docs/theory/k-medians.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.halfspaces import HalfspaceSigns, mean_coordinate
from coterie.protocols.codeword.oracles.rows import ViewRows


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """The sliced cost of some centers as a function of rows: constant + Σ_j ⟨coefficients_j, Y_j⟩."""

    coefficients: NDArray[np.float64]  # (M, D)
    constant: float

    @classmethod
    def of(cls, view: ViewRows, centers: NDArray[np.float64]) -> Self | None:
        """Return the slices by which a view of halfspaces sees centers of its ball, (k, d).

        None where nobody served a hyperplane through the middle, or fewer than two beside it.
        """
        normals, offsets = view.geometry.normals[view.kept], view.geometry.offsets[view.kept]
        lengths = np.linalg.norm(normals, axis=1)
        middle = np.flatnonzero((offsets == 0) & (lengths > 0))
        beside = np.flatnonzero((offsets != 0) & (np.abs(offsets) < 1) & (lengths > 0))  # -1 holds everybody
        if not len(middle) or len(beside) < 2:
            return None
        dimension = view.lift.dimension
        factor = 1 / mean_coordinate(dimension)  # C_d
        coefficients = np.zeros(view.vectors.shape)
        units = normals[middle] / lengths[middle, None]
        coefficients[middle, :dimension] = factor / (len(middle) * view.lift.point) * units
        heights, cut = normals[beside] @ centers.T, offsets[beside]  # (m, k), (m,)
        nearest = heights[np.arange(len(cut)), np.abs(cut[:, None] - heights).argmin(axis=1)]
        slopes = np.where(cut > nearest, 1.0, -1.0) - np.sign(cut)  # of min_i |t - s_i| - |t|, at t = cut
        slices = factor / 2 * slopes * _widths(cut) / lengths[beside]
        coefficients[beside, dimension] = slices / view.lift.count
        ends = normals @ centers.T / np.maximum(lengths, 1e-300)[:, None]
        constant = factor / 2 * float(np.mean(ends.min(axis=1) - ends.max(axis=1)))
        return cls(coefficients, constant)

    def read(self, rows: NDArray[np.float64]) -> float:
        """Return the sliced cost that rows tell: (M, D)."""
        return self.constant + float(np.vdot(self.coefficients, rows))

    def variance(self, view: ViewRows, square: NDArray[np.float64], second_gain: float) -> float:
        """Return the variance that the noise of the rows gives it, for E[w·wᵀ] = square, (D, D).

        That of row j along a unit vector e is (1 + c₂·E⟨w, e⟩²)/(κ²·n_j), at most.
        """
        along = np.einsum("md,de,me->m", self.coefficients, square, self.coefficients)
        lengths = np.einsum("md,md->m", self.coefficients, self.coefficients)
        level = view.deviations**2 / (1 + second_gain / view.vectors.shape[1])  # 1/(κ²·n_j)
        return float(level @ (lengths + second_gain * along))


def _widths(offsets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each offset, the length of the thresholds that it stands for: (m,) -> (m,).

    Offsets that are alike share theirs; the outermost reach as far outwards as inwards.
    """
    places, which, counts = np.unique(offsets, return_inverse=True, return_counts=True)
    if len(places) < 2:
        return np.zeros(len(offsets))
    between = (places[1:] + places[:-1]) / 2
    edges = np.concatenate([[2 * places[0] - between[0]], between, [2 * places[-1] - between[-1]]])
    return (np.diff(edges) / counts)[which]


def turned(view: ViewRows, rng: np.random.Generator) -> ViewRows:
    """Return a view with as many hyperplanes, drawn afresh as a plan's are: what another seed had given."""
    geometry = view.geometry
    keys = [rng.bytes(16) for _ in geometry.first]
    fresh = HalfspaceSigns.from_keys(keys, geometry.bounds, geometry.dimension)
    return replace(view, geometry=fresh)
