"""The directions in which people differ, read off halfspace rows at first order, and off the second moment.

For a unit normal u of random direction, a threshold τ and any x, E_u[sign(u·x - τ)·u] = c_d·h·x/|x|, where
c_d = E|u₁| for u uniform on the sphere and h = (1 - τ²/|x|²)^((d-1)/2): 1 through the middle, less beside it,
0 where the halfspace holds everybody. Averaging Y_j·u_jᵀ over the rows, each with the weight h_j/deviation_j²
that its signal deserves, therefore gives c_d·E[x·xᵀ/|x|] (h at the people's root mean square length ρ). With
H = Σ h_j²/deviation_j², an entry of the symmetric matrix has the variance s² = 1/(2·d·c_d²·a²·H).

The second moment of the same reports tells E[x·xᵀ] without any rows, and its noise has nothing to do with
theirs: as much at ε = 4, a third of it at ε = 2, next to nothing at ε = 1. Times ρ the former is of the same
scale, and each counts by its precision.

Eigenvalues of noise alone stay within 2·s·√d of their middle, and of a true eigenvalue λ above it the
observed one is λ + s²d/λ, its vector aligned with the true one by cos² = 1 - s²d/λ² (the spiked model). What
stands clear is kept, with its bias and lost alignment taken out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.halfspaces import mean_coordinate
from coterie.protocols.codeword.oracles.rows import ViewRows

# Dimensions that a population's atoms can fill: of a space of more, so many directions are asked about next.
FLAT: Final = 12
_LEAST_PART: Final = 0.2  # of the mean variance: what each direction has where few are looked at
_LEAST_LENGTH: Final = 0.1  # of a person, where it is lost in noise


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The subspace that stands clear of the noise."""

    basis: NDArray[np.float64]  # (d, r), orthonormal columns
    variances: NDArray[np.float64]  # (r,), of the people along each
    edge: float  # variance along another direction that noise can hide
    leading: NDArray[np.float64]  # (FLAT, d), orthonormal: the largest, clear of the noise or not


def spectrum(views: Sequence[ViewRows], mean: NDArray[np.float64], square: float) -> Spectrum:
    """Return the directions in which people differ clearly from their mean, by all that is told of them.

    Parameters
    ----------
    views : sequence of ViewRows
        Of halfspaces, of whole points; at least one. A ball that does not hold the frame's counts only
        where there is no other.
    mean : ndarray, shape (d,)
        Of everybody, in the frame.
    square : float
        E|x|² in the frame.
    """
    values, vectors, noise = _differences(views, mean, square)
    middle = float(np.median(values))
    above = values - middle
    clear = above > 2 * past_edge(len(values)) * math.sqrt(noise)
    true = (above[clear] + np.sqrt(above[clear] ** 2 - 4 * noise)) / 2
    kept = true * (1 - noise / true**2)
    return Spectrum(vectors[:, clear], kept, 2 * math.sqrt(noise), vectors[:, ::-1][:, :FLAT].T)


def past_edge(size: int) -> float:
    """Return how far eigenvalues of noise reach, in 99 of 100 matrices of this size, over the edge 2·s·√size.

    The law of Tracy and Widom: 1 + 2.02/2·size^(-2/3).

    Examples
    --------
    >>> round(past_edge(64), 3)
    1.062
    """
    return 1 + math.pow(size, -2 / 3)


def covariance(views: Sequence[ViewRows], mean: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    """Return about how people differ in all directions, (d, d), of trace `spread`, E|x - mean|².

    By few directions, of which each has its part: noise is not told from people here.
    """
    values, vectors, _ = _differences(views, mean, spread + float(mean @ mean))
    each = spread / len(values)
    shifted = np.maximum(values + each - float(values.mean()), _LEAST_PART * each)
    wide: NDArray[np.float64] = (vectors * (shifted * spread / shifted.sum())) @ vectors.T
    return wide


def _differences(
    views: Sequence[ViewRows], mean: NDArray[np.float64], square: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return eigenvalues and eigenvectors of E[(x - mean)·(x - mean)ᵀ], and s²·d, in the frame.

    By balls that hold the frame's: a smaller one has people clipped to its surface, and knows too well how
    they lie there.
    """
    dimension = len(mean)
    total, trust = np.zeros((dimension, dimension)), 0.0
    holding = [view for view in views if view.frame.scale >= 1 + float(np.linalg.norm(view.frame.shift))]
    for view in holding or views:
        for matrix, precision in _told(view, mean, square):
            total += precision * matrix
            trust += precision
    values, vectors = np.linalg.eigh(total / trust)
    return values, vectors, dimension / trust


def _told(
    view: ViewRows, mean: NDArray[np.float64], square: float
) -> Iterator[tuple[NDArray[np.float64], float]]:
    """Yield what a view tells of how people differ, (d, d), and the precision of an entry of it, 1/s²."""
    dimension, scale = view.lift.dimension, view.frame.scale
    local = (mean - view.frame.shift) / scale
    spread = max(square - float(mean @ mean), 0.0) / scale**2  # noise may leave less than nothing
    length = max(math.sqrt(spread + float(local @ local)), _LEAST_LENGTH)  # ρ, in the view's own ball
    normals = view.geometry.normals[view.kept]
    lengths = np.maximum(np.linalg.norm(normals, axis=1), 1e-12)
    beside = (view.geometry.offsets[view.kept] / (lengths * length)) ** 2  # τ²/ρ²
    seen = np.maximum(1 - beside, 0.0) ** ((dimension - 1) / 2)  # h, (M,)
    weights = seen / view.deviations**2
    factor = mean_coordinate(dimension) * view.lift.point
    strength = float(weights @ seen)  # H
    if strength > 0:  # else every halfspace holds everybody
        matrix = (view.vectors[:, :dimension].T * weights) @ (normals / lengths[:, None])
        matrix /= strength * factor
        units = length * scale**2
        apart = units * (matrix + matrix.T) / 2 - scale**2 * np.outer(local, local)
        yield apart, 2 * dimension * strength * (factor / units) ** 2
    if view.moment is not None:
        lifted = view.lift.point**2 / scale**2
        block = view.moment.matrix[:dimension, :dimension]
        yield block / lifted - scale**2 * np.outer(local, local), (lifted / view.moment.deviation) ** 2
