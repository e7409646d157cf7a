"""k-means cost, partition cost and the coreset inequality.

    cost_S(C)     = Σ w(x)·min_{c∈C} ‖x - c‖²
    cost_S(φ, C)  = Σ w(x)·‖x - c_φ(x)‖²          cost_S(φ) = min over C, attained at the parts' means
    S' is a (k, γ, t)-coreset of S when, for every C of k centers,
                    (1-γ)·cost_S(C) - t ≤ cost_S'(C) ≤ (1+γ)·cost_S(C) + t

The definition speaks of every C; `coreset_excess` measures it on the sets of centers it is given, so a
positive number refutes a coreset and a number ≤ 0 is evidence for one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DecodeError
from coterie.protocols.paper.coreset.points import WeightedPointSet


def squared_distances(points: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ‖x - c‖² for all pairs: (m, d), (k, d) -> (m, k). Differences first, so no cancellation."""
    result = np.empty((len(points), len(centers)))
    for column, center in enumerate(centers):
        away = points - center
        result[:, column] = np.einsum("ij,ij->i", away, away)
    return result


def nearest(points: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the index of each point's closest center, the smaller on ties: (m, d), (k, d) -> (m,)."""
    return np.asarray(squared_distances(points, centers).argmin(axis=1))


def cost(points: WeightedPointSet, centers: NDArray[np.float64]) -> float:
    """Return the k-means cost of centers (k, d).

    Examples
    --------
    >>> people = WeightedPointSet.of([[0.0], [1.0], [4.0]])
    >>> cost(people, np.array([[0.5], [4.0]]))
    0.5
    """
    return float(points.weights @ squared_distances(points.points, centers).min(axis=1))


def partition_cost(
    points: WeightedPointSet, parts: NDArray[np.int64], centers: NDArray[np.float64] | None = None
) -> float:
    """Return the cost of a partition.

    Parameters
    ----------
    points : WeightedPointSet
        m points.
    parts : ndarray of int64, shape (m,)
        φ: the number of each point's part.
    centers : ndarray of float64, shape (k, d), optional
        The parts' centers; by default their means, which cost least.
    """
    if parts.shape != (len(points),):
        raise DecodeError(f"parts must have shape ({len(points)},), got {parts.shape}")
    if centers is None:
        centers = partition_means(points, parts, int(parts.max(initial=0)) + 1)
    away = points.points - centers[parts]
    return float(points.weights @ np.einsum("ij,ij->i", away, away))


def partition_means(points: WeightedPointSet, parts: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return the mean of every part, (count, d); zero for a part without weight."""
    masses = np.bincount(parts, weights=points.weights, minlength=count)
    sums = np.zeros((count, points.points.shape[1]))
    np.add.at(sums, parts, points.weights[:, None] * points.points)
    return sums / np.where(masses > 0, masses, 1.0)[:, None]


def coreset_excess(
    candidate: WeightedPointSet,
    original: WeightedPointSet,
    center_sets: Iterable[NDArray[np.float64]],
    gamma: float,
    slack: float = 0.0,
) -> float:
    """Return by how much `candidate` misses being a (k, γ, t)-coreset on the given centers.

    Parameters
    ----------
    candidate, original : WeightedPointSet
        S' and S.
    center_sets : iterable of ndarray, shape (k, d)
        The sets of centers C to try.
    gamma, slack : float
        γ and t of the definition.

    Returns
    -------
    float
        The largest excess over either side of the inequality; at most zero when all of them hold.

    Examples
    --------
    >>> people = WeightedPointSet.of([[0.0], [0.2], [1.0]])
    >>> rounded = WeightedPointSet.of([[0.1], [1.0]], [2.0, 1.0])
    >>> coreset_excess(rounded, people, [np.array([[0.0]]), np.array([[0.5]])], 0.1) <= 0
    True
    """
    worst = -np.inf
    for centers in center_sets:
        true, seen = cost(original, centers), cost(candidate, centers)
        worst = max(worst, (1 - gamma) * true - slack - seen, seen - (1 + gamma) * true - slack)
    return worst
