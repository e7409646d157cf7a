"""A group in words: what sets it apart, as one would tell it to a colleague.

Every kind of feature has phrases of its own; a study that knows better ones gives them. Three conventions
make cycles readable, here and in the form of the participants' page:

    period 24, unit h                                 a time of day: 7:30
    period 7, a description with "0 is Monday"        days of the week (or from Sunday)
    period 12, a description with "0 is January"      months
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coterie.centers.groups import Group
from coterie.features import Category, Cycle, Estimate, Feature, Flag, Number, Ordinal, Schema
from coterie.plain.words import listed

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_FIRST: Final = re.compile(r"\b0 is (Monday|Sunday|January)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Phrase:
    """How one feature is spoken of.

    Each is a pattern with the fields name, figure, unit, label (the value whose share it is), yes and on
    (whether more than half of a group have it).
    """

    trait: str  # in a title
    said: str  # in a sentence, before the interval
    strip: str  # beside a strip


_NUMBER: Final = Phrase("{name} around {figure}{unit}", "{name} around {figure}{unit}", "{name}{in_unit}")
_CYCLE: Final = Phrase("{name} around {figure}", "{name} around {figure}", "{name}")
_CATEGORY: Final = Phrase("{name}: {label}", "{name} {label} for {figure}", "{label}")
_FLAG: Final = Phrase("{name}: mostly {yes}", "{name}: yes for {figure}", "{name}: yes")
_ORDINAL: Final = Phrase("{name} around {label}", "{name} around {label}, {figure}", "{name}")
_VECTOR: Final = Phrase(
    "{name} in a direction of its own", "{name} {figure} of the way in one direction", "{name}: agreement"
)


def phrase_of(feature: Feature) -> Phrase:
    """Return how a feature is spoken of where nobody says better."""
    known = ((Number, _NUMBER), (Cycle, _CYCLE), (Category, _CATEGORY), (Flag, _FLAG), (Ordinal, _ORDINAL))
    return next((phrase for kind, phrase in known if isinstance(feature, kind)), _VECTOR)


def is_clock(feature: Feature) -> bool:
    """Return whether a cycle is a time of day."""
    return isinstance(feature, Cycle) and feature.period == 24 and feature.unit in ("h", "hour", "hours")


def names_of(feature: Feature) -> tuple[str, ...] | None:
    """Return the names of a cycle's days or months, from 0 on; None where it has none.

    Examples
    --------
    >>> names_of(Cycle("day", 7, description="the day of most use; 0 is Sunday"))[:2]
    ('Sunday', 'Monday')
    """
    if not isinstance(feature, Cycle) or (found := _FIRST.search(feature.description)) is None:
        return None
    known = {"monday": WEEKDAYS, "sunday": (WEEKDAYS[6], *WEEKDAYS[:6]), "january": MONTHS}
    names = known[found[1].lower()]
    return names if feature.period == len(names) else None


def percent(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """Write a share in whole percent, with its range where one is stated; a dash for NaN.

    Examples
    --------
    >>> percent(0.452, 0.391, 0.508), percent(0.876), percent(math.nan)
    ('45% (39 to 51)', '88%', '–')
    """
    if math.isnan(value):
        return "–"
    held = "" if math.isnan(low) else f" ({100 * low:.0f} to {100 * high:.0f})"
    return f"{value:.0%}{held}"


def of(estimates: Sequence[Estimate], name: str) -> list[Estimate]:
    """Return the figures of one feature."""
    return [each for each in estimates if each.feature == name]


def main_figure(estimates: Sequence[Estimate]) -> Estimate:
    """Return the figure that says most: the value, else the largest share."""
    return estimates[0] if estimates[0].what == "value" else max(estimates, key=lambda each: each.value)


class Wording:
    """How the figures of a schema are told.

    Parameters
    ----------
    schema : Schema
        The features.
    phrases : mapping, optional
        By a feature's name, how it is spoken of.

    Examples
    --------
    >>> wording = Wording(Schema((Cycle("hour", 24, unit="h"), Category("device", ("phone", "tablet")))))
    >>> wording.figure(Estimate("hour", "value", None, 7.49, 7.0, 8.0, "h"))
    '7:29'
    >>> wording.interval(Estimate("device", "share", "phone", 0.92, 0.84, 1.0))
    '84 to 100%'
    """

    def __init__(self, schema: Schema, phrases: Mapping[str, Phrase] | None = None) -> None:
        self.schema = schema
        self._features = {feature.name: feature for feature in schema.features}
        self._phrases = dict(phrases or {})

    def feature(self, estimate: Estimate) -> Feature:
        """Return the feature of a figure."""
        return self._features[estimate.feature]

    def figure(self, estimate: Estimate) -> str:
        """Write a figure as people do: a time of day, a weekday, whole percent."""
        return self._written(estimate, estimate.value)

    def interval(self, estimate: Estimate) -> str:
        """Write its interval; nothing where none is stated, or none that says more than the figure."""
        if math.isnan(estimate.low):
            return ""
        feature = self.feature(estimate)
        if isinstance(feature, Cycle) and estimate.high - estimate.low == feature.period:
            return "may be any"
        low, high = self._written(estimate, estimate.low), self._written(estimate, estimate.high)
        if low == high == self.figure(estimate):
            return ""
        unit = f" of {len(feature.levels)}" if isinstance(feature, Ordinal) else "%"
        return f"{low.removesuffix(unit)} to {high}"

    def strip(self, estimate: Estimate) -> str:
        """Name a figure beside its strip."""
        return self._fill(estimate, self._phrase(estimate).strip)

    def title(self, group: Group) -> str:
        """Name a group by what sets it apart."""
        like = "everybody" if group.share == 1 else "much like all"
        if group.clear is None:
            like = f"group {group.name}"
        words = ", ".join(self._trait(of(group.estimates, name)) for name in group.apart) or like
        return words[:1].upper() + words[1:]

    def sentence(self, group: Group, everybody: Sequence[Estimate]) -> str:
        """Return how large a group is and what sets it apart, with intervals, beside everybody."""
        parts = []
        for name in group.apart:
            main = main_figure(of(group.estimates, name))
            asides = [self.interval(main)]
            if not isinstance(self.feature(main), Cycle):  # everybody has no one usual time
                all_of_it = of(everybody, name)
                same = next((each for each in all_of_it if each.label == main.label), all_of_it[0])
                asides.append(f"everybody {self.figure(same)}")
            beside = "; ".join(each for each in asides if each)
            parts.append(self._fill(main, self._phrase(main).said) + (f" ({beside})" if beside else ""))
        apart = f" What sets them apart: {listed(parts)}." if parts else ""
        return f"{percent(group.share, group.low, group.high)} of people.{apart}"

    def _phrase(self, estimate: Estimate) -> Phrase:
        return self._phrases.get(estimate.feature) or phrase_of(self.feature(estimate))

    def _fill(self, estimate: Estimate, pattern: str) -> str:
        feature = self.feature(estimate)
        unit = feature.unit if estimate.what == "value" else ""
        often = estimate.value > 0.5
        return pattern.format(
            name=feature.name,
            figure=self.figure(estimate),
            label=estimate.label,
            unit=f" {unit}" if unit else "",
            in_unit=f", {unit}" if unit else "",
            yes="yes" if often else "no",
            on="on" if often else "off",
        )

    def _trait(self, estimates: Sequence[Estimate]) -> str:
        main = main_figure(estimates)
        feature = self.feature(main)
        if is_clock(feature):  # to the half hour
            near = round(2 * main.value) / 2
            main = Estimate(main.feature, main.what, None, near, near, near, main.unit)
        names = names_of(feature)
        if names is not None and "Saturday" in names and main.what == "value":
            day = (main.value - names.index("Monday")) % 7
            if 4.5 < day < 6.5:
                return "at the weekend"
        return self._fill(main, self._phrase(main).trait)

    def _written(self, estimate: Estimate, value: float) -> str:
        if estimate.what != "value":
            return f"{value:.0%}"
        feature = self.feature(estimate)
        if is_clock(feature):
            minutes = round(value * 60) % (24 * 60)
            return f"{minutes // 60}:{minutes % 60:02d}"
        if (names := names_of(feature)) is not None:
            return names[round(value) % len(names)]
        if isinstance(feature, Ordinal):
            return f"{value:.1f} of {len(feature.levels)}"
        if isinstance(feature, Number) and feature.scale == "linear":
            return rounded(value, feature.high - feature.low)
        return rounded(value, feature.period if isinstance(feature, Cycle) else 3 * value)


def rounded(value: float, span: float) -> str:
    """Write a number with as many decimals as tell a thirtieth of a span.

    Examples
    --------
    >>> rounded(19.6, 30), rounded(0.1234, 0.5), rounded(123456.7, 1e6), rounded(3e-9, 1e-8)
    ('20', '0.12', '123,457', '3e-09')
    """
    if not value or not span:
        return f"{value:.0f}"
    decimals = math.ceil(1 - math.log10(abs(span) / 3))
    tiny_or_huge = decimals > 6 or decimals < -12
    return f"{value:.2g}" if tiny_or_huge else f"{value:,.{max(decimals, 0)}f}"
