"""Directions of groups that share a cell in one view and not in another.

If a cell of one view holds groups A and B, and A has a cell to itself in another view, the difference of
the two sums is B. Both sums are shares of the same people, so no scale is in the way. A difference of
anything else is no share of lifted unit vectors: its counting coordinate and its length disagree, or it does
not stand above the noise. What passes is a candidate for a center.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.tight.factors import amounts, unexplained
from coterie.centers.tight.kept_cells import KeptCells
from coterie.protocols.codeword.oracles.rows import Lift

_MOST_CELLS: Final = 64  # kept cells above which pairs are too many; then there is too little noise to care
_PURE: Final = (0.88, 1.14)  # length over count of a tight group, its noise included
_CLEAR: Final = 6.0  # deviations by which a difference must stand above the noise
_LOW: Final = 0.3  # quantile, by people
_MOST_CANDIDATES: Final = 48
_SURE: Final = 0.2  # relative error of a count above which purity cannot be judged
_ALIKE: Final = 0.95  # cosine from which two candidates are one


def pure_looseness(cells: KeptCells, lift: Lift) -> float:
    """Return the looseness of cells that hold one group: a low quantile of count over length.

    A cell of two groups is short for its count like a loose one, and must not count as that.
    """
    kept = np.flatnonzero(cells.kept)
    if lift.count == 0:
        return cells.looseness
    counts = cells.vectors[kept, lift.dimension] / lift.count
    sure = np.sqrt(cells.variances[kept]) < _SURE / 2 * lift.count * counts
    if not sure.any():
        return cells.looseness
    ratios, weights = counts[sure] / cells.lengths[kept][sure], counts[sure]
    order = np.argsort(ratios)
    place = int(np.searchsorted(np.cumsum(weights[order]), _LOW * weights.sum()))
    return float(np.clip(ratios[order][min(place, len(order) - 1)], 1.0, cells.looseness))


def pure_directions(cells: KeptCells, lift: Lift) -> tuple[NDArray[np.float64], int]:
    """Return unit directions (m, D) of pure cells, then of pure differences, and how many are cells."""
    kept = np.flatnonzero(cells.kept)
    size = cells.vectors.shape[1]
    if lift.count == 0 or len(kept) > _MOST_CELLS:
        return np.zeros((0, size)), 0
    vectors, variances = cells.vectors[kept], cells.variances[kept]
    differences = (vectors[:, None] - vectors[None]).reshape(-1, size)
    candidates = np.concatenate([vectors, differences])
    noise = np.concatenate([variances, (variances[:, None] + variances[None]).ravel()])
    squares = np.einsum("ij,ij->i", candidates, candidates)
    lengths = np.sqrt(np.maximum(squares - size * noise, 1e-300))
    counts = candidates[:, lift.dimension] / lift.count
    slack = 2 * np.sqrt(noise) / lift.count  # of the counts
    pure = (lengths >= _PURE[0] * counts - slack) & (lengths <= _PURE[1] * counts + slack)
    clear = squares > noise * (size + _CLEAR * np.sqrt(2 * size))
    chosen = np.flatnonzero(pure & clear & (slack < _SURE * counts))
    found: list[NDArray[np.float64]] = []
    whole = 0
    # Cells first: they carry less noise than differences do.
    for place in chosen[np.lexsort((-lengths[chosen], chosen >= len(kept)))]:
        direction = candidates[place] / np.sqrt(squares[place])
        if all(float(direction @ other) < _ALIKE for other in found):
            found.append(direction)
            whole += int(place < len(kept))
    return np.array(found[:_MOST_CANDIDATES]).reshape(-1, size), whole


def explaining(cells: KeptCells, pool: NDArray[np.float64], whole: int, clusters: int) -> NDArray[np.float64]:
    """Return k directions of a pool: its `whole` first ones, and others that explain most, one by one."""
    chosen = list(range(whole)) if whole <= clusters else []
    while len(chosen) < clusters:
        costs = {
            place: float(unexplained(cells, trial, amounts(cells, trial)).sum())
            for place in range(len(pool))
            if place not in chosen
            for trial in (pool[[*chosen, place]],)
        }
        chosen.append(min(costs, key=costs.__getitem__))
    return pool[chosen]
