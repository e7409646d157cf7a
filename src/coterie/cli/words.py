"""The demo's words: what was found, group by group, as one would tell it to a colleague."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from coterie.cli.people import HABITS, WEEKDAYS
from coterie.features import Estimate

if TYPE_CHECKING:
    from coterie.centers.groups import Group
    from coterie.cli.simulation import Study

LETTERS: Final = "ABCDE"

_COUNTS: Final = ("no", "one", "two", "three", "four", "five")
_WEEKEND: Final = (4.5, 6.5)
_CYCLES: Final = ("hour", "weekday")
_SAID: Final = {
    "hour": "use around {0}",
    "weekday": "use around {0}",
    "minutes": "visits of {0} minutes",
    "visits": "{0} visits per week",
    "device": "{0} on the {1}",
    "notifications": "notifications on for {0}",
}


def headline(study: Study) -> str:
    """Say in one line what was found, or that nothing was."""
    people, found, asked = f"{study.result.count:,} people", len(study.found()), len(HABITS)
    if not found:
        return f"Nothing was found among {people}: too few for ε = {study.plan.epsilon:g}"
    width = f"from {study.plan.report_width} private bytes each"
    if found == asked:
        return f"{_COUNTS[found].capitalize()} groups found among {people}, {width}"
    return f"Only {_COUNTS[found]} of {_COUNTS[asked]} groups found among {people}, {width}"


def shortcomings(study: Study) -> list[str]:
    """Say what could not be found and what is wrong, in whole sentences; nothing where all is well."""
    told, found = len(study.told()), study.found()
    missed = [habit.name for i, habit in enumerate(HABITS) if i not in found.values()]
    words = []
    if missed:
        words.append(f"Not found of the groups that were simulated: {_listed(missed)}.")
    if told > len(found):
        words.append(
            f"{_COUNTS[told - len(found)].capitalize()} of the groups told below is none that was simulated."
        )
    return [*words, *study.result.notes]


def title(group: Group) -> str:
    """Name a group by what sets it apart.

    Examples
    --------
    >>> from coterie.centers.groups import Group
    >>> late = Estimate("hour", "value", None, 23.5, 23.0, 0.1, "h")
    >>> title(Group(0, 0.2, (late,), ("hour",)))
    'Around 23:30'
    """
    words = ", ".join(_trait(of(group.estimates, name)) for name in group.apart)
    return words[:1].upper() + words[1:]


def sentence(group: Group, everybody: Sequence[Estimate]) -> str:
    """Say how large a group is and what sets it apart, with intervals, beside everybody."""
    parts = []
    for name in group.apart:
        main = _main(of(group.estimates, name))
        same = next(each for each in of(everybody, name) if each.label == main.label)
        beside = "" if name in _CYCLES else f"; everybody {figure(same)}"  # who have no one usual time
        parts.append(f"{_SAID[name].format(figure(main), main.label)} ({interval(main)}{beside})")
    return f"About {group.share:.0%} of people. What sets them apart: {_listed(parts)}."


def of(estimates: Sequence[Estimate], name: str) -> list[Estimate]:
    """Return the figures of one feature."""
    return [each for each in estimates if each.feature == name]


def figure(estimate: Estimate) -> str:
    """Write a figure as people do: a time of day, a weekday, whole percent.

    Examples
    --------
    >>> figure(Estimate("hour", "value", None, 7.49, 7.0, 8.0, "h"))
    '7:29'
    """
    return _written(estimate, estimate.value)


def interval(estimate: Estimate) -> str:
    """Write its interval; nothing where none is stated.

    Examples
    --------
    >>> interval(Estimate("device", "share", "phone", 0.92, 0.84, 1.0))
    '84 to 100%'
    """
    if math.isnan(estimate.low):
        return ""
    low, high = _written(estimate, estimate.low), _written(estimate, estimate.high)
    return low if low == high else f"{low.removesuffix('%')} to {high}"


def _written(estimate: Estimate, value: float) -> str:
    if estimate.what != "value":
        return f"{value:.0%}"
    if estimate.feature == "hour":
        minutes = round(value * 60) % (24 * 60)
        return f"{minutes // 60}:{minutes % 60:02d}"
    if estimate.feature == "weekday":
        return WEEKDAYS[round(value) % 7]
    return f"{value:.0f}"


def _main(estimates: Sequence[Estimate]) -> Estimate:
    """Return the figure that says most: the value, else the largest share."""
    return estimates[0] if estimates[0].what == "value" else max(estimates, key=lambda each: each.value)


def _trait(estimates: Sequence[Estimate]) -> str:
    main = _main(estimates)
    if main.feature == "hour":
        return f"around {figure(_to_the_half_hour(main))}"
    if main.feature == "weekday":
        return "at the weekend" if _WEEKEND[0] < main.value < _WEEKEND[1] else f"around {figure(main)}"
    if main.feature == "minutes":
        return f"{figure(main)}-minute visits"
    if main.feature == "visits":
        return f"{figure(main)} visits per week"
    if main.feature == "notifications":
        return f"notifications {'on' if main.value > 0.5 else 'off'}"
    return f"on the {main.label}"


def _to_the_half_hour(hour: Estimate) -> Estimate:
    near = round(2 * hour.value) / 2
    return Estimate(hour.feature, hour.what, None, near, near, near, hour.unit)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
