"""The discrete Gaussian law, sampled exactly (Canonne, Kamath, Steinke 2020, Algorithm 3).

    Pr[Y = y] ∝ exp(-y²/2σ²),   y any integer

Draw Y from the discrete Laplace law of scale t = ⌊σ⌋+1 and keep it with probability exp(-γ),
γ = (|Y| - σ²/t)²/2σ². With σ = p/q and c = ||Y|·t·q² - p²| that is γ = (c/2p²)·(c/q²t²), a product of two
ratios: their whole parts are trials of probability 1/e and exp(-fraction), and what remains is a product of
two fractions, for which `coterie.randomizers.exact` needs no product. So the integers stay below 2^63 for
every scale allowed here, and the law is exact.

Privacy, as noise on integers: `coterie.privacy.renyi`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.coins import Coins
from coterie.errors import PlanError
from coterie.randomizers.discrete_laplace import DiscreteLaplace
from coterie.randomizers.exact import bernoulli_exp, bernoulli_exp_times, filled

# p, q·t and σ·q are below 2^25 then, and c below 2^62 for |Y| up to 2^11·t; a larger |Y| has odds e^-2048.
MAX_PART: Final = 1 << 25


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Integer noise with Pr[y] ∝ exp(-y²/2·scale²); its variance is below scale².

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> DiscreteGaussian(Fraction(17, 2)).sample(10_000, SimulationCoins(0)).std().round(1)
    np.float64(8.5)
    """

    scale: Fraction  # σ

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", Fraction(self.scale))
        if not self.scale > 0 or self._laplace_scale * self.scale.denominator > MAX_PART:
            raise PlanError(
                f"the scale must be a positive fraction p/q with p + q at most {MAX_PART}, got {self.scale}"
            )

    @property
    def _laplace_scale(self) -> int:
        return int(self.scale) + 1  # t

    def sample(self, size: int, coins: Coins) -> NDArray[np.int64]:
        """Return `size` independent draws, shape (size,). Outside simulation `coins` are the system's."""
        laplace = DiscreteLaplace(Fraction(self._laplace_scale))

        def attempt(wanted: int) -> NDArray[np.int64]:
            # About three quarters of the proposals are kept.
            proposed = laplace.sample(min(wanted * 3 // 2 + 16, 1 << 16), coins)
            return proposed[self._keep(np.abs(proposed), coins)]

        return filled(size, attempt)

    def _keep(self, sizes: NDArray[np.int64], coins: Coins) -> NDArray[np.bool_]:
        """Return trials of probability exp(-γ), (n,) -> (n,)."""
        steps = self._laplace_scale  # t
        numerator, denominator = self.scale.numerator, self.scale.denominator  # p, q
        first, second = 2 * numerator**2, (denominator * steps) ** 2
        distance = np.abs(sizes * (steps * denominator**2) - numerator**2)  # c
        whole_one, part_one = np.divmod(distance, first)
        whole_two, part_two = np.divmod(distance, second)
        # exp(-(w₁ + f₁)(w₂ + f₂)), one factor at a time; most proposals are decided by the last one.
        certain = (np.ones(len(sizes), dtype=np.int64), 1)
        kept = np.ones(len(sizes), dtype=np.bool_)
        kept = bernoulli_exp_times(certain, whole_one * whole_two, kept, coins)
        kept = bernoulli_exp_times((part_two, second), whole_one, kept, coins)
        kept = bernoulli_exp_times((part_one, first), whole_two, kept, coins)
        undecided = np.flatnonzero(kept)
        fractions = ((part_one[undecided], first), (part_two[undecided], second))
        kept[undecided] = bernoulli_exp(fractions, coins)
        return kept
