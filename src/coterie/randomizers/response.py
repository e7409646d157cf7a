"""Binary randomized response: one sign, told truly with odds A against B = 2^24.

    Pr[keep] = A/(A+B),  Pr[flip] = B/(A+B)      ε-private with ε = ln(A/B)
    c·E[answer] = sign with c = (A+B)/(A-B) ≈ (e^ε+1)/(e^ε-1);    Var(c·answer) = c² - 1

The keep or flip is one exact integer draw; nothing else about the answer is random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.coins import Coins
from coterie.errors import PlanError
from coterie.privacy.odds import BASE_ODDS


@dataclass(frozen=True, slots=True)
class BinaryResponse:
    """A sign through a noisy channel; ln(odds/2^24)-LDP.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> from coterie.privacy import largest_odds
    >>> response = BinaryResponse(largest_odds(1.0))
    >>> response.flips((2, 3), SimulationCoins(0)).shape
    (2, 3)
    >>> round(response.scale, 3)  # (e+1)/(e-1)
    2.164
    """

    odds: int  # A

    def __post_init__(self) -> None:
        if self.odds <= BASE_ODDS:
            raise PlanError(f"odds must exceed {BASE_ODDS} (even odds), got {self.odds}")

    @property
    def total(self) -> int:
        """A + B: the draw is uniform below it."""
        return self.odds + BASE_ODDS

    @property
    def scale(self) -> float:
        """What an answer is multiplied by to be unbiased (c)."""
        return self.total / (self.odds - BASE_ODDS)

    def flips(self, shape: tuple[int, ...], coins: Coins) -> NDArray[np.bool_]:
        """Draw which answers lie, independently, each with probability B/(A+B)."""
        drawn = coins.below_many(self.total, int(np.prod(shape)))
        return (drawn >= self.odds).reshape(shape)
