"""A result in words: each group's share and, feature by feature, what its center means, with intervals.

A center's error is a radius r that holds it at the stated rate. Taken as the same in all directions, each
coordinate has the variance r²/χ²(d), where χ²(d) is the quantile of that rate: the features turn it into
intervals of their own figures. Where no rate is stated, r is the root mean square of the noise alone: each
coordinate has the variance r²/d, and no intervals are given. A group is set apart by the features in which it
lies farther from everybody's mean than noise would carry it, the farthest first.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from coterie.errors import MissingExtraError, SettingError
from coterie.features import Estimate, Schema

LIBRARIES: Final = ("pandas", "polars", "pyarrow")
APART: Final = 3  # features that are named, at most
_ANY: Final = 0.9  # of intervals that are not given
CLEAR: Final = 0.999  # rate at which noise alone stays below what sets a group apart


@dataclass(frozen=True, slots=True)
class Group:
    """One center in words.

    Attributes
    ----------
    number : int
        Its place among the centers, from 0.
    share : float
        Of the people; 0 for a center without support.
    estimates : tuple of Estimate
        What the center means, in the order of the features. Low and high are NaN where no rate is stated.
    apart : tuple of str
        The features in which the group differs most from everybody, clear of the noise; at most three.
    """

    number: int
    share: float
    estimates: tuple[Estimate, ...]
    apart: tuple[str, ...]

    def __str__(self) -> str:
        if self.share == 0:
            return f"group {self.number}: does not stand clear of the noise"
        by = f", set apart by {', '.join(self.apart)}" if self.apart else ", not set apart from everybody"
        return "\n  ".join(
            [f"group {self.number}: {self.share:.0%} of people{by}", *map(str, self.estimates)]
        )


def groups_of(
    centers: NDArray[np.float64],
    shares: NDArray[np.float64],
    errors: NDArray[np.float64],
    rate: float | None,
    schema: Schema | None,
) -> tuple[Group, ...]:
    """Describe centers (k, d) with their shares and errors (k,), which hold at a rate, or are the noise."""
    everybody = shares @ centers / shares.sum() if shares.sum() > 0 else centers.mean(axis=0)
    found = []
    for number, center in enumerate(centers):
        known = math.isfinite(errors[number])
        parts = len(center) if rate is None else _quantile(rate, len(center))
        variance = float(errors[number]) ** 2 / parts if known else 0.0
        apart: tuple[str, ...] = ()
        if schema is None:
            estimates = _coordinates(center, math.sqrt(variance * _quantile(rate or _ANY, 1)))
        else:
            estimates = schema.describe_point(center, variance, confidence=rate or _ANY)
            apart = _apart(schema, center - everybody, variance) if known else ()
        if not known or rate is None:
            estimates = tuple(dataclasses.replace(each, low=math.nan, high=math.nan) for each in estimates)
        found.append(Group(number, float(shares[number]), estimates, apart))
    return tuple(found)


def _quantile(rate: float, dimension: int) -> float:
    """Return the squared radius that holds a standard normal vector at a rate."""
    return 2.0 * float(gammaincinv(dimension / 2, rate))


def _coordinates(center: NDArray[np.float64], reach: float) -> tuple[Estimate, ...]:
    return tuple(
        Estimate(f"x{i}", "value", None, value, value - reach, value + reach)
        for i, value in enumerate(center.tolist())
    )


def _apart(schema: Schema, away: NDArray[np.float64], variance: float) -> tuple[str, ...]:
    distances = []
    for feature, block in schema.blocks():
        distance = float(np.linalg.norm(away[block]))
        if distance**2 > variance * _quantile(CLEAR, feature.coordinates):
            distances.append((-distance, feature.name))
    return tuple(name for _, name in sorted(distances)[:APART])


def frame_of(groups: Sequence[Group], library: Any) -> Any:
    """Return one row per figure as a data frame of a library."""
    if library not in LIBRARIES:
        raise SettingError(f"library must be one of {', '.join(LIBRARIES)}, got {library!r}")
    rows = [(group, estimate) for group in groups for estimate in group.estimates]
    columns: dict[str, list[Any]] = {
        "group": [group.number for group, _ in rows],
        "group_share": [group.share for group, _ in rows],
        "feature": [estimate.feature for _, estimate in rows],
        "what": [estimate.what for _, estimate in rows],
        "label": [None if estimate.label is None else str(estimate.label) for _, estimate in rows],
        **{
            name: [getattr(estimate, name) for _, estimate in rows]
            for name in ("value", "low", "high", "unit")
        },
    }
    try:
        import narwhals

        return narwhals.from_dict(columns, backend=library).to_native()
    except ImportError:
        raise MissingExtraError(f"narwhals or {library}", "frames") from None
