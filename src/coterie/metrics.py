"""How good centers are, measured on points in the open: for simulations and benchmarks, never on a server.

    objective = (1/n)·Σ_i min_j ‖x_i - c_j‖²        the paper's normalized k-means objective
    recovered = (one-center cost - cost) / (one-center cost - non-private k-means cost)

Both are computed from people's points and are not private. This room stands above `centers`, so no decoder
can look at them.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PointError
from coterie.plain.pieces import pieces

_NUMBERS_AT_A_TIME: Final = 1 << 21  # of a chunk of points or of their distances: 16 MB


def nearest(
    points: NDArray[Any], centers: NDArray[Any]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:  # (n, d), (k, d) -> (n,), (n,)
    """Return each point's nearest center and the squared distance to it, in bounded memory.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Any real type; converted to float64 a chunk at a time.
    centers : ndarray, shape (k, d)
        At least one. Of two equally near ones the first is taken.

    Returns
    -------
    labels : ndarray of int32, shape (n,)
        Index of the nearest center.
    squared : ndarray of float64, shape (n,)
        Squared distance to it.

    Examples
    --------
    >>> labels, squared = nearest(np.array([[0.0, 1.0], [4.0, 0.0]]), np.array([[0.0, 0.0], [4.0, 2.0]]))
    >>> labels.tolist(), squared.tolist()
    ([0, 1], [1.0, 4.0])
    """
    points, centers = _checked(points, centers)
    middle, offsets, halves = _offsets(centers)
    labels = np.empty(len(points), dtype=np.int32)
    squared = np.empty(len(points), dtype=np.float64)
    for piece in pieces(len(points), max(_NUMBERS_AT_A_TIME // max(centers.shape), 1)):
        shifted = points[piece] - middle
        # argmin ‖x-c‖² = argmin (‖c‖²/2 - ⟨x, c⟩); the distance itself is then taken without cancellation
        labels[piece] = np.argmin(halves - shifted @ offsets.T, axis=1)
        shifted -= offsets[labels[piece]]
        squared[piece] = np.einsum("ij,ij->i", shifted, shifted)
    return labels, squared


def distances(points: NDArray[Any], centers: NDArray[Any]) -> NDArray[Any]:  # (n, d), (k, d) -> (n, k)
    """Return the distance of every point to every center, float32 for float32 points, else float64.

    Examples
    --------
    >>> distances(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 0.0]])).tolist()
    [[5.0, 4.0]]
    """
    points, centers = _checked(points, centers)
    middle, offsets, halves = _offsets(centers)
    found = np.empty(
        (len(points), len(centers)), dtype=np.float32 if points.dtype == np.float32 else np.float64
    )
    for piece in pieces(len(points), max(_NUMBERS_AT_A_TIME // max(centers.shape), 1)):
        shifted = points[piece] - middle
        squared = 2 * (halves - shifted @ offsets.T)
        squared += np.einsum("ij,ij->i", shifted, shifted)[:, None]
        found[piece] = np.sqrt(np.maximum(squared, 0, out=squared), out=squared)
    return found


def normalized_objective(points: NDArray[Any], centers: NDArray[Any]) -> float:
    """Return the mean squared distance to the nearest center: (n, d), (k, d) -> a number.

    Examples
    --------
    >>> normalized_objective(np.array([[0.0, 1.0], [4.0, 0.0]]), np.array([[0.0, 0.0], [4.0, 2.0]]))
    2.5
    """
    return float(nearest(points, centers)[1].mean())


def recovered(objective: float, *, one_center: float, non_private: float) -> float:
    """Return how much of what clustering can gain was gained; it compares across data.

    Parameters
    ----------
    objective : float
        Cost of the centers in question.
    one_center : float
        Cost of the best single center, the mean.
    non_private : float
        Cost of k-means with the points in the open.

    Returns
    -------
    float
        1 is as good as non-private, 0 is useless, below 0 is worse than no clustering. NaN where k-means
        gains nothing over one center: then there is nothing to recover.

    Examples
    --------
    >>> recovered(0.25, one_center=0.85, non_private=0.05)
    0.75
    """
    gain = one_center - non_private
    return (one_center - objective) / gain if gain > 0 else math.nan


def _checked(points: NDArray[Any], centers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    if points.ndim != 2 or centers.ndim != 2 or points.shape[1] != centers.shape[1] or not centers.size:
        raise PointError(
            "points and centers must have shapes (n, d) and (k, d) with k >= 1, "
            f"got {points.shape} and {centers.shape}"
        )
    if not len(points):
        raise PointError("no points, so no distances to speak of")
    return points, centers.astype(np.float64, copy=False)


def _offsets(
    centers: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:  # (k, d) -> (d,), (k, d), (k,)
    """Return the centers' middle, the centers seen from it and half their squared norms from there."""
    middle = centers.mean(axis=0)
    offsets = centers - middle
    return middle, offsets, np.einsum("ij,ij->i", offsets, offsets) / 2
