"""From noisy vector sums of cells to k centers of the unit ball.

1. Keep the leaves above the noise; each is a point (its mean) with a weight (its share). `leaves`
2. Shrink the points by their known noise and run weighted k-means on them. `shrinkage`
3. Pool each cluster's leaves, then let centers and leaves settle together. `factors`
4. Shrink the centers, knowing the subspace they lie in. `subspace`

The same for every model that can sum vectors over cells: only the noise level differs.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.factors import amounts, directions_of
from coterie.centers.leaves import Leaves, Lift, significant_leaves
from coterie.centers.shrinkage import shrink, shrink_factors
from coterie.centers.subspace import shrink_in_blocks, signal_subspace
from coterie.oracles.leaf_sums import LeafSums
from coterie.oracles.second_moment import SecondMoment

_RESTARTS: Final = 20  # of k-means++ on the leaves
_ROUNDS: Final = 8  # of alternating least squares
_TOO_NOISY: Final = 0.3  # squared relative error of a center above which cells cannot be told apart by it
_TOO_ALIKE: Final = 0.003  # least eigenvalue of the directions' Gram matrix below which amounts are ambiguous
_SUPPORTED: Final = 3.0  # deviations by which a cluster's energy exceeds what noise alone would have


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Centers of the unit ball and how far to trust them."""

    centers: NDArray[np.float64]  # (k, d)
    shares: NDArray[np.float64]  # (k,), sum 1
    errors: NDArray[np.float64]  # (k,), root mean square error by noise
    supported: NDArray[np.bool_]  # (k,), stands clear of noise
    points: NDArray[np.float64]  # (leaves, d), shrunk means of the kept leaves
    weights: NDArray[np.float64]  # (leaves,), shares of the kept leaves, averaged over views
    deviations: NDArray[np.float64]  # (leaves,), root mean square error of the unshrunk means


def solve(
    views: Sequence[LeafSums],
    moment: SecondMoment | None,
    lift: Lift,
    clusters: int,
    rng: np.random.Generator,
) -> Solution:
    """Find `clusters` centers from the vector sums of the cells of one or more views."""
    leaves = significant_leaves(views, lift, at_least=clusters)
    basis = None if moment is None else signal_subspace(moment, lift.dimension)
    means, noise = _leaf_means(leaves, lift)
    kept = np.flatnonzero(leaves.kept)
    target = _grand_mean(leaves, means, noise)
    points = _into_ball(shrink_in_blocks(means[kept], noise[kept], target, basis))
    confidence = shrink_factors(means[kept] - target, noise[kept])
    shares = leaves.looseness * leaves.lengths[kept]
    # A view with few people counts like the others: it may be the one that tells two clusters apart.
    labels = _weighted_kmeans(points, np.maximum(shares * confidence, 1e-12), clusters, rng)

    found = np.zeros((len(leaves.vectors), clusters))
    found[kept, labels] = leaves.lengths[kept]
    centers, directions, variances = _settle(leaves, found, lift, target, basis, clusters)
    found = amounts(leaves, directions) if _can_settle(directions, variances) else found
    held = leaves.looseness * (found * leaves.people[:, None]).sum(axis=0)
    energy = 1 / np.maximum(variances, 1e-300)  # squared length over variance, the noise taken out
    size = leaves.vectors.shape[1]
    return Solution(
        centers=_into_ball(centers),
        shares=np.maximum(held, 1e-12) / np.maximum(held, 1e-12).sum(),
        errors=np.sqrt(np.minimum(variances * size, 1.0) * shrink_factors(directions, variances)),
        supported=(energy > _SUPPORTED * np.sqrt(2 * size)) & (held > 0),
        points=points,
        weights=shares * leaves.people[kept],
        deviations=np.sqrt(noise[kept] * lift.dimension),
    )


def _settle(
    leaves: Leaves,
    found: NDArray[np.float64],
    lift: Lift,
    target: NDArray[np.float64],
    basis: NDArray[np.float64] | None,
    clusters: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Alternate between centers and amounts; return centers (k, d), directions (k, D), variances (k,)."""
    scale = leaves.looseness * lift.point

    def centers_of(found: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        raw, variances = directions_of(leaves, found)
        raw, variances = raw[:, : lift.dimension] / scale, np.minimum(variances / scale**2, 1e12)
        return shrink_in_blocks(raw, variances, target, basis), variances

    centers, variances = centers_of(found)
    directions = lift.of(_into_ball(centers))
    for _ in range(_ROUNDS):
        if not _can_settle(directions, variances):
            break
        better = amounts(leaves, directions)
        lost = ~(better > 0).any(axis=0)
        better[:, lost] = found[:, lost]
        found = better
        centers, variances = centers_of(found)
        directions = lift.of(_into_ball(centers))
    return centers, directions, variances


def _can_settle(directions: NDArray[np.float64], variances: NDArray[np.float64]) -> bool:
    size = directions.shape[1]
    if len(directions) > size or float(np.median(variances)) * size > _TOO_NOISY:
        return False
    return bool(np.linalg.eigvalsh(directions @ directions.T)[0] > _TOO_ALIKE)


def _leaf_means(leaves: Leaves, lift: Lift) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean point of every cell and the variance of its coordinates: (cells, d), (cells,)."""
    scale = leaves.looseness * leaves.lengths * lift.point
    return leaves.vectors[:, : lift.dimension] / scale[:, None], leaves.variances / scale**2


def _grand_mean(
    leaves: Leaves, means: NDArray[np.float64], noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return where estimates are pulled: the mean of the kept leaves, itself shrunk towards 0."""
    weights = leaves.lengths * leaves.people * leaves.kept
    weights = weights / weights.sum()
    mean = weights @ means
    target: NDArray[np.float64] = shrink(mean[None], float((weights**2 * noise).sum()))[0]
    return target


def _weighted_kmeans(
    points: NDArray[np.float64], weights: NDArray[np.float64], clusters: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the cluster of each point. Fewer distinct points than clusters leave some clusters empty."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    seed = int(rng.integers(1 << 31))
    solver = KMeans(clusters, n_init=_RESTARTS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # duplicates: reported as unsupported centers
        labels: NDArray[np.int64] = solver.fit(points, sample_weight=weights).labels_.astype(np.int64)
    return labels


def _into_ball(points: NDArray[np.float64]) -> NDArray[np.float64]:
    inside: NDArray[np.float64] = points / np.maximum(1.0, np.linalg.norm(points, axis=1))[:, None]
    return inside
