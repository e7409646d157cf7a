"""Local search for weighted k-means: a solver 𝒜 with a constant approximation ratio κ.

Centers are points of the set. Exchange one center for another point as long as that lowers the cost by more
than θ/k of it, θ = 1/1000; then Lloyd's steps, which only lower it further. Scikit-learn's `KMeans` usually
finds less, and guarantees no constant.

*κ ≤ 26.7 against the best k places* (after Kanungo, Mount, Netanyahu, Piatko, Silverman and Wu 2004, who
exchange among centroids and have 25). Let O be the best places, o the centroid of its people Q_o, S the
centers at the end, C(·) costs, s(p) the center nearest to a place p, all sums weighted.

1. Some point c_o of Q_o has C(Q_o, c_o) ≤ 2·C(Q_o, o): that is the mean over its points. It may enter.
2. A center *captures* o if it is s(o). Pair every o with a center that captures no other: its own where that
   captures o alone, else one that captures none, each of these twice at most (there are enough). Exchange the
   pair's center s for c_o: Q_o goes to c_o, and whoever else had s goes to s(o') of their own place o', which
   is not s. No such exchange gains θ/k, so, over all k pairs and with R = Σ ‖q - s(o_q)‖²,

       -θ·C(S) ≤ 2·C(O) - C(S) + 2·(R - C(S))

3. o is a centroid: Σ_{Q_o} ‖q - s(o)‖² = C(Q_o, o) + |Q_o|·‖o - s(o)‖², and ‖o - s(o)‖ ≤ ‖o - s(q)‖ for every
   q, hence R ≤ C(O) + Σ (‖o_q - q‖ + ‖q - s(q)‖)² ≤ 2·C(O) + 2·√(C(O)·C(S)) + C(S).
4. With x² = C(S)/C(O): (1-θ)·x² ≤ 6 + 4x, so x ≤ 5.167 and x² ≤ 26.7. ∎ (Candidates that hold every centroid
   nearly would have 5 for 6, and 25: docs/decisions/0054-local-search.md.)
"""

from __future__ import annotations

from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus

from coterie.errors import DecodeError
from coterie.protocols.paper.coreset import squared_distances
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
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    chosen: NDArray[np.int64],
    least: float | None = None,
) -> tuple[NDArray[np.int64], int]:
    """Exchange centers until no exchange gains enough: (m, d), (m,), (k,) -> (k,), number of exchanges.

    Enough is `least`, or θ/k of the cost. With `least`, weights may be negative.
    """
    chosen = chosen.copy()
    count, clusters = len(points), len(chosen)
    nearest, first, second = _tables(points, points[chosen])
    total, made, since = float(weights @ first), 0, 0
    place = 0
    while since < count:  # a whole round over all candidates without a gain
        if place in chosen:
            place, since = (place + 1) % count, since + 1
            continue
        away = squared_distances(points, points[place][None])[:, 0]
        without = np.minimum(first, away)
        gone = np.bincount(
            nearest, weights=weights * (np.minimum(second, away) - without), minlength=clusters
        )  # what each center's leaving costs
        leaving = int(gone.argmin())
        cost = float(weights @ without) + float(gone[leaving])
        if total - cost > (total / (_EARLY * clusters) if least is None else least):
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
