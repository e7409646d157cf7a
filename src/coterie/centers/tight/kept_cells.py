"""The cells that stand above the noise, as weighted points.

A cell of people with share f has the lifted sum Y = f·w̄ + noise. It is kept when its energy |Y|²/variance is
larger than noise alone would have it (a chi-square of D degrees, chance 3·10⁻⁴ a cell).

*Counting by length.* Lifted vectors have length 1, so |w̄| = 1 for a tight cell and a little less for a broad
one: the share is |Y|, up to one factor, the *looseness* 1/|w̄|. The counting coordinate b·f alone says the
share without bias but 1/b times as noisily; summed over all cells it is precise, and fixes the factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.protocols.codeword.oracles.cell_sums import CellSums
from coterie.protocols.codeword.oracles.rows import Lift

_FALSE_CELL: Final = 3e-4  # chance that an empty cell is kept
_LOOSENESS_PRIOR: Final = 0.15  # looseness is 1 ± this before looking
_MOST_LOOSE: Final = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class KeptCells:
    """The cells of all views, one below the other."""

    vectors: NDArray[np.float64]  # (cells, D): Y
    variances: NDArray[np.float64]  # (cells,), of each coordinate
    people: NDArray[np.float64]  # (cells,), reports of the cell's view as a share of all
    lengths: NDArray[np.float64]  # (cells,): |Y| less noise, at least one deviation
    kept: NDArray[np.bool_]  # (cells,)
    looseness: float  # share = looseness · length
    energies: NDArray[np.float64]  # (cells,): |Y|² in units of the noise
    standing: NDArray[np.bool_]  # (cells,): kept because it stands above the noise


def significant_cells(views: Sequence[CellSums], lift: Lift, at_least: int) -> KeptCells:
    """Find the cells that stand above the noise; the `at_least` strongest are kept in any case."""
    from scipy.stats import chi2

    vectors = np.concatenate([view.vectors for view in views])
    variances = np.concatenate([np.full(len(view.vectors), view.variance) for view in views])
    everyone = sum(view.people for view in views)
    people = np.concatenate([np.full(len(view.vectors), view.people / everyone) for view in views])
    size = vectors.shape[1]  # D
    squares = np.einsum("ij,ij->i", vectors, vectors)
    energies = squares / variances
    counting = vectors[:, lift.dimension]  # b·f
    standing = (energies > chi2.isf(_FALSE_CELL, size)) & (counting > -np.sqrt(variances))
    kept = standing.copy()
    if kept.sum() < at_least:
        kept[np.argsort(-energies, kind="stable")[:at_least]] = True
    lengths = np.sqrt(np.maximum(squares - size * variances, variances))
    looseness = _looseness(counting, variances, lengths, kept, lift)
    return KeptCells(vectors, variances, people, lengths, kept, looseness, energies, standing)


def _looseness(
    counting: NDArray[np.float64],
    variances: NDArray[np.float64],
    lengths: NDArray[np.float64],
    kept: NDArray[np.bool_],
    lift: Lift,
) -> float:
    if lift.count == 0:
        return 1.0
    total = lift.count * float(lengths[kept].sum())
    measured = float(counting[kept].sum()) / total
    noise = float(variances[kept].sum()) / total**2
    prior = _LOOSENESS_PRIOR**2
    return float(np.clip(1 + (measured - 1) * prior / (prior + noise), 1.0, _MOST_LOOSE))
