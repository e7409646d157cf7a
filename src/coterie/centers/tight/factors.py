"""Centers and the cells they fill, found together: alternating least squares with known noise.

Each cell's lifted sum is a mixture of the groups that reach into it,

    Y_l = Σ_i G_li · u_i + noise,      G ≥ 0 the amount of group i in cell l, u_i its unit direction.

Given the directions, the amounts of a cell are a small least squares problem, solved with the groups that
matter: as long as the least clear amount is below 3.5 deviations of its own noise, its group is dropped, so
that what stays is positive. Given the amounts, the directions are one weighted least squares problem, which
pools all views with the weights their noise deserves. Two groups that share a cell in one view rarely do in
another, so the views together tell them apart.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.tight.kept_cells import KeptCells

CLEAR: Final = 3.5  # deviations that an amount must stand above zero
_RIDGE: Final = 1e-9  # keeps the Gram matrix of equal directions invertible


def amounts(cells: KeptCells, directions: NDArray[np.float64], clear: float = CLEAR) -> NDArray[np.float64]:
    """Return how much of each group is in each cell: (cells, k).

    Parameters
    ----------
    cells : KeptCells
        Sums of the cells.
    directions : ndarray, shape (k, D)
        Unit vectors u.
    clear : float
        Amounts below this many deviations count as none.
    """
    deviations = np.sqrt(cells.variances)
    alone = cells.vectors @ directions.T  # amounts if each group had the cell to itself
    holdings = np.zeros_like(alone)
    members = alone > clear * deviations[:, None]
    left = np.flatnonzero(members.any(axis=1))  # those not settled yet
    members = members[left]
    gram = directions @ directions.T + _RIDGE * np.eye(len(directions))
    while len(left):
        # A group that is no member gets a row and a column of the identity.
        inner = np.where(members[:, :, None] & members[:, None, :], gram, np.eye(len(directions)))
        inverse = np.linalg.inv(inner)  # (left, k, k)
        here = np.einsum("cij,cj->ci", inverse, np.where(members, alone[left], 0.0))
        noise = np.sqrt(np.diagonal(inverse, axis1=1, axis2=2)) * deviations[left, None]
        clearness = np.where(members, here / noise, np.inf)
        weakest = clearness.argmin(axis=1)
        done = clearness[np.arange(len(left)), weakest] >= clear
        holdings[left[done]] = np.where(members[done], here[done], 0.0)
        members[np.arange(len(left)), weakest] = False
        going_on = ~done & members.any(axis=1)
        left, members = left[going_on], members[going_on]
    return holdings


def directions_of(
    cells: KeptCells, holdings: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the directions for given amounts and the variance of their coordinates: (k, D), (k,).

    Weighted least squares; a group that no cell holds gets a zero direction and infinite variance.
    """
    weighted = holdings / cells.variances[:, None]
    gram = holdings.T @ weighted
    alive = np.diag(gram) > 0
    directions = np.zeros((holdings.shape[1], cells.vectors.shape[1]))
    variances = np.full(holdings.shape[1], np.inf)
    inverse = np.linalg.pinv(gram[np.ix_(alive, alive)], hermitian=True)
    directions[alive] = inverse @ (weighted[:, alive].T @ cells.vectors)
    variances[alive] = np.diag(inverse)
    # A pooled vector is `length` times a unit vector plus noise; take the length out of both.
    squares = np.einsum("ij,ij->i", directions[alive], directions[alive])
    lengths = np.sqrt(np.maximum(squares - directions.shape[1] * variances[alive], 1e-6))
    directions[alive] /= lengths[:, None]
    variances[alive] /= lengths**2
    return directions, variances


def unexplained(
    cells: KeptCells, directions: NDArray[np.float64], holdings: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the energy of each cell that its amounts leave over, in units of its noise: (cells,).

    Every amount costs as much as the least clear one could explain, so that sums can be compared.
    """
    rest = cells.vectors - holdings @ directions
    energy = np.einsum("ij,ij->i", rest, rest) / cells.variances
    total: NDArray[np.float64] = energy + CLEAR**2 * (holdings > 0).sum(axis=1)
    return total
