"""A statistic of a table beside the law it has when everybody is honest, and the judgement of it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """A statistic, normal with a mean in [low, high] where reports are honest.

    Attributes
    ----------
    test : str
        Its name.
    value : float
        What was seen.
    low, high : float
        What honest means lie between; low is -∞ where only much is wrong.
    deviation : float
        Of the statistic around its mean, at most.

    Examples
    --------
    >>> Seen("rows", 3.0, -math.inf, 0.0, 1.0).p_value() < 0.0014
    True
    """

    test: str
    value: float
    low: float
    high: float
    deviation: float

    @classmethod
    def from_squares(cls, test: str, value: float, mean: float, variance: float) -> Seen:
        """Return the test of a sum of squares, with its honest mean and variance at most.

        Wilson and Hilferty: the cube root of a chi-square over its freedom f is nearly normal with mean 1 - v
        and variance v = 2/(9f). A weighted sum of squares is nearly a multiple of the chi-square with the
        same mean and variance, f = 2·mean²/variance.
        """
        spread = variance / (9 * mean**2)  # v
        return cls(test, math.cbrt(value / mean), -math.inf, 1 - spread, math.sqrt(spread))

    @property
    def sides(self) -> int:
        """1 or 2: in how many ways it can be wrong."""
        return 1 if self.low == -math.inf else 2

    @property
    def score(self) -> float:
        """By how many deviations it lies outside what honest people show."""
        return max((self.value - self.high) / self.deviation, (self.low - self.value) / self.deviation)

    def p_value(self) -> float:
        """Return an upper bound of the chance that honest reports show as much."""
        from scipy.stats import norm

        return min(1.0, self.sides * float(norm.sf(self.score)))

    def threshold(self, level: float) -> float:
        """Return what an honest table exceeds with probability `level` at most."""
        from scipy.stats import norm

        return self.high + float(norm.isf(level / self.sides)) * self.deviation
