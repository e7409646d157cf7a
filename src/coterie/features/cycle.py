"""A number that comes round, such as the hour of the day: a point on a circle of diameter `weight`.

    n = ⌊(x mod period)/period·2²⁴ + ½⌋ mod 2²⁴,     coordinates = weight/2 · (cos, sin)(2π·n/2²⁴)

Half a period apart is `weight` apart. A mean of people's points lies inside the circle: its direction is the
usual time, its length how much they agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie.features.arithmetic import TURN, on_circle
from coterie.features.feature import Column, Feature
from coterie.features.number import LARGEST, SMALLEST
from coterie.features.reading import CONCENTRATION, VALUE, Block, Estimate, along, fraction
from coterie.features.values import numbers
from coterie.plain.checks import checked_real


@dataclass(frozen=True, slots=True, repr=False)
class Cycle(Feature):
    """A number modulo its period.

    Attributes
    ----------
    period : float
        After how much it comes round: 24 for hours of the day.
    missing : {"middle"}
        A record without a finite number lies in the middle of the circle.

    Examples
    --------
    >>> Cycle("hour", 24, weight=2.0).points([0, 6, 36, -6, None]).tolist()
    [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [0.0, 0.0]]
    """

    kind: ClassVar[str] = "cycle"
    linear: ClassVar[bool] = False
    period: float

    def _check(self) -> None:
        self._clean(checked_real, period=(SMALLEST, LARGEST))

    @property
    def coordinates(self) -> int:
        """Two."""
        return 2

    def codes(self, column: Column) -> NDArray[np.float64]:
        """Return the numbers of a column, NaN where there is none that is finite: n values -> (n,)."""
        found = numbers(column)
        return np.where(np.isfinite(found), found, np.nan)

    def place(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where numbers lie: (n,) -> (n, 2)."""
        gone = np.isnan(codes)
        rest = np.fmod(np.where(gone, 0.0, codes), self.period)  # exact, with the number's sign
        rest = np.where(rest < 0.0, rest + self.period, rest)
        turns = np.floor(rest / self.period * TURN + 0.5).astype(np.int64) % TURN
        half = self.weight * 0.5
        found = np.stack([half * part for part in on_circle(turns)], axis=1)
        return np.where(gone[:, None], 0.0, found)

    def _at(self, place: NDArray[np.float64]) -> tuple[float, float]:
        """Return time and concentration of a place."""
        x, y = float(place[0]), float(place[1])
        return self._time(math.atan2(y, x)), math.hypot(x, y) / (self.weight * 0.5)

    def _time(self, angle: float) -> float:
        time = angle / (2.0 * math.pi) % 1.0 * self.period
        return time if time < self.period else 0.0

    def value(self, place: NDArray[np.float64]) -> float | None:
        """Return the number, from 0 to below the period; None near the middle: (2,) -> number."""
        time, length = self._at(place)
        return time if length > 0.5 else None

    def estimates(self, block: Block) -> tuple[Estimate, ...]:
        """Return the usual time with its interval, and how much people agree."""
        time, length = self._at(block.place)
        outward = along(block.place)
        across = np.array([-outward[1], outward[0]])
        reach, radial = block.reach(across), block.reach(outward)
        distance = length * self.weight * 0.5
        if reach < distance:
            angle, turn = math.atan2(block.place[1], block.place[0]), math.asin(reach / distance)
            low, high = self._time(angle - turn), self._time(angle + turn)
        else:
            low, high = 0.0, self.period  # it may be any time
        spread = radial / (self.weight * 0.5)
        return (
            Estimate(self.name, VALUE, None, time, low, high, self.unit),
            fraction(self.name, CONCENTRATION, None, length, spread),
        )
