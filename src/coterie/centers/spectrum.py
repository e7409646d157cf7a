"""The directions in which people differ, read off halfspace rows at first order.

For a unit normal u of random direction, a threshold τ and any x, E_u[sign(u·x - τ)·u] = c_d·h·x/|x|, where
c_d = E|u₁| for u uniform on the sphere and h = (1 - τ²/|x|²)^((d-1)/2): 1 through the middle, less beside it,
0 where the halfspace holds everybody. Averaging Y_j·u_jᵀ over the rows, each with the weight h_j/deviation_j²
that its signal deserves, therefore gives c_d·E[x·xᵀ/|x|] (h at the people's root mean square length ρ). With
H = Σ h_j²/deviation_j², an entry of the symmetric matrix has the variance s² = 1/(2·d·c_d²·a²·H); eigenvalues
of noise alone stay within 2·s·√d of their middle, and of a true eigenvalue λ above it the observed one is
λ + s²d/λ, its vector aligned with the true one by cos² = 1 - s²d/λ² (the spiked model). What stands clear is
kept, with its bias and lost alignment taken out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.halfspaces import mean_coordinate
from coterie.protocols.codeword.oracles.rows import ViewRows

LEADING: Final = (
    12  # directions that a next wave is asked about; fewer did worse (benchmarks/results/waves.csv)
)

_CLEAR: Final = 1.05  # times the edge of the noise, 2·s·√d: finite matrices reach a little past it
_LEAST_PART: Final = 0.2  # of the mean variance: what each direction has where few are looked at
_LEAST_LENGTH: Final = 0.1  # of a person, where it is lost in noise


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The subspace that stands clear of the noise."""

    basis: NDArray[np.float64]  # (d, r), orthonormal columns
    variances: NDArray[np.float64]  # (r,), of the people along each
    edge: float  # variance along another direction that noise can hide
    leading: NDArray[np.float64]  # (LEADING, d), orthonormal: the largest, clear of the noise or not


def spectrum(view: ViewRows, mean: NDArray[np.float64], square: float) -> Spectrum:
    """Return the directions in which people differ clearly from their mean, by a view of halfspaces.

    Parameters
    ----------
    view : ViewRows
        Of halfspaces.
    mean : ndarray, shape (d,)
        Of everybody, in the frame.
    square : float
        E|x|² in the frame.
    """
    values, vectors, noise, units = differences(view, mean, square)
    middle = float(np.median(values))
    above = values - middle
    clear = above > 2 * _CLEAR * math.sqrt(noise)
    true = (above[clear] + np.sqrt(above[clear] ** 2 - 4 * noise)) / 2
    kept = true * (1 - noise / true**2)
    leading = vectors[:, ::-1][:, :LEADING].T
    return Spectrum(vectors[:, clear], kept * units, 2 * math.sqrt(noise) * units, leading)


def covariance(view: ViewRows, mean: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    """Return about how people differ in all directions, (d, d), of trace `spread`, E|x - mean|².

    By few directions, of which each has its part: noise is not told from people here.
    """
    values, vectors, _, units = differences(view, mean, spread + float(mean @ mean))
    each = spread / len(values)
    shifted = np.maximum(values * units + each - units * float(values.mean()), _LEAST_PART * each)
    wide: NDArray[np.float64] = (vectors * (shifted * spread / shifted.sum())) @ vectors.T
    return wide


def differences(
    view: ViewRows, mean: NDArray[np.float64], square: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]:
    """Return eigenvalues and eigenvectors of E[x·xᵀ/|x|] around the mean, s²·d, and E|x| in the frame."""
    dimension = view.lift.dimension
    local = view.frame.local(mean[None])[0]
    length = max(math.sqrt(square) / view.frame.scale, _LEAST_LENGTH)  # ρ, in the view's own ball
    normals = view.geometry.normals[view.kept]
    lengths = np.maximum(np.linalg.norm(normals, axis=1), 1e-12)
    beside = (view.geometry.offsets[view.kept] / (lengths * length)) ** 2  # τ²/ρ²
    seen = np.maximum(1 - beside, 0.0) ** ((dimension - 1) / 2)  # h, (M,)
    weights = seen / view.deviations**2
    factor = mean_coordinate(dimension) * view.lift.point
    strength = float(weights @ seen)  # H
    matrix = (view.vectors[:, :dimension].T * weights) @ (normals / lengths[:, None]) / (strength * factor)
    matrix = (matrix + matrix.T) / 2  # E[x·xᵀ/|x|]
    noise = 1 / (2 * strength * factor**2)  # s²·d
    values, vectors = np.linalg.eigh(matrix - np.outer(local, local) / length)
    return values, vectors, noise, length * view.frame.scale**2
