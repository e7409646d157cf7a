"""An answer: centers, and the population they are the k-means of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.solution import with_equal_points

_SEEDS: Final = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Centers, and the population they are the k-means of."""

    centers: NDArray[np.float64]  # (k, d)
    shares: NDArray[np.float64]  # (k,)
    points: NDArray[np.float64]  # (N, d), as k-means sees them
    weights: NDArray[np.float64]  # (N,)


def k_means(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    clusters: int,
    rng: np.random.Generator,
    start: NDArray[np.float64] | None = None,
    *,
    any_optimum: bool = False,
) -> Answer:
    """Run weighted k-means, from k-means++ and, if given, from a start as well; the cheaper one wins.

    With `any_optimum`, one run of k-means++ decides: to see how far apart the optima are.
    """
    from sklearn.cluster import KMeans

    seed = int(rng.integers(_SEEDS))
    heavy = weights > 1e-3 / len(weights)
    with with_equal_points():
        solver = KMeans(clusters, n_init=1 if any_optimum else 3, random_state=seed).fit(
            points[heavy], sample_weight=weights[heavy]
        )
        if start is not None and not any_optimum:
            other = KMeans(clusters, init=start, n_init=1).fit(points[heavy], sample_weight=weights[heavy])
            solver = other if other.inertia_ < 1.01 * solver.inertia_ else solver
    centers = solver.cluster_centers_.astype(np.float64)
    shares = np.bincount(solver.labels_, weights[heavy], minlength=clusters)
    return Answer(centers, shares / shares.sum(), points, weights)


def next_optimum(answer: Answer, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the optimum of k-means next to a start: (k, d) -> (k, d)."""
    from sklearn.cluster import KMeans

    heavy = answer.weights > 1e-3 / len(answer.weights)
    solver = KMeans(len(start), init=start, n_init=1)
    solver.fit(answer.points[heavy], sample_weight=answer.weights[heavy])
    centers: NDArray[np.float64] = solver.cluster_centers_.astype(np.float64)
    return centers


def in_order(
    centers: NDArray[np.float64], like: NDArray[np.float64]
) -> NDArray[np.float64]:  # (k, d), (k, d) -> (k, d)
    """Return the centers in the order of those they stand for, matched at least total squared distance."""
    from scipy.optimize import linear_sum_assignment

    squares = ((like[:, None] - centers[None]) ** 2).sum(axis=2)
    return centers[linear_sum_assignment(squares)[1]]
