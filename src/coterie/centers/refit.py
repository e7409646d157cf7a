"""Weighted k-means and k-medians on a population: another question to the same answer, at no privacy cost.

    means    minimise Σ_x w_x·min_i |x - c_i|²      Lloyd's steps from k-means++
    medians  minimise Σ_x w_x·min_i |x - c_i|       from there, Weiszfeld's steps to the parts' medians

Medians follow a few far-off points less than means do. People who scatter around each point by s in mean
square, in directions that the points do not show, are √(|x - c|² + s) away.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.solution import Solution, squared_distances, with_equal_points

NOTE: Final = "The centers are medians: nothing is stated of their errors, and shares are the population's."

_RESTARTS: Final = 12  # of k-means++
_ROUNDS: Final = 100  # of assigning points and moving centers
_STEPS: Final = 20  # of Weiszfeld, a round
_STILL: Final = 1e-9  # of the population's width: a move that ends it
_NEAR: Final = 1e-12  # of the width: Weiszfeld's weights are unbounded at a point itself


def weighted_kmeans(
    points: NDArray[np.float64], weights: NDArray[np.float64], clusters: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the center of each point, by its number. Fewer distinct points than centers leave some empty."""
    centers = fit_means(points, weights, clusters, rng)
    labels: NDArray[np.intp] = squared_distances(points, centers).argmin(axis=1)
    return labels


def fit_means(
    points: NDArray[np.float64], weights: NDArray[np.float64], clusters: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the best of several runs of weighted k-means: (n, d), (n,) -> (k, d)."""
    from sklearn.cluster import KMeans

    solver = KMeans(clusters, n_init=_RESTARTS, random_state=int(rng.integers(1 << 31)))
    with with_equal_points():
        centers: NDArray[np.float64] = solver.fit(points, sample_weight=weights).cluster_centers_
    return centers


def fit_medians(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    clusters: int,
    rng: np.random.Generator,
    scatter: float = 0.0,
) -> NDArray[np.float64]:
    """Return centers of weighted k-medians, from the best k-means: (n, d), (n,) -> (k, d).

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [10.0], [5.0]])
    >>> one = fit_medians(points, np.array([0.4, 0.3, 0.2, 0.1]), 1, np.random.default_rng(0))
    >>> bool(abs(one[0, 0] - 0.1) < 1e-3)  # half of the weight lies on either side; the mean is 2.5
    True
    """
    return settle_medians(points, weights, fit_means(points, weights, clusters, rng), scatter=scatter)


def settle_medians(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    centers: NDArray[np.float64],
    *,
    scatter: float = 0.0,
) -> NDArray[np.float64]:
    """Move centers, (k, d), to the medians of the points nearest to each, until they stay."""
    width = float(np.ptp(points, axis=0).max()) or 1.0
    for _ in range(_ROUNDS):
        labels = squared_distances(points, centers).argmin(axis=1)
        moved = centers.copy()
        for number in range(len(centers)):
            part = labels == number
            if weights[part].sum() > 0:
                moved[number] = _geometric_median(
                    points[part], weights[part], centers[number], width, scatter
                )
        still = float(np.abs(moved - centers).max()) <= _STILL * width
        centers = moved
        if still:
            break
    return centers


def medians_of(solution: Solution) -> Solution:
    """Return a solution whose centers are the medians of its groups' people, in the same order.

    Radii, intervals and what is explained are statements about means, and go.
    """
    if solution.one_group:
        centers = settle_medians(
            solution.points, solution.weights, solution.centers[:1], scatter=solution.scatter
        )
        centers, shares = np.tile(centers, (len(solution.centers), 1)), solution.shares
    else:
        centers = settle_medians(
            solution.points, solution.weights, solution.centers, scatter=solution.scatter
        )
        labels = squared_distances(solution.points, centers).argmin(axis=1)
        shares = np.bincount(labels, solution.weights, minlength=len(centers)) / solution.weights.sum()
    unknown = np.full(len(centers), np.nan)
    return replace(
        solution,
        centers=centers,
        shares=shares,
        errors=unknown,
        share_errors=unknown,
        coverage=None,
        profile=None,
        explained=None,
        alternatives=(),
        choices=(),
        notes=(*solution.notes, NOTE),
        medians=True,
    )


def _geometric_median(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    start: NDArray[np.float64],
    width: float,
    scatter: float,
) -> NDArray[np.float64]:
    median = start
    for _ in range(_STEPS):
        away = np.sqrt(((points - median) ** 2).sum(axis=1) + scatter)
        pull = weights / np.maximum(away, _NEAR * width)
        moved = pull @ points / pull.sum()
        still = float(np.abs(moved - median).max()) <= _STILL * width
        median = moved
        if still:
            break
    return median
