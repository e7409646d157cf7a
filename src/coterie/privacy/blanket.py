"""The Poisson blanket: exact (ε, δ) of a shuffled histogram with random dummies in every bin.

Everyone sends one message naming their bin, and dummies that name random bins; in all, every bin gets
Poisson(λ) dummies. After shuffling only the counts are seen. Replacing a person moves one message from bin i
to bin j: the counts are (X_i+1, X_j) or (X_i, X_j+1) with X_i, X_j independent Poisson(λ), and their
likelihood ratio is a/b. Given a + b = c + 1, a - 1 ~ Bin(c, ½), and c ~ Poisson(2λ): that is
`coterie.privacy.clones` with a bit that is always true (p = 1). The result is exact up to outward rounding,
and does not depend on the number of people or bins.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError, bringing
from coterie.privacy.clones import mean_delta, window

MAX_RATE: Final = 1 << 30


def blanket_delta(epsilon: float, rate: float, *, target: float = 1e-9) -> float:
    """Return an upper bound of the δ of a histogram with Poisson(`rate`) dummies a bin.

    Examples
    --------
    >>> blanket_delta(1.0, 44.0) < 1e-6 < blanket_delta(1.0, 41.0)
    True
    """
    if not 0 < rate <= MAX_RATE:
        raise PlanError(f"the rate of dummies must be in (0, 2^30], got {rate!r}")
    with bringing("analyst"):
        from scipy.special import pdtr, pdtrc

    mean = 2 * rate * (1 - 1e-15)  # fewer dummies hide less

    def below(count: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(count < 0, 0.0, pdtr(np.maximum(count, 0), mean))

    def above(count: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(count < 0, 1.0, pdtrc(np.maximum(count, 0), mean))

    low, high = window(mean, mean, math.inf, target, below, above)
    return mean_delta(epsilon, 1.0, low=low, high=high, below=below, above=above)


def least_blanket(epsilon: float, delta: float) -> Fraction:
    """Return the smallest rate of dummies a bin, in 64ths and rounded up, that is (ε, δ)-private.

    Examples
    --------
    >>> float(least_blanket(1.0, 1e-6)).__round__()
    43
    """
    if not (epsilon > 0 and 0 < delta < 1):
        raise PlanError(f"need epsilon > 0 and delta in (0, 1), got {epsilon!r} and {delta!r}")
    low, high = 0, 64
    while blanket_delta(epsilon, high / 64, target=delta) > delta:
        low, high = high, 2 * high
        if high > 64 * MAX_RATE:
            raise PlanError(f"({epsilon:g}, {delta:g}) needs more than 2^30 dummies a bin")
    while high - low > 1:
        middle = (low + high) // 2
        if blanket_delta(epsilon, middle / 64, target=delta) <= delta:
            high = middle
        else:
            low = middle
    return Fraction(high, 64)
