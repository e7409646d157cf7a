"""From noisy vector sums of cells to k centers of the unit ball.

1. Keep the leaves above the noise; each is a point (its mean) with a weight (its share). `leaves`
2. Shrink the points by their known noise and run weighted k-means on them. `shrinkage`
3. Pool each cluster's leaves, let centers and leaves settle together, and move a center to where a leaf is
   badly explained if that explains more. `settle`, `factors`
4. Shrink the centers, knowing the subspace they lie in. `subspace`
5. Merge centers that are not worth keeping apart; say which stand clear of noise. `support`

The same for every model that can sum vectors over cells: only the noise level differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coterie.centers.factors import amounts
from coterie.centers.leaves import Leaves, significant_leaves
from coterie.centers.settle import Problem
from coterie.centers.shrinkage import shrink, shrink_factors
from coterie.centers.solution import Solution, into_ball, weighted_kmeans
from coterie.centers.subspace import error_in_blocks, shrink_in_blocks, signal_subspace
from coterie.centers.support import groups_worth_keeping, mean_of_everybody, stands_clear
from coterie.centers.unmix import explaining, pure_directions, pure_looseness
from coterie.oracles.leaf_sums import LeafSums
from coterie.oracles.rows import Lift
from coterie.oracles.second_moment import SecondMoment


def solve(
    views: Sequence[LeafSums],
    moment: SecondMoment | None,
    lift: Lift,
    clusters: int,
    rng: np.random.Generator,
    *,
    unmix: bool = False,
) -> Solution:
    """Find `clusters` centers from the vector sums of the cells of one or more views.

    With `unmix`, centers may also start from differences of leaves: for little noise and two views or more.
    """
    leaves = significant_leaves(views, lift, at_least=clusters)
    if unmix:
        leaves = replace(leaves, looseness=pure_looseness(leaves, lift))
    basis = None if moment is None else signal_subspace(moment, lift.dimension)
    means, noise = _leaf_means(leaves, lift)
    kept = np.flatnonzero(leaves.kept)
    target = _grand_mean(leaves, means, noise) if leaves.standing.any() else mean_of_everybody(views, lift)
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
    groups = groups_worth_keeping(state.pooled, state.variances, held)
    if len(np.unique(groups)) < clusters:
        merged = np.zeros_like(state.holdings)
        np.add.at(merged.T, groups, state.holdings.T)
        state = problem.state_of(merged)
        held = np.maximum((merged * leaves.people[:, None]).sum(axis=0), 1e-12)

    supported = stands_clear(state.energies, leaves, state.holdings)
    everybody = mean_of_everybody(views, lift)
    errors = np.sqrt(np.minimum(error_in_blocks(state.pooled, state.variances, target, basis), 1.0))
    return Solution(
        centers=np.where(supported[:, None], state.centers, everybody),
        shares=held / held.sum(),
        errors=np.where(supported, errors, 1.0),
        supported=supported,
        points=points,
        weights=shares * leaves.people[kept],
    )


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
