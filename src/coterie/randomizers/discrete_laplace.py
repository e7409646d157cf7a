"""The discrete Laplace law, sampled exactly (Canonne, Kamath, Steinke 2020, Algorithm 2).

    Pr[Y = y] ∝ exp(-|y|·s/t),   scale t/s, y any integer

Draw U uniform below t and keep it with probability exp(-U/t); add t·V with V a run of successes of
probability 1/e: then U + t·V is geometric with ratio exp(-1/t), and its quotient by s with ratio exp(-s/t). A
random sign, with "minus zero" drawn again, makes it two-sided. Adding Y to an integer that one person
changes by at most Δ is (Δ·s/t)-private, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.coins import Coins
from coterie.errors import PlanError
from coterie.randomizers.exact import bernoulli_exp, filled, geometric_inverse_e

MAX_PART: Final = 1 << 40  # of the scale's numerator and denominator: 2^22 runs of 1/e still fit 63 bits


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Integer noise with Pr[y] ∝ exp(-|y|/scale).

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> DiscreteLaplace(Fraction(5, 2)).sample(10_000, SimulationCoins(0)).std().round(1)
    np.float64(3.5)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", Fraction(self.scale))
        if not self.scale > 0 or max(self.scale.numerator, self.scale.denominator) > MAX_PART:
            raise PlanError(f"the scale must be a positive fraction of parts below 2^40, got {self.scale}")

    def sample(self, size: int, coins: Coins) -> NDArray[np.int64]:
        """Return `size` independent draws, shape (size,). Outside simulation `coins` are the system's."""
        return filled(size, lambda wanted: self._attempts(2 * wanted + 16, coins))

    def _attempts(self, size: int, coins: Coins) -> NDArray[np.int64]:
        """Return what those of `size` attempts make that succeed."""
        steps, divisor = self.scale.numerator, self.scale.denominator  # t, s
        low = coins.below_many(steps, size)  # U
        low = low[bernoulli_exp(((low, steps),), coins)]
        sizes = (low + steps * geometric_inverse_e(low.size, coins)) // divisor
        negative = coins.below_many(2, sizes.size) == 1
        kept = ~(negative & (sizes == 0))
        return np.asarray(np.where(negative, -sizes, sizes)[kept])
