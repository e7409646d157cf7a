"""What a fit does that the plan's promise does not cover, in words.

The promise is about secret coins and a ball that nobody's data decided. A fit in one process can do without
either, and then has to say so: in `guarantee_`, and in a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

SEEDED: Final = (
    "A fit with random_state draws its coins from a seed: whoever knows the seed undoes the noise. It is a "
    "simulation; leave random_state at None for a result to release."
)
BALL_FROM_DATA: Final = (
    "radius=None took the ball from the data: the farthest row decides it, and so is not hidden."
)
SCALED_BY_DATA: Final = (
    "The rows look scaled by statistics of these very rows ({how}): such a scaler tells of everybody, and "
    "its parameters are not covered. Scale by numbers that are known without looking at the data."
)

UNSUPPORTED: Final = (
    "Only {supported} of {clusters} groups stand clear of the privacy noise. Ask for fewer clusters, ask "
    "more people, or allow a larger epsilon."
)
TOO_MANY: Final = (
    "There are groups, but {clusters} are too many to tell apart: none stands clear of the privacy noise. "
    "Decode the tables (`tables_`) again, which costs no privacy, and {asking}."
)
ONE_GROUP: Final = (
    "The reports tell no groups apart: all {clusters} centers are the mean of everybody, and all rows have "
    "the same label. Ask more people, allow a larger epsilon, or ask about fewer features."
)
CLIPPED: Final = (
    "More than half of the rows lie outside the ball and were drawn back to its surface: the centers are "
    "those of the clipped rows. Choose a center and a radius that hold the data, without looking at it."
)
UNREAD: Final = (
    "Most values of {names} are none that the feature declares (a text where a number is wanted, another "
    "spelling of a category, yes and no instead of true and false), and count as missing: convert the "
    "column, or declare what stands in it."
)

_CLOSE: Final = 1e-9  # how closely a scaler meets its aim
_SOME: Final = 2000  # rows that are looked at first
_ROUGHLY: Final = 0.5  # how far those may be off
_FEWEST: Final = 10  # rows; below that, data meets a scaler's aim by chance


class SeededFitWarning(UserWarning):
    """A fit drew its coins from a seed: nobody's data is protected by it."""


class DataDependentBallWarning(UserWarning):
    """The ball was taken from the data, which the privacy guarantee does not cover."""


class DataDependentScaleWarning(UserWarning):
    """The rows look scaled by statistics of the data, which the privacy guarantee does not cover."""


class UnsupportedCentersWarning(UserWarning):
    """Fewer centers than asked for stand clear of the privacy noise: the fit is not usable as it is."""


class ClippedPointsWarning(UserWarning):
    """Most rows lie outside the ball, so that the centers are not those of the data."""


class UnreadColumnsWarning(UserWarning):
    """Most values of a column are none that its feature declares, so that they all lie at one place."""


def scaled_by(points: NDArray[Any]) -> str | None:
    """Return how the columns look scaled by their own statistics, or None: (n, d) -> str.

    A heuristic: a scaler in a pipeline cannot be seen, only what it leaves behind.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(3, 2, (100, 2))
    >>> scaled_by(rows), scaled_by((rows - rows.mean(0)) / rows.std(0))
    (None, 'mean 0 and deviation 1')
    """
    if len(points) < _FEWEST or np.issubdtype(points.dtype, np.integer):
        return None
    slack = _CLOSE if points.dtype == np.float64 else 1e-4
    some = points[:: max(1, len(points) // _SOME)]  # a few rows first: most data is far from any scaler's aim
    with np.errstate(over="ignore", invalid="ignore"):
        for aims in _AIMS:
            if all(_meets(aims, rows, near) for rows, near in ((some, _ROUGHLY), (points, slack))):
                return aims
    return None


def _meets(aims: str, points: NDArray[Any], slack: float) -> bool:
    """Return whether all columns that vary meet a scaler's aims within `slack`."""
    low, high = points.min(axis=0), points.max(axis=0)
    varied = high > low
    if not varied.any() or not np.isfinite(high - low).all():
        return False
    chosen = points if varied.all() else points[:, varied]
    zeros, ones = _AIMS[aims](chosen)
    near = bool((np.abs(zeros) <= slack).all() and (np.abs(ones - 1) <= slack).all())
    # Indicators have bounds of 0 and 1 by themselves.
    return near and not (aims in _BOUNDS and bool((chosen == np.rint(chosen)).all()))


def _sizes(points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    largest = np.maximum(-points.min(axis=0), points.max(axis=0))
    return largest - 1, largest


def _quartiles(points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    quarter, middle, three = np.quantile(points, (0.25, 0.5, 0.75), axis=0)
    return middle, three - quarter


_BOUNDS: Final = ("smallest 0 and largest 1", "largest size 1")
# What should be 0, and what should be 1.
_AIMS: Final[dict[str, Callable[[NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]]] = {
    "mean 0 and deviation 1": lambda x: (x.mean(axis=0, dtype=np.float64), x.std(axis=0, dtype=np.float64)),
    "smallest 0 and largest 1": lambda x: (x.min(axis=0), x.max(axis=0)),
    "largest size 1": _sizes,
    "median 0 and quartiles 1 apart": _quartiles,
}
