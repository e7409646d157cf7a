"""An answer: centers, and the population they are the k-means of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.solution import squared_distances, with_equal_points

_SEEDS: Final = 1 << 31
_STARTS: Final = 10  # of k-means++
_AS_GOOD: Final = 1.01  # times the least cost: optima that a population cannot tell apart
_LIGHT: Final = 1e-3  # of the mean weight: points that k-means does not look at


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Centers, and the population they are the k-means of."""

    centers: NDArray[np.float64]  # (k, d)
    shares: NDArray[np.float64]  # (k,)
    points: NDArray[np.float64]  # (N, d), as k-means sees them
    weights: NDArray[np.float64]  # (N,)
    others: tuple[NDArray[np.float64], ...] = ()  # centers of optima that are as good, (k, d) each


def k_means(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    clusters: int,
    rng: np.random.Generator,
    start: NDArray[np.float64] | None = None,
    starts: int = _STARTS,
) -> Answer:
    """Run weighted k-means from k-means++ starts and, if given, from another.

    Of all optima that cost within a hundredth of the least, the one that most of them are near to is the
    answer: it depends least on the starts. The others go along.
    """
    from sklearn.cluster import KMeans

    heavy = weights > _LIGHT * weights.mean()
    seen, share = points[heavy], weights[heavy]
    clusters = min(clusters, len(seen))
    seeds = rng.integers(_SEEDS, size=starts).tolist()
    with with_equal_points():
        found = [
            KMeans(clusters, n_init=1, random_state=seed).fit(seen, sample_weight=share) for seed in seeds
        ]
        if start is not None:
            found.append(KMeans(clusters, init=start, n_init=1).fit(seen, sample_weight=share))
    least = min(one.inertia_ for one in found)
    good = [one for one in found if one.inertia_ <= _AS_GOOD * least]
    centers = [one.cluster_centers_.astype(np.float64) for one in good]
    apart = [sum(float(((a - in_order(b, a)) ** 2).sum()) for b in centers) for a in centers]
    chosen = int(np.argmin(apart))
    shares = np.bincount(good[chosen].labels_, share, minlength=clusters)
    others = tuple(other for i, other in enumerate(centers) if i != chosen)
    return Answer(centers[chosen], shares / shares.sum(), points, weights, others)


def in_order(
    centers: NDArray[np.float64], like: NDArray[np.float64]
) -> NDArray[np.float64]:  # (k, d), (k, d) -> (k, d)
    """Return the centers in the order of those they stand for, matched at least total squared distance."""
    from scipy.optimize import linear_sum_assignment

    return centers[linear_sum_assignment(squared_distances(like, centers))[1]]
