"""Weighted k-means and k-medians on a population: another question to the same answer, at no privacy cost.

    means    minimise Σ_x w_x·min_i |x - c_i|²      Lloyd's steps from k-means++
    medians  minimise Σ_x w_x·min_i |x - c_i|       from there, Weiszfeld's steps to the parts' medians

Medians follow a few far-off points less than means do.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.solution import squared_distances, with_equal_points

OBJECTIVES: Final = ("means", "medians")

_RESTARTS: Final = 10
_SEEDS: Final = 1 << 31
_ROUNDS: Final = 100  # of assigning points and moving centers
_STEPS: Final = 20  # of Weiszfeld, a round
_STILL: Final = 1e-9  # of the population's width: a move that ends it
_NEAR: Final = 1e-12  # of the width: Weiszfeld's weights are unbounded at a point itself


def fit_means(
    points: NDArray[np.float64], weights: NDArray[np.float64], clusters: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the best of several runs of weighted k-means: (n, d), (n,) -> (k, d)."""
    from sklearn.cluster import KMeans

    solver = KMeans(clusters, n_init=_RESTARTS, random_state=int(rng.integers(_SEEDS)))
    with with_equal_points():
        centers: NDArray[np.float64] = solver.fit(points, sample_weight=weights).cluster_centers_
    return centers


def fit_medians(
    points: NDArray[np.float64], weights: NDArray[np.float64], clusters: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return centers of weighted k-medians, from the best k-means: (n, d), (n,) -> (k, d).

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [10.0], [5.0]])
    >>> one = fit_medians(points, np.array([0.4, 0.3, 0.2, 0.1]), 1, np.random.default_rng(0))
    >>> bool(abs(one[0, 0] - 0.1) < 1e-3)  # half of the weight lies on either side; the mean is 2.5
    True
    """
    centers = fit_means(points, weights, clusters, rng)
    width = float(np.ptp(points, axis=0).max()) or 1.0
    for _ in range(_ROUNDS):
        labels = squared_distances(points, centers).argmin(axis=1)
        moved = centers.copy()
        for number in range(clusters):
            part = labels == number
            if weights[part].sum() > 0:
                moved[number] = _geometric_median(points[part], weights[part], centers[number], width)
        still = float(np.abs(moved - centers).max()) <= _STILL * width
        centers = moved
        if still:
            break
    return centers


def _geometric_median(
    points: NDArray[np.float64], weights: NDArray[np.float64], start: NDArray[np.float64], width: float
) -> NDArray[np.float64]:
    median = start
    for _ in range(_STEPS):
        pull = weights / np.maximum(np.linalg.norm(points - median, axis=1), _NEAR * width)
        moved = pull @ points / pull.sum()
        still = float(np.abs(moved - median).max()) <= _STILL * width
        median = moved
        if still:
            break
    return median
