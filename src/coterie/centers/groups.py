"""A result in words: each group's share and, feature by feature, what its center means, with intervals.

A group is the people nearest to a center. Its radius holds their mean at the stated rate, and the profile
says what part of that is a deviation in each coordinate: the features turn those into intervals of their own
figures. Where no rate is stated, the radius is the root mean square of the noise alone: each coordinate has
the deviation radius/√d, and no intervals are given. A group is set apart by the features in which it lies
farther from everybody's mean than noise would carry it, the farthest first.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from coterie.centers.solution import COVERAGE
from coterie.plain.words import letter

if TYPE_CHECKING:
    from coterie.centers.result import Result
    from coterie.features import Estimate, Schema

APART: Final = 3  # features that are named, at most
_NOISE: Final = 0.999  # rate at which noise alone stays below what sets a group apart


@dataclass(frozen=True, slots=True)
class Group:
    """The people nearest to one center, in words.

    Attributes
    ----------
    number : int
        Its place among the centers, from 0; the largest group comes first.
    share : float
        Of the people.
    low, high : float
        The interval of the share; NaN where no rate is stated.
    clear : bool or None
        Whether the group stands clear of the noise: the rows would lose much without it. None where nothing
        is stated of its errors.
    estimates : tuple of Estimate
        What their mean is, in the order of the features; of coordinates where there are none. Low and high
        are NaN where no rate is stated.
    apart : tuple of str
        The features, or coordinates, in which the group differs most from everybody, clear of the noise; at
        most three.
    """

    number: int
    share: float
    low: float
    high: float
    clear: bool | None
    estimates: tuple[Estimate, ...]
    apart: tuple[str, ...]

    @property
    def name(self) -> str:
        """How the group is called wherever it is shown: A, B, C and so on."""
        return letter(self.number)

    def __str__(self) -> str:
        if not self.share:
            return f"group {self.name}: nobody"
        held = "" if math.isnan(self.low) else f" [{self.low:.0%}, {self.high:.0%}]"
        like = ", much like everybody" * bool(self.clear and self.share < 1)
        by = f", set apart by {', '.join(self.apart)}" if self.apart else like
        doubt = ", does not stand clear of the noise" * (self.clear is False and self.share < 1)
        shown = [each for each in self.estimates if each.feature in self.apart] or self.estimates[:APART]
        figures = self.estimates if len(self.estimates) <= _MOST_FIGURES else shown
        return "\n  ".join(
            [f"group {self.name}: {self.share:.0%}{held} of people{by}{doubt}", *map(str, figures)]
        )


_MOST_FIGURES: Final = 40  # of a group in words; of more, what sets it apart


def groups_of(result: Result) -> tuple[Group, ...]:
    """Describe the groups of a result."""
    found = []
    middle = result.weights @ result.centers / max(float(result.weights.sum()), 1e-300)
    for number, (center, share) in enumerate(zip(result.centers, result.weights, strict=True)):
        deviations = _deviations(result, number)
        if result.confirmed is None:
            # Where no groups are told apart the center is drawn towards the middle; else its radius holds.
            alone = share == 1 and result.is_stated and not result.clear[number]
            alone = alone and math.isfinite(result.mean_error)
            estimates = (
                everybody_of(result)
                if alone
                else _estimates(result.features, center, deviations, result.coverage)
            )
            half = float(result.weight_errors[number])
            low, high = max(share - half, 0.0), min(share + half, 1.0)
        else:
            told = result.confirmed.groups[number]
            estimates, (_, low, high) = told.estimates, told.share
        apart: tuple[str, ...] = ()
        if np.isfinite(deviations).all():
            apart = _apart(result.features, center - middle, deviations)
        clear = bool(result.clear[number]) if result.is_stated else None
        found.append(Group(number, float(share), float(low), float(high), clear, estimates, apart))
    return tuple(found)


def everybody_of(result: Result) -> tuple[Estimate, ...]:
    """Describe the mean of all people, read off the reports and not off the groups."""
    deviations = np.full(len(result.mean), result.mean_error)
    return _estimates(result.features, result.mean, deviations, result.coverage)


def _deviations(result: Result, number: int) -> NDArray[np.float64]:
    """Return the deviation of each coordinate of a group's mean: (d,)."""
    if result.confirmed is not None:
        return result.confirmed.groups[number].deviations
    radius, dimension = float(result.errors[number]), result.centers.shape[1]
    if result.profile is None:
        return np.full(dimension, radius / math.sqrt(dimension))
    return radius * result.profile


def _estimates(
    schema: Schema | None,
    point: NDArray[np.float64],
    deviations: NDArray[np.float64],
    rate: float | None,
) -> tuple[Estimate, ...]:
    known = rate is not None and bool(np.isfinite(deviations).all())
    confidence = rate or COVERAGE  # of intervals that are not given
    if schema is None:
        from coterie.features.reading import Estimate

        reach = NormalDist().inv_cdf((1 + confidence) / 2) * deviations
        estimates = tuple(
            Estimate(f"x{i}", "value", None, value, value - half, value + half)
            for i, (value, half) in enumerate(zip(point.tolist(), reach.tolist(), strict=True))
        )
    else:
        variances = deviations**2 if known else None
        estimates = schema.describe_point(point, variances, confidence=confidence)
    if known:
        return estimates
    return tuple(dataclasses.replace(each, low=math.nan, high=math.nan) for each in estimates)


def forging(told: NDArray[np.bool_], fragile: NDArray[np.float64]) -> str:
    """Say of the group that forged reports could have made up most easily how many that takes.

    Parameters
    ----------
    told : ndarray of bool, shape (k,)
        The groups that are told.
    fragile : ndarray of float64, shape (k, 2)
        As in `Result`.

    Examples
    --------
    >>> forging(np.array([True, True]), np.array([[0.03, 0.001], [0.0049, 0.002]]))
    'If 0.49% of the reports were forged, group B could be made up.'
    """
    made = np.where(told, fragile[:, 0], np.nan)
    if np.isnan(made).all() or len(made) == 1:  # everybody is not made up
        return ""
    place = int(np.nanargmin(made))
    if made[place] == 0:
        return "If one report was forged, every group could be made up: nothing holds a share to anything."
    return f"If {100 * made[place]:.2g}% of the reports were forged, group {letter(place)} could be made up."


def _quantile(rate: float, dimension: int) -> float:
    """Return the squared radius that holds a standard normal vector at a rate."""
    return 2.0 * float(gammaincinv(dimension / 2, rate))


def _apart(
    schema: Schema | None, away: NDArray[np.float64], deviations: NDArray[np.float64]
) -> tuple[str, ...]:
    """Return the features in which a group lies away from everybody, (d,), by more than noise would."""
    blocks: list[tuple[str, slice]] = (
        [(f"x{i}", slice(i, i + 1)) for i in range(len(away))]
        if schema is None
        else [(feature.name, block) for feature, block in schema.blocks()]
    )
    distances = []
    for name, block in blocks:
        variance = float((deviations[block] ** 2).mean())
        distance = float(np.linalg.norm(away[block]))
        if distance**2 > variance * _quantile(_NOISE, len(away[block])):
            distances.append((-distance, name))
    return tuple(name for _, name in sorted(distances)[:APART])
