"""From noisy vector sums of cells to k centers of the unit ball.

1. Keep the cells above the noise; each is a point (its mean) with a weight (its share). `kept_cells`
2. Shrink the points by their known noise and run weighted k-means on them. `shrinkage`
3. Pool each group's cells, let centers and cells settle together, and move a center to where a cell is
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
from coterie.centers.refit import weighted_kmeans
from coterie.centers.solution import into_ball
from coterie.centers.tight.factors import amounts
from coterie.centers.tight.kept_cells import KeptCells, significant_cells
from coterie.centers.tight.settle import Problem
from coterie.centers.tight.shrinkage import shrink, shrink_factors
from coterie.centers.tight.subspace import shrink_in_blocks
from coterie.centers.tight.unmix import explaining, pure_directions, pure_looseness
from coterie.protocols.codeword.oracles.cell_sums import CellSums
from coterie.protocols.codeword.oracles.rows import Lift

_FALSE_SUPPORT: Final = 0.01  # chance that noise makes a group that stands clear, over all cells


def solve(
    views: Sequence[CellSums],
    basis: NDArray[np.float64] | None,
    lift: Lift,
    clusters: int,
    rng: np.random.Generator,
    *,
    unmix: bool = False,
) -> tuple[Answer, NDArray[np.bool_]]:
    """Find `clusters` centers from the vector sums of the cells of one or more views.

    `basis`, (d, r), is the subspace that the centers lie in, as far as it is known. With `unmix`, centers may
    also start from differences of cells: for little noise and two views or more. Besides the answer, which
    of its groups stand clear of the noise: (k,).
    """
    cells = significant_cells(views, lift, at_least=clusters)
    if unmix:
        cells = replace(cells, looseness=pure_looseness(cells, lift))
    means, noise = _cell_means(cells, lift)
    kept = np.flatnonzero(cells.kept)
    target = _grand_mean(cells, means, noise) if cells.standing.any() else np.zeros(lift.dimension)
    points = into_ball(shrink_in_blocks(means[kept], noise[kept], target, basis))
    confidence = shrink_factors(means[kept] - target, noise[kept])
    shares = cells.looseness * cells.lengths[kept]
    # A view with few people counts like the others: it may be the one that tells two groups apart.
    labels = weighted_kmeans(points, np.maximum(shares * confidence, 1e-12), clusters, rng)

    holdings = np.zeros((len(cells.vectors), clusters))
    holdings[kept, labels] = cells.lengths[kept]
    problem = Problem(cells, lift, target, basis)
    state = problem.swap(problem.settle(problem.state_of(holdings)), kept, points)
    if unmix:
        pool, whole = pure_directions(cells, lift)
        if len(pool) >= clusters:
            start = amounts(cells, explaining(cells, pool, whole, clusters))
            other = problem.swap(problem.settle(problem.state_of(start)), kept, points)
            state = min(state, other, key=problem.cost)
    held = np.maximum((state.holdings * cells.people[:, None]).sum(axis=0), 1e-12)
    answer = Answer(state.centers, held / held.sum(), points, shares * cells.people[kept])
    return answer, _stands_clear(state.energies, cells, state.holdings)


def _stands_clear(
    energies: NDArray[np.float64], cells: KeptCells, holdings: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return of each center whether noise alone is an unlikely cause: (k,), KeptCells, (cells, k) -> (k,).

    Its energy, and that of one of its cells, is more than noise alone would have had anywhere among all
    cells (a chi-square of D degrees, chance 1 % in all); or two of its cells stand above the noise by
    themselves, for those rarely agree by chance.
    """
    from scipy.stats import chi2

    count, size = cells.vectors.shape
    unlikely = chi2.isf(_FALSE_SUPPORT / count, size)
    holds = holdings > 0
    strongest = np.where(holds, cells.energies[:, None], 0.0).max(axis=0)
    witnesses = (holds & cells.standing[:, None]).sum(axis=0)
    clear: NDArray[np.bool_] = (energies + size > unlikely) & ((strongest > unlikely) | (witnesses >= 2))
    return clear


def _cell_means(cells: KeptCells, lift: Lift) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean point of every cell and the variance of its coordinates: (cells, d), (cells,)."""
    scale = cells.looseness * cells.lengths * lift.point
    return cells.vectors[:, : lift.dimension] / scale[:, None], cells.variances / scale**2


def _grand_mean(
    cells: KeptCells, means: NDArray[np.float64], noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return where estimates are pulled: the mean of the kept cells, itself shrunk towards 0."""
    weights = cells.lengths * cells.people * cells.kept
    weights = weights / weights.sum()
    mean = weights @ means
    target: NDArray[np.float64] = shrink(mean[None], float((weights**2 * noise).sum()))[0]
    return target
