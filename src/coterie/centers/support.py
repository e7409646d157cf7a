"""Which centers the data supports, and what stands in for the others.

*Merging.* Two centers whose distance noise alone explains are one: for means with noise v_i and v_j in each
of d coordinates, |m_i - m_j|² is (v_i+v_j) times a chi-square of d degrees when there is no difference.

*Standing clear.* A center counts as supported if its energy, and that of one of its leaves, is more than
noise alone would have had anywhere among all cells (a chi-square of D degrees, chance 1 % in all); or if two
of its leaves stand above the noise by themselves, for those rarely agree by chance.

*The others* are replaced by the mean of everybody where it can be told from the ball's center, and by that
center where it cannot, so that decoding noise gives about what one center would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.leaves import Leaves
from coterie.centers.shrinkage import shrink
from coterie.oracles.leaf_sums import LeafSums
from coterie.oracles.rows import Lift

_FALSE_SUPPORT: Final = 0.01  # chance that noise makes a supported center, over all cells
_APART: Final = 2.0  # deviations of the chi-square by which two centers must differ


def groups_worth_keeping(
    means: NDArray[np.float64], variances: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return for each center the group it is merged into: (k, d), (k,), (k,) -> (k,).

    Examples
    --------
    >>> means = np.array([[0.0, 0.1], [0.0, -0.1], [0.9, 0.0]])
    >>> groups_worth_keeping(means, np.full(3, 0.01), np.array([0.3, 0.3, 0.4])).tolist()
    [0, 0, 2]
    """
    means, variances, shares = means.copy(), variances.copy(), shares.copy()
    groups = np.arange(len(means))
    alive = list(range(len(means)))
    least = means.shape[1] + _APART * np.sqrt(2 * means.shape[1])
    while len(alive) > 1:
        noise = variances[alive][:, None] + variances[alive]
        apart = ((means[alive][:, None] - means[alive][None]) ** 2).sum(axis=2) / noise
        np.fill_diagonal(apart, np.inf)
        first, second = np.unravel_index(int(apart.argmin()), apart.shape)
        if apart[first, second] >= least:
            break
        keep, drop = sorted((alive[first], alive[second]))
        both = shares[keep] + shares[drop]
        means[keep] = (shares[keep] * means[keep] + shares[drop] * means[drop]) / both
        variances[keep] = (
            shares[keep] ** 2 * variances[keep] + shares[drop] ** 2 * variances[drop]
        ) / both**2
        shares[keep] = both
        groups[groups == drop] = keep
        alive.remove(drop)
    return groups


def stands_clear(
    energies: NDArray[np.float64], leaves: Leaves, holdings: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Say of each center whether noise alone is an unlikely cause: (k,), Leaves, (cells, k) -> (k,).

    Parameters
    ----------
    energies : ndarray, shape (k,)
        Of the pooled centers, less what noise alone would have.
    leaves : Leaves
        The cells.
    holdings : ndarray, shape (cells, k)
        Which cells hold each center.
    """
    from scipy.stats import chi2

    cells, size = leaves.vectors.shape
    unlikely = chi2.isf(_FALSE_SUPPORT / cells, size)
    holds = holdings > 0
    strongest = np.where(holds, leaves.energies[:, None], 0.0).max(axis=0)
    witnesses = (holds & leaves.standing[:, None]).sum(axis=0)
    clear: NDArray[np.bool_] = (energies + size > unlikely) & ((strongest > unlikely) | (witnesses >= 2))
    return clear


def mean_of_everybody(views: Sequence[LeafSums], lift: Lift) -> NDArray[np.float64]:
    """Return the mean point of all people, shrunk by its noise; 0 where noise alone explains it: -> (d,)."""
    from scipy.stats import chi2

    everyone = sum(view.people for view in views)
    mean, variance = np.zeros(lift.dimension), 0.0
    for view in views:
        share = view.people / everyone
        mean += share * view.vectors[:, : lift.dimension].sum(axis=0) / lift.point
        variance += share**2 * len(view.vectors) * view.variance / lift.point**2
    if float(mean @ mean) < variance * chi2.isf(_FALSE_SUPPORT, lift.dimension):
        return np.zeros(lift.dimension)
    shrunk: NDArray[np.float64] = shrink(mean[None], variance)[0]
    return shrunk / max(1.0, float(np.linalg.norm(shrunk)))
