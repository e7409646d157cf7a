"""Weighted point sets (the paper's Definition "Weighted Point Set").

A finite set S of pairs (x, w(x)) with w(x) ≥ 0, no x twice. It is a measure on subsets A of the space:

    w(A) = Σ_{x∈A} w(x),    |S| = w(everything),    μ(S) = Σ w(x)·x / |S|

What tests judge such sets by (costs, transport) is in `benchmarks/reproduction/coresets.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.errors import DecodeError
from coterie.protocols.paper.tree.net_tree import NetTree


@dataclass(frozen=True, slots=True, eq=False)
class WeightedPointSet:
    """Distinct points with weights of at least zero.

    `of` builds one from any arrays and joins repeated points; the constructor insists that there are none.

    Attributes
    ----------
    points : ndarray of float64, shape (m, d)
        Distinct rows.
    weights : ndarray of float64, shape (m,)
        At least zero each.

    Examples
    --------
    >>> people = WeightedPointSet.of([[0.0], [0.0], [1.0]])
    >>> people.points.tolist(), people.weights.tolist()
    ([[0.0], [1.0]], [2.0, 1.0])
    >>> people.total, round(float(people.mean[0]), 3)
    (3.0, 0.333)
    """

    points: NDArray[np.float64]  # (m, d)
    weights: NDArray[np.float64]  # (m,)

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.weights.shape != self.points.shape[:1]:
            raise DecodeError(
                f"points (m, d) need weights (m,), got shapes {self.points.shape} and {self.weights.shape}"
            )
        if not (np.isfinite(self.points).all() and np.isfinite(self.weights).all()):
            raise DecodeError("a weighted point set holds finite numbers only")
        if (self.weights < 0).any():
            raise DecodeError("weights must be at least zero; clamp noisy ones first")
        if len(np.unique(self.points, axis=0)) != len(self.points):
            raise DecodeError("points repeat; WeightedPointSet.of joins repeated points")

    @classmethod
    def of(cls, points: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Join repeated points, adding their weights (one each if none are given); sorted by coordinates."""
        rows = np.asarray(points, dtype=np.float64)
        if rows.ndim != 2:
            raise DecodeError(f"points must have shape (m, d), got shape {rows.shape}")
        masses = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        if masses.shape != rows.shape[:1]:
            raise DecodeError(f"weights must have shape ({len(rows)},), got shape {masses.shape}")
        distinct, place = np.unique(rows, axis=0, return_inverse=True)
        sums = np.bincount(place.reshape(-1), masses, minlength=len(distinct))
        return cls(distinct, np.asarray(sums, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def total(self) -> float:
        """Total weight |S|."""
        return float(self.weights.sum())

    @property
    def mean(self) -> NDArray[np.float64]:  # (d,)
        """Weighted average μ(S); needs some weight."""
        if not self.total:
            raise DecodeError("a set without weight has no mean")
        return self.weights @ self.points / self.total


def representative_point_set(tree: NetTree, frequencies: NDArray[np.float64]) -> WeightedPointSet:
    """Return S_T: the leaves with their frequencies as weights, those below zero as zero.

    Parameters
    ----------
    tree : NetTree
        The tree.
    frequencies : ndarray of float64, shape (leaves,)
        f̃ of each leaf, in the order of `NetTree.leaf_points`.
    """
    if frequencies.shape != (tree.leaf_count,):
        raise DecodeError(f"the tree has {tree.leaf_count} leaves, got frequencies {frequencies.shape}")
    return WeightedPointSet(tree.leaf_points(), np.maximum(frequencies, 0.0))


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
