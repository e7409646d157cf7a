"""Reading a place back: what a center means, feature by feature, with intervals.

A center is a mean of many people's points, with an error. Each feature turns its own coordinates into figures
that people know, and the error's covariance into an interval for each of them: a figure that is linear in the
coordinates, aᵀx, has variance aᵀCa.

Noise may carry a center out of the range that means can have. What was found is then drawn to the nearest end
first, and the interval spans z·√(aᵀCa) to either side of that, cut at the ends. Nothing in the range is
farther from the end than from what lay beyond it, so the interval holds what the uncut one holds, and it is
never narrower than one side of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

VALUE: Final = "value"
SHARE: Final = "share"
CONCENTRATION: Final = "concentration"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One figure of a description.

    Attributes
    ----------
    feature : str
        The feature's name.
    what : {"value", "share", "concentration"}
        A number in its unit; the share of people with `label`; how close to each other people are on a cycle,
        from 0 (anywhere) to 1 (all at one time).
    label : str or int or None
        The value whose share it is; for an ordinal, the level nearest to the figure.
    value : float
        The figure.
    low, high : float
        Its interval; both the figure itself where no error was given. On a cycle low may be above high: the
        interval then runs over the end of the period.
    unit : str
        The feature's unit, empty for shares.
    """

    feature: str
    what: str
    label: str | int | None
    value: float
    low: float
    high: float
    unit: str = ""

    def __str__(self) -> str:
        held = not math.isnan(self.low)  # an interval is stated
        if self.what == VALUE:
            figures = f"{self.value:.4g}" + (f" [{self.low:.4g}, {self.high:.4g}]" if held else "")
            label = "" if self.label is None else f" ({self.label})"
            return f"{self.feature}{label} {figures} {self.unit}".rstrip()
        of = "" if self.label is None else f" {self.label}"
        word = " concentration" if self.what == CONCENTRATION else ""
        interval = f" [{self.low:.0%}, {self.high:.0%}]" if held else ""
        return f"{self.feature}{of}{word} {self.value:.0%}{interval}"


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The coordinates of one feature, with their covariance and how many deviations an interval spans."""

    place: NDArray[np.float64]  # (dimension,)
    covariance: NDArray[np.float64]  # (dimension, dimension)
    deviations: float  # z

    def reach(self, direction: NDArray[np.float64]) -> float:
        """Return z·√(aᵀCa), how far the interval of aᵀx goes to either side."""
        variance = float(direction @ self.covariance @ direction)
        return self.deviations * math.sqrt(max(variance, 0.0))


def along(place: NDArray[np.float64]) -> NDArray[np.float64]:  # (d,) -> (d,)
    """Return the direction of a place from the middle, any where it is the middle: of length 1.

    Examples
    --------
    >>> along(np.array([0.0, -2.0])).tolist(), along(np.zeros(2)).tolist()
    ([0.0, -1.0], [1.0, 0.0])
    """
    length = float(np.linalg.norm(place))
    return place / length if length > 0 else np.eye(1, len(place))[0]


def within(found: float, reach: float, low: float, high: float) -> tuple[float, float, float]:
    """Return what was found, drawn into a range, and the ends of its interval there.

    Examples
    --------
    >>> within(-0.5, 0.25, 0.0, 1.0)
    (0.0, 0.0, 0.25)
    """
    middle = min(max(found, low), high)
    return middle, max(middle - reach, low), min(middle + reach, high)


def fraction(
    feature: str, what: str, label: str | int | None, value: float, reach: float, raw: float | None = None
) -> Estimate:
    """Return a figure from 0 to 1 with its interval, which is around `raw` where that is given."""
    _, low, high = within(value if raw is None else raw, reach, 0.0, 1.0)
    value = min(max(value, 0.0), 1.0)
    return Estimate(feature, what, label, value, min(low, value), max(high, value))


def onto_simplex(shares: NDArray[np.float64]) -> NDArray[np.float64]:  # (m,) -> (m,)
    """Return the nearest shares that are not negative and sum to 1.

    Examples
    --------
    >>> onto_simplex(np.array([0.9, 0.3, -0.2])).round(3).tolist()
    [0.8, 0.2, 0.0]
    """
    descending = np.sort(shares)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(shares) + 1)
    kept = int(np.flatnonzero(descending > excess)[-1])
    return np.asarray(np.maximum(shares - excess[kept], 0.0))
