"""From noisy vector sums of cells to k centers of the unit ball.

1. Keep the leaves above the noise; each is a point (its mean) with a weight (its share). `leaves`
2. Shrink the points by their known noise and run weighted k-means on them. `shrinkage`
3. Pool each cluster's leaves, let centers and leaves settle together, and move a center to where a leaf is
   badly explained if that explains more. `factors`
4. Shrink the centers, knowing the subspace they lie in. `subspace`

The same for every model that can sum vectors over cells: only the noise level differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.factors import CLEAR, amounts, directions_of, unexplained
from coterie.centers.leaves import Leaves, Lift, significant_leaves
from coterie.centers.shrinkage import shrink, shrink_factors
from coterie.centers.solution import Solution, into_ball, weighted_kmeans
from coterie.centers.subspace import shrink_in_blocks, signal_subspace
from coterie.centers.unmix import explaining, pure_directions, pure_looseness
from coterie.oracles.leaf_sums import LeafSums
from coterie.oracles.second_moment import SecondMoment

_ROUNDS: Final = 8  # of alternating least squares
_SWAPS: Final = 4
_PLACES: Final = 3  # badly explained leaves that are tried
_TRIALS: Final = 48  # moves tried at a time; with more clusters than this none is
_TOO_NOISY: Final = 0.3  # squared relative error of a center above which cells cannot be told apart by it
_TOO_ALIKE: Final = 0.003  # least eigenvalue of the directions' Gram matrix below which amounts are ambiguous
_SUPPORTED: Final = 3.0  # deviations by which a cluster's energy exceeds what noise alone would have


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
    target = _grand_mean(leaves, means, noise)
    points = into_ball(shrink_in_blocks(means[kept], noise[kept], target, basis))
    confidence = shrink_factors(means[kept] - target, noise[kept])
    shares = leaves.looseness * leaves.lengths[kept]
    # A view with few people counts like the others: it may be the one that tells two clusters apart.
    labels = weighted_kmeans(points, np.maximum(shares * confidence, 1e-12), clusters, rng)

    found = np.zeros((len(leaves.vectors), clusters))
    found[kept, labels] = leaves.lengths[kept]
    problem = _Problem(leaves, lift, target, basis)
    state = problem.swap(problem.settle(problem.state_of(found)), kept, points)
    if unmix:
        pool, whole = pure_directions(leaves, lift)
        if len(pool) >= clusters:
            start = amounts(leaves, explaining(leaves, pool, whole, clusters))
            other = problem.swap(problem.settle(problem.state_of(start)), kept, points)
            state = min(state, other, key=problem.cost)
    variances = state.variances
    held = leaves.looseness * (state.found * leaves.people[:, None]).sum(axis=0)
    energy = 1 / np.maximum(variances, 1e-300)  # squared length over variance, the noise taken out
    size = leaves.vectors.shape[1]
    return Solution(
        centers=state.centers,
        shares=np.maximum(held, 1e-12) / np.maximum(held, 1e-12).sum(),
        errors=np.sqrt(np.minimum(variances * size, 1.0) * shrink_factors(state.centers - target, variances)),
        supported=(energy > _SUPPORTED * np.sqrt(2 * size)) & (held > 0),
        points=points,
        weights=shares * leaves.people[kept],
        deviations=np.sqrt(noise[kept] * lift.dimension),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """Centers, and the amounts of the cells they were pooled from."""

    found: NDArray[np.float64]  # (cells, k)
    centers: NDArray[np.float64]  # (k, d), shrunk and inside the ball
    variances: NDArray[np.float64]  # (k,), of each coordinate before shrinking


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """What stays fixed while centers and amounts settle."""

    leaves: Leaves
    lift: Lift
    target: NDArray[np.float64]  # (d,)
    basis: NDArray[np.float64] | None  # (d, r)

    def state_of(self, found: NDArray[np.float64]) -> _State:
        """Pool the centers of given amounts, and shrink them."""
        raw, variances = directions_of(self.leaves, found)
        scale = self.leaves.looseness * self.lift.point
        raw, variances = raw[:, : self.lift.dimension] / scale, np.minimum(variances / scale**2, 1e12)
        return _State(found, into_ball(shrink_in_blocks(raw, variances, self.target, self.basis)), variances)

    def settle(self, state: _State, rounds: int = _ROUNDS) -> _State:
        """Alternate between amounts and centers while the centers are good enough to tell cells apart."""
        for _ in range(rounds):
            directions = self.lift.of(state.centers)
            if not _can_tell_apart(directions, state.variances):
                break
            better = amounts(self.leaves, directions)
            lost = ~(better > 0).any(axis=0)
            better[:, lost] = state.found[:, lost]
            state = self.state_of(better)
        return state

    def swap(self, state: _State, kept: NDArray[np.intp], points: NDArray[np.float64]) -> _State:
        """Move a center to a leaf that is badly explained, for as long as that explains more in all.

        This is what undoes a k-means that took two clusters in one cell for one.
        """
        for _ in range(_SWAPS):
            directions = self.lift.of(state.centers)
            if len(directions) > _TRIALS or not _can_tell_apart(directions, state.variances):
                break
            energies = unexplained(self.leaves, directions, state.found)
            worst = np.argsort(-energies[kept], kind="stable")[: min(_PLACES, _TRIALS // len(directions))]
            trials = []
            for place in self.lift.of(points[worst]):
                for moved in range(len(directions)):
                    trial = directions.copy()
                    trial[moved] = place
                    # The leaf's own direction is noisy; one round pools it before it is judged.
                    trials.append(self.settle(self.state_of(amounts(self.leaves, trial)), rounds=1))
            best = self.settle(min(trials, key=self.cost))
            if self.cost(best) >= self.cost(state) - CLEAR**2:
                break
            state = best
        return state

    def cost(self, state: _State) -> float:
        """Return the energy that a state leaves unexplained."""
        return float(unexplained(self.leaves, self.lift.of(state.centers), state.found).sum())


def _can_tell_apart(directions: NDArray[np.float64], variances: NDArray[np.float64]) -> bool:
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
