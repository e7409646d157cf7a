"""The directions in which people differ, read off halfspace rows at first order.

For a normal g of random direction and any x, E_g[sign(g·x)·g/|g|] = c_d·x/|x|, c_d = E|u₁| for u uniform on
the sphere. Averaging Y_j·u_jᵀ over the rows therefore gives c_d·E[x·xᵀ/|x|], whatever the data. An entry of
the symmetric matrix has the deviation s = deviation/(c_d·√(2·M·d)·a); eigenvalues of noise alone stay within
2·s·√d of their middle, and of a true eigenvalue λ above it the observed one is λ + s²d/λ, its vector aligned
with the true one by cos² = 1 - s²d/λ² (the spiked model). What stands clear is kept, with its bias and lost
alignment taken out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.halfspaces import mean_coordinate
from coterie.oracles.rows import ViewRows

_CLEAR: Final = 1.05  # times the edge of the noise, 2·s·√d
_LEAST_LENGTH: Final = 0.1  # of a person, where the trace is lost in noise
_LEAST_FLOOR: Final = 1e-5  # variance outside the subspace


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The subspace that stands clear of the noise."""

    basis: NDArray[np.float64]  # (d, r), orthonormal columns
    variances: NDArray[np.float64]  # (r,), of the people along each
    floor: float  # variance along every other direction


def spectrum(view: ViewRows, mean: NDArray[np.float64]) -> Spectrum:
    """Return the directions in which people differ clearly from their mean, (d,), by a view of halfspaces."""
    dimension, rows = view.lift.dimension, len(view.vectors)
    normals = view.geometry.normals[view.kept]
    lengths = np.linalg.norm(normals, axis=1)
    units = np.divide(normals, lengths[:, None], out=np.zeros_like(normals), where=lengths[:, None] > 0)
    factor = mean_coordinate(dimension) * view.lift.point
    matrix = view.vectors[:, :dimension].T @ units / (rows * factor)
    matrix = (matrix + matrix.T) / 2  # E[x·xᵀ/|x|]
    noise = float((view.deviations**2).mean()) / (2 * rows * factor**2)  # s²·d
    length = min(max(float(np.trace(matrix)), _LEAST_LENGTH), 1.0)
    local = view.frame.local(mean[None])[0]
    values, vectors = np.linalg.eigh(matrix - np.outer(local, local) / length)
    middle = float(np.median(values))
    above = values - middle
    clear = above > 2 * _CLEAR * math.sqrt(noise)
    true = (above[clear] + np.sqrt(above[clear] ** 2 - 4 * noise)) / 2
    kept = true * (1 - noise / true**2)
    return Spectrum(
        vectors[:, clear], kept * length * view.frame.scale**2, max(middle, _LEAST_FLOOR) * length
    )
