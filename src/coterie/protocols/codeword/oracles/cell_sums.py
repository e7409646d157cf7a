"""Vector sums of every cell at once, read off a `codeword` table.

A report of row c (mask c of its view) added (-1)^flip · v to the row, and E[v] = κ·sign·R·w, where R embeds
the lifted vector w into P dimensions and sign = (-1)^(popcount(cell & c) + flip). Summing the rows with the
signs (-1)^popcount(l & c) therefore keeps the people of cell l, and cancels all others in the mean:

    Y_l = Rᵀ · Σ_c (-1)^popcount(l & c) · sums[c] / (κ·n),      E[Y_l] = (1/n) · Σ_{people in cell l} w

One fast Walsh-Hadamard transform does it for all cells. Every report enters every cell with a sign, so the
noise is the same for all cells, full or empty: E|Rᵀv|² = D + c₂, hence a variance of (1 + c₂/D)/(κ²n) for a
coordinate of Y_l, on average over coordinates. It is not the same in every direction: along the people's own
vectors it is larger, up to (1 + c₂)/(κ²n) where all vectors are alike (`direction_variance`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.protocols.codeword.oracles.rows import rows_of
from coterie.protocols.codeword.oracles.second_moment import embedding_matrix as embedding_matrix
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.protocols.codeword.table import CodewordTable


@dataclass(frozen=True, slots=True, eq=False)
class CellSums:
    """Noisy sums of lifted vectors in the cells of one view, as shares of the people of that view."""

    vectors: NDArray[np.float64]  # (M, D): Y
    variance: float  # of a coordinate, on average over the D of them: (1 + c₂/D)/(κ²n)
    people: int  # n, reports of this view


def cell_sums(table: CodewordTable) -> tuple[CellSums, ...]:
    """Return the vector sums of the cells of each view that has cells and reports.

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> plan = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=1000)
    >>> table = CodewordTable.zero(plan)
    >>> table.add(np.arange(39000, dtype=np.uint32).astype(np.uint8).reshape(3000, 13))
    >>> [view.vectors.shape[1] for view in cell_sums(table)][0]  # d + 2
    5
    """
    cells = (view for view in rows_of(table) if not view.halfspaces)
    return tuple(CellSums(view.vectors, float(view.deviations[0]) ** 2, view.people) for view in cells)


def direction_variance(parameters: CodewordParameters, people: int, share: float) -> float:
    """Return the variance of Y along a unit vector u, for E⟨w,u⟩² = share over the people's vectors w.

    (1 + c₂·share)/(κ²n), up to terms that fall with P. The mean share of D orthogonal directions is 1/D, and
    so the mean variance is `CellSums.variance`.

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> parameters = Plan.design(dimension=100, clusters=8, epsilon=4.0, expected_users=10**6).parameters
    >>> along, mean = (direction_variance(parameters, 1000, share) for share in (1.0, 1 / 102))
    >>> round(along / mean, 1)
    3.2
    """
    randomizer = parameters.randomizer
    spread = 1 + randomizer.second_gain(parameters.embedding) * share
    return spread / (randomizer.gain(parameters.embedding) ** 2 * people)
