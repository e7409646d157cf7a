"""An answer: centers, and the population they are the k-means of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.solution import LEAST_SHARE, squared_distances, with_equal_points

_STARTS: Final = 10  # of k-means++
_AS_GOOD: Final = 1.01  # times the least cost: optima that a population cannot tell apart


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

    seen, share, span = _looked_at(points, weights)
    clusters = min(clusters, len(seen))
    seeds = rng.integers(1 << 31, size=starts).tolist()
    with with_equal_points():
        found = [
            KMeans(clusters, n_init=1, random_state=seed).fit(seen, sample_weight=share) for seed in seeds
        ]
        if start is not None:
            found.append(KMeans(clusters, init=start @ span, n_init=1).fit(seen, sample_weight=share))
    least = min(one.inertia_ for one in found)
    good = [one for one in found if one.inertia_ <= _AS_GOOD * least]
    centers = [one.cluster_centers_ @ span.T for one in good]
    apart = [sum(float(((a - in_order(b, a)) ** 2).sum()) for b in centers) for a in centers]
    chosen = int(np.argmin(np.round(apart, 9)))  # starts that end alike: the first
    shares = np.bincount(good[chosen].labels_, share, minlength=clusters)
    others = tuple(other for i, other in enumerate(centers) if i != chosen)
    return Answer(centers[chosen], shares / shares.sum(), points, weights, others)


def by_number(answer: Answer, most: int) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return centers and shares for 1 to `most` groups of an answer's population, (k, d) and (k,) each.

    One less joins the two groups that cost least together, one more cuts the group that is widest in one
    direction, where it is; then all of them settle. So the numbers of groups are comparable, and nothing
    depends on a start.
    """
    from sklearn.cluster import KMeans

    seen, share, span = _looked_at(answer.points, answer.weights)

    def settled(centers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        with with_equal_points():
            found = KMeans(len(centers), init=centers, n_init=1).fit(seen, sample_weight=share)
        shares = np.bincount(found.labels_, share, minlength=len(centers))
        return found.cluster_centers_, shares / shares.sum()

    own = answer.centers @ span, answer.shares
    fewer, more = [own], [own]
    while len(fewer[-1][0]) > 1:
        fewer.append(settled(_joined(*fewer[-1])))
    while len(more[-1][0]) < min(most, len(seen)):
        more.append(settled(_cut(more[-1][0], seen, share)))
    return [(centers @ span.T, shares) for centers, shares in [*fewer[::-1], *more[1:]][:most]]


def _joined(centers: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the centers with the two joined that cost least together: (k, d) -> (k - 1, d)."""
    cost = (
        squared_distances(centers, centers) * np.outer(shares, shares) / (shares[:, None] + shares + 1e-300)
    )
    np.fill_diagonal(cost, np.inf)
    first, second = np.unravel_index(cost.argmin(), cost.shape)
    pair = [int(first), int(second)]
    both = np.average(centers[pair], axis=0, weights=shares[pair] + 1e-12)
    return np.vstack([np.delete(centers, pair, axis=0), both])


def _cut(
    centers: NDArray[np.float64], points: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the centers with one more, where a group is widest in one direction: (k, d) -> (k + 1, d)."""
    labels = squared_distances(points, centers).argmin(axis=1)
    widest, place, step = -1.0, 0, np.zeros(centers.shape[1])
    for number, center in enumerate(centers):
        mine = labels == number
        away = np.sqrt(weights[mine])[:, None] * (points[mine] - center)
        values, vectors = np.linalg.eigh(away.T @ away)
        if values[-1] > widest:
            wide = math.sqrt(max(values[-1], 0.0) / max(float(weights[mine].sum()), 1e-300))
            widest, place, step = float(values[-1]), number, wide * vectors[:, -1]
    halves = np.vstack([centers[place] + step, centers[place] - step])
    return np.vstack([np.delete(centers, place, axis=0), halves])


def _looked_at(
    points: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the points that weigh something in their span, (n, r), their weights, and the span, (d, r).

    Of squares, a narrow direction would be known to half of the digits only, and to others on each processor.
    """
    heavy = weights > LEAST_SHARE * weights.mean()
    seen, share = points[heavy], weights[heavy]
    _, sizes, vectors = np.linalg.svd(np.linalg.qr(seen, mode="r"), full_matrices=False)
    least = math.sqrt(seen.shape[1] * np.finfo(np.float64).eps)
    span = vectors[sizes > least * sizes[0]].T
    return seen @ span, share, span


def in_order(
    centers: NDArray[np.float64], like: NDArray[np.float64]
) -> NDArray[np.float64]:  # (k, d), (k, d) -> (k, d)
    """Return the centers in the order of those they stand for, matched at least total squared distance."""
    from scipy.optimize import linear_sum_assignment

    return centers[linear_sum_assignment(squared_distances(like, centers))[1]]
