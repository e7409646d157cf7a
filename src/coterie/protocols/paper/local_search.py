"""Local search for weighted k-means: a solver 𝒜 with a constant approximation ratio κ.

Centers are points of the set. Exchange one center for another point as long as that lowers the cost by more
than 1/(1000·k) of it; then Lloyd's steps, which only lower it further. A set that no exchange improves costs
at most 81 times the best set of k of its points (Gupta and Tangwongsan 2008, single exchanges, any metric:
√ratio = x with x² ≤ 8x + 9; stopping early: 0.999·x² ≤ 8x + 9, so 81.2), and the best k points at most
twice the best k places: κ ≤ 163. Scikit-learn's `KMeans` usually finds less, and guarantees no constant.
"""

from __future__ import annotations

from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus

from coterie.errors import DecodeError
from coterie.protocols.paper.coreset.cost import squared_distances
from coterie.protocols.paper.tree.parameters import SEARCH_RATIO

_EARLY: Final = 1000.0  # an exchange must gain 1/(1000·k) of the cost


class LocalSearch:
    """k-means by single exchanges, in scikit-learn's manner.

    Parameters
    ----------
    n_clusters : int
        k.
    random_state : int, RandomState or None
        Of the first k centers (k-means++).

    Attributes
    ----------
    cluster_centers_ : ndarray of float64, shape (k, d)
    inertia_ : float
        Weighted cost of the centers.
    n_iter_ : int
        Exchanges made.

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [1.0], [1.1], [9.0]])
    >>> np.sort(LocalSearch(3, random_state=0).fit(points).cluster_centers_[:, 0]).round(2).tolist()
    [0.05, 1.05, 9.0]
    """

    ratio: ClassVar[float] = SEARCH_RATIO  # κ, proved; what is found is usually the optimum

    def __init__(self, n_clusters: int, *, random_state: int | np.random.RandomState | None = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(
        self, X: NDArray[np.float64], y: None = None, sample_weight: NDArray[np.float64] | None = None
    ) -> Self:
        """Find centers of weighted points: (m, d), (m,) -> self."""
        del y
        points = np.asarray(X, dtype=np.float64)
        weights = np.ones(len(points)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if self.n_clusters > len(points):
            raise DecodeError(f"{len(points)} points have no {self.n_clusters} different centers")
        _, start = kmeans_plusplus(
            points, self.n_clusters, sample_weight=weights, random_state=self.random_state
        )
        chosen, self.n_iter_ = exchange(points, weights, np.asarray(start, dtype=np.int64))
        polished = KMeans(self.n_clusters, init=points[chosen], n_init=1).fit(points, sample_weight=weights)
        self.cluster_centers_: NDArray[np.float64] = np.asarray(polished.cluster_centers_, dtype=np.float64)
        self.inertia_ = float(polished.inertia_)
        return self


def exchange(
    points: NDArray[np.float64], weights: NDArray[np.float64], chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int]:
    """Exchange centers until no exchange gains enough: (m, d), (m,), (k,) -> (k,), number of exchanges."""
    chosen = chosen.copy()
    count, clusters = len(points), len(chosen)
    nearest, first, second = _tables(points, points[chosen])
    total, made, since = float(weights @ first), 0, 0
    place = 0
    while since < count:  # a whole round over all candidates without a gain
        away = squared_distances(points, points[place][None])[:, 0]
        without = np.minimum(first, away)
        gone = np.bincount(
            nearest, weights=weights * (np.minimum(second, away) - without), minlength=clusters
        )  # what each center's leaving costs
        leaving = int(gone.argmin())
        cost = float(weights @ without) + float(gone[leaving])
        if cost < total * (1 - 1 / (_EARLY * clusters)):
            chosen[leaving] = place
            nearest, first, second = _tables(points, points[chosen])
            total, made, since = float(weights @ first), made + 1, 0
        else:
            since += 1
        place = (place + 1) % count
    return chosen, made


def _tables(
    points: NDArray[np.float64], centers: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return each point's nearest center and the squared distances to it and to the next: (m,) each."""
    apart = squared_distances(points, centers)
    nearest = apart.argmin(axis=1)
    rows = np.arange(len(points))
    first = apart[rows, nearest]
    apart[rows, nearest] = np.inf
    return nearest, first, apart.min(axis=1)
