"""A number between two declared bounds, on a linear or a logarithmic scale.

t = (x - low)/(high - low)     or     (log₂ x - log₂ low)/(log₂ high - log₂ low)
coordinate = (t - ½)·weight
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError
from coterie.features.arithmetic import binary_log
from coterie.features.feature import ENDS, Column, Feature
from coterie.features.reading import Block, Estimate
from coterie.features.values import MISSING, numbers
from coterie.plain.checks import checked_choice, checked_real

LARGEST: Final = 1e300  # of a bound
SMALLEST: Final = 1e-300  # distance of the bounds, and least bound of a logarithmic scale
LEAST_RATIO: Final = 1.01  # of the bounds of a logarithmic scale
SCALES: Final = ("linear", "log")
OUTSIDE: Final = ("clip", "missing")  # what a number beyond the bounds counts as


@dataclass(frozen=True, slots=True, repr=False)
class Number(Feature):
    """A real number.

    Attributes
    ----------
    low, high : float
        The declared bounds; from public knowledge, never from the data of the people to be asked.
    scale : {"linear", "log"}
        What counts as equally far: equal differences or equal ratios.
    missing : {"middle", "low", "high"}
        Where a record without a number lies.
    outside : {"clip", "missing"}
        What a number beyond the bounds, infinite ones too, counts as.

    Examples
    --------
    >>> Number("age", 0, 100, weight=2.0, unit="years").points([0, 75, 130, None]).ravel().tolist()
    [-1.0, 0.5, 1.0, 0.0]
    """

    kind: ClassVar[str] = "number"
    missing_ways: ClassVar[Iterable[str]] = ENDS
    low: float
    high: float
    scale: str = "linear"
    outside: str = field(default="clip", kw_only=True)

    def _check(self) -> None:
        self._clean(checked_choice, scale=(SCALES,), outside=(OUTSIDE,))
        least = SMALLEST if self.scale == "log" else -LARGEST
        if self.scale == "log" and self.low == 0:
            raise PlanError("low must be above 0 on a log scale, got 0: take the least that matters, say 1")
        self._clean(checked_real, low=(least, LARGEST), high=(least, LARGEST))
        if not self.high - self.low >= SMALLEST:
            raise PlanError(f"high must be above low, by 1e-300 at least, got {self.low!r} and {self.high!r}")
        if self.scale == "log" and self.high / self.low < LEAST_RATIO:
            raise PlanError(
                f"high must be at least {LEAST_RATIO} times low on a log scale, "
                f"got {self.low!r} and {self.high!r}"
            )

    def codes(self, column: Column) -> NDArray[np.float64]:
        """Return the numbers of a column within the bounds, NaN where missing: n values -> (n,)."""
        found = numbers(column)
        if self.outside == "missing":
            return np.where((found >= self.low) & (found <= self.high), found, MISSING)
        return np.clip(found, self.low, self.high)  # NaN stays

    def place(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where numbers lie: (n,) -> (n, 1)."""
        gone = np.isnan(codes)
        inside = np.where(gone, self.high, codes)
        if self.scale == "log":
            ends = binary_log(np.array([self.low, self.high]))
            share = (binary_log(inside) - ends[0]) / (ends[1] - ends[0])
        else:
            share = (inside - self.low) / (self.high - self.low)
        return np.where(gone, ENDS[self.missing] * self.weight, (share - 0.5) * self.weight)[:, None]

    def value(self, place: NDArray[np.float64]) -> float:
        """Return the number at a place: (1,) -> number."""
        return self._at(float(place[0]))

    def _at(self, coordinate: float) -> float:
        share = min(max(coordinate / self.weight + 0.5, 0.0), 1.0)
        if self.scale == "log":
            found = self.low * math.exp(share * math.log(self.high / self.low))
        else:
            found = self.low + share * (self.high - self.low)
        return min(max(found, self.low), self.high)

    def along(self, figure: float) -> float:
        """Return where a number lies between the bounds, 0 to 1, on its scale."""
        if self.scale == "log":
            return math.log(figure / self.low) / math.log(self.high / self.low)
        return (figure - self.low) / (self.high - self.low)

    def estimates(self, block: Block) -> tuple[Estimate, ...]:
        """Return the number with its interval, in its unit."""
        return (self._scaled(block, self._at),)
