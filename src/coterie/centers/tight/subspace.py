"""The subspace of the centers, from the second moment, and shrinkage that knows it.

E[w·wᵀ] of a mixture is Σ share_i·w_i·w_iᵀ plus the spread inside groups: its large eigenvectors span the
centers. The noise in it is a symmetric matrix of independent entries of deviation τ, whose eigenvalues end at
2τ√d (Wigner's semicircle). Eigenvectors whose eigenvalue stands beyond that edge are kept.

A center's estimate is then shrunk in two blocks, inside the subspace and outside, each by James-Stein. Were
the subspace exact, the block outside would be noise alone and vanish: k dimensions of noise stay instead of
d. Where it is inexact, the block outside keeps what stands clear of noise, so nothing is lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.centers.spectrum import past_edge
from coterie.centers.tight.shrinkage import shrink
from coterie.protocols.codeword.oracles.second_moment import SecondMoment


def signal_subspace(moment: SecondMoment, dimension: int) -> NDArray[np.float64]:
    """Return an orthonormal basis of the directions that stand clear of noise, shape (d, r), r ≥ 0.

    Of the lifted vectors' moment only the block of the points' own coordinates is used.

    Examples
    --------
    >>> signal_subspace(SecondMoment(np.diag([0.9, 0.1, 0.0, 0.0]), deviation=0.1), dimension=3).shape
    (3, 1)
    """
    values, vectors = np.linalg.eigh(moment.matrix[:dimension, :dimension])
    edge = 2 * moment.deviation * np.sqrt(len(values))
    kept: NDArray[np.float64] = vectors[:, values > past_edge(len(values)) * edge]
    return kept


def shrink_in_blocks(
    estimates: NDArray[np.float64],  # (n, d)
    variances: NDArray[np.float64],  # (n,), noise of each coordinate
    target: NDArray[np.float64],  # (d,)
    basis: NDArray[np.float64] | None,  # (d, r)
) -> NDArray[np.float64]:
    """Shrink estimates towards `target`, the blocks inside and outside the subspace each on its own."""
    if basis is None or basis.shape[1] == 0:
        return shrink(estimates, variances, target)
    offsets = estimates - target
    inside = offsets @ basis  # (n, r)
    outside = offsets - inside @ basis.T
    # The outside block has d - r free coordinates; the others are zero and must not count as noise.
    free = (offsets.shape[1] - basis.shape[1]) / offsets.shape[1]
    return target + shrink(inside, variances) @ basis.T + shrink(outside, variances * free)
