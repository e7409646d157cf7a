"""From noisy vector sums of cells to k centers of the unit ball.

1. Keep the leaves above the noise; each is a point (its mean) with a weight (its share). `leaves`
2. Shrink the points by their known noise and run weighted k-means on them. `shrinkage`
3. Pool each cluster's leaves, let centers and leaves settle together, and move a center to where a leaf is
   badly explained if that explains more. `settle`, `factors`
4. Shrink the centers, knowing the subspace they lie in. `subspace`

The same for every model that can sum vectors over cells: only the noise level differs. What can be said of
the centers is for others to find out (`explain`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.answer import Answer
from coterie.centers.solution import into_ball, weighted_kmeans
from coterie.centers.tight.factors import amounts
from coterie.centers.tight.leaves import Leaves, significant_leaves
from coterie.centers.tight.settle import Problem
from coterie.centers.tight.shrinkage import shrink, shrink_factors
from coterie.centers.tight.subspace import shrink_in_blocks
from coterie.centers.tight.unmix import explaining, pure_directions, pure_looseness
from coterie.protocols.codeword.oracles.leaf_sums import LeafSums
from coterie.protocols.codeword.oracles.rows import Lift

_FALSE_SUPPORT: Final = 0.01  # chance that noise makes a group that stands clear, over all cells


def solve(
    views: Sequence[LeafSums],
    basis: NDArray[np.float64] | None,
    lift: Lift,
    clusters: int,
    rng: np.random.Generator,
    *,
    unmix: bool = False,
) -> tuple[Answer, NDArray[np.bool_]]:
    """Find `clusters` centers from the vector sums of the cells of one or more views.

    `basis`, (d, r), is the subspace that the centers lie in, as far as it is known. With `unmix`, centers may
    also start from differences of leaves: for little noise and two views or more. Besides the answer, which
    of its groups stand clear of the noise: (k,).
    """
    leaves = significant_leaves(views, lift, at_least=clusters)
    if unmix:
        leaves = replace(leaves, looseness=pure_looseness(leaves, lift))
    means, noise = _leaf_means(leaves, lift)
    kept = np.flatnonzero(leaves.kept)
    target = _grand_mean(leaves, means, noise) if leaves.standing.any() else np.zeros(lift.dimension)
    points = into_ball(shrink_in_blocks(means[kept], noise[kept], target, basis))
    confidence = shrink_factors(means[kept] - target, noise[kept])
    shares = leaves.looseness * leaves.lengths[kept]
    # A view with few people counts like the others: it may be the one that tells two clusters apart.
    labels = weighted_kmeans(points, np.maximum(shares * confidence, 1e-12), clusters, rng)

    holdings = np.zeros((len(leaves.vectors), clusters))
    holdings[kept, labels] = leaves.lengths[kept]
    problem = Problem(leaves, lift, target, basis)
    state = problem.swap(problem.settle(problem.state_of(holdings)), kept, points)
    if unmix:
        pool, whole = pure_directions(leaves, lift)
        if len(pool) >= clusters:
            start = amounts(leaves, explaining(leaves, pool, whole, clusters))
            other = problem.swap(problem.settle(problem.state_of(start)), kept, points)
            state = min(state, other, key=problem.cost)
    held = np.maximum((state.holdings * leaves.people[:, None]).sum(axis=0), 1e-12)
    answer = Answer(state.centers, held / held.sum(), points, shares * leaves.people[kept])
    return answer, _stands_clear(state.energies, leaves, state.holdings)


def _stands_clear(
    energies: NDArray[np.float64], leaves: Leaves, holdings: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return of each center whether noise alone is an unlikely cause: (k,), Leaves, (cells, k) -> (k,).

    Its energy, and that of one of its leaves, is more than noise alone would have had anywhere among all
    cells (a chi-square of D degrees, chance 1 % in all); or two of its leaves stand above the noise by
    themselves, for those rarely agree by chance.
    """
    from scipy.stats import chi2

    cells, size = leaves.vectors.shape
    unlikely = chi2.isf(_FALSE_SUPPORT / cells, size)
    holds = holdings > 0
    strongest = np.where(holds, leaves.energies[:, None], 0.0).max(axis=0)
    witnesses = (holds & leaves.standing[:, None]).sum(axis=0)
    clear: NDArray[np.bool_] = (energies + size > unlikely) & ((strongest > unlikely) | (witnesses >= 2))
    return clear


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
