"""What solving gives, in units of the unit ball, and the two steps that every way of solving shares."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_RESTARTS: Final = 12  # of k-means++ on the leaves


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Centers of the unit ball and how far to trust them."""

    centers: NDArray[np.float64]  # (k, d)
    shares: NDArray[np.float64]  # (k,), sum 1
    errors: NDArray[np.float64]  # (k,), 90 % radii
    supported: NDArray[np.bool_]  # (k,), stands clear of noise
    points: NDArray[np.float64]  # (N, d), the population
    weights: NDArray[np.float64]  # (N,), its weights
    notes: tuple[str, ...] = ()  # what is doubtful, in plain words


def weighted_kmeans(
    points: NDArray[np.float64], weights: NDArray[np.float64], clusters: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the cluster of each point. Fewer distinct points than clusters leave some clusters empty."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    solver = KMeans(clusters, n_init=_RESTARTS, random_state=int(rng.integers(1 << 31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # duplicates: reported as unsupported centers
        labels: NDArray[np.int64] = solver.fit(points, sample_weight=weights).labels_.astype(np.int64)
    return labels


def into_ball(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move points outside the unit ball to its surface: (n, d) -> (n, d)."""
    inside: NDArray[np.float64] = points / np.maximum(1.0, np.linalg.norm(points, axis=1))[:, None]
    return inside
