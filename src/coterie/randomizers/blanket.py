"""The Poisson blanket: a true message and random dummies, the shuffled histogram's randomizer.

A person in bin v sends the message v and K ~ Poisson(bins·λ/n) dummies, each in a uniform bin. Over n people
every bin then has its true count and Poisson(λ) dummies, independently; shuffled, nothing else is seen.
(ε, δ) of that is exact: `coterie.privacy.blanket`. The estimate count - λ has variance λ, whatever n: as in
the central model. With fewer people there are fewer dummies: plan for the fewest (`people`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from coterie.coins import Coins
from coterie.errors import PlanError, ReportError
from coterie.privacy.blanket import least_blanket
from coterie.randomizers.exact import poisson


@dataclass(frozen=True, slots=True)
class Blanket:
    """Messages of a shuffled histogram.

    Attributes
    ----------
    bins : int
        B.
    rate : Fraction
        λ, dummies a bin when `people` take part.
    people : int
        n, the fewest people that the promise is made for.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> blanket = Blanket.for_epsilon(1.0, 1e-6, bins=4, people=100)
    >>> messages = blanket.encode(np.zeros(100, dtype=np.int64), SimulationCoins(0))
    >>> blanket.estimate(np.bincount(messages, minlength=4), 100).round(-1).tolist()
    [100.0, 0.0, -10.0, 10.0]
    """

    bins: int
    rate: Fraction
    people: int

    def __post_init__(self) -> None:
        if self.bins < 2 or self.people < 1 or self.rate <= 0:
            raise PlanError(f"need at least 2 bins, somebody in them and a positive rate, got {self}")

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, *, bins: int, people: int) -> Self:
        """Return the blanket with the fewest dummies that are (ε, δ)-private."""
        return cls(bins, least_blanket(epsilon, delta), people)

    @property
    def dummies(self) -> Fraction:
        """Expected dummies a person."""
        return self.rate * self.bins / self.people

    def encode(self, bins: NDArray[np.int64], coins: Coins) -> NDArray[np.int64]:
        """Return everybody's messages, unmixed: bins (n,) -> (k,), k ≥ n. Each person's by themselves."""
        if bins.size and (bins.min() < 0 or bins.max() >= self.bins):
            raise ReportError(f"a bin lies outside [0, {self.bins})")  # never print whose or which
        dummies = int(poisson(self.dummies, len(bins), coins).sum())
        return np.concatenate([bins, coins.below_many(self.bins, dummies)])

    def estimate(self, counts: NDArray[np.int64], people: int) -> NDArray[np.float64]:
        """Return the unbiased count of every bin, for so many people: (B,) -> (B,)."""
        return counts.astype(np.float64) - float(self.rate) * people / self.people

    def variance(self, people: int) -> float:
        """Return the variance of an estimate: the expected dummies of a bin."""
        return float(self.rate) * people / self.people
