"""James-Stein shrinkage: pull a noisy vector towards a target as far as its known noise says.

For y = μ + noise of variance v in each of p coordinates, the positive-part estimate

    t + max(0, 1 - (p-2)·v / |y-t|²) · (y-t)

is closer to μ than y is, in the mean and for every μ, when p ≥ 3 (James and Stein 1961). A vector that noise
alone explains lands on the target. Everything here lives in the unit ball, so |μ-t| is about 1 at most, and
the factor need never exceed 1/(1 + p·v): that matters when the noise is larger than the ball.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

_TINY: Final = 1e-100  # a squared length of zero


def shrink_factors(
    offsets: NDArray[np.float64],  # (n, p), estimates less their targets
    variances: ArrayLike,  # (n,) or a number: noise of each coordinate
) -> NDArray[np.float64]:
    """Return the factor by which each offset is multiplied, in [0, 1]: (n, p) -> (n,).

    Examples
    --------
    >>> shrink_factors(np.full((1, 100), 0.1), 0.002).round(3).tolist()  # |y|² = 1, of which noise 0.2
    [0.804]
    """
    dimensions = offsets.shape[1]  # p
    noise = np.asarray(variances)
    lengths = np.maximum(np.einsum("ij,ij->i", offsets, offsets), _TINY)
    stein = np.maximum(1 - max(dimensions - 2, 0) * noise / lengths, 0.0)
    factors: NDArray[np.float64] = np.minimum(stein, 1 / (1 + dimensions * noise))
    return factors


def shrink(
    estimates: NDArray[np.float64], variances: ArrayLike, target: NDArray[np.float64] | float = 0.0
) -> NDArray[np.float64]:
    """Shrink each row of `estimates` towards `target`: (n, p) -> (n, p)."""
    offsets = estimates - target
    return target + shrink_factors(offsets, variances)[:, None] * offsets
