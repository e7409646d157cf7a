"""A group's profile: each of its figures along what the figure can be, with its range, and everybody's."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from coterie.centers.groups import Group
from coterie.centers.result import Result
from coterie.errors import SettingError
from coterie.features import Category, Cycle, Estimate, Feature, Number, Ordinal
from coterie.plain.words import letter
from coterie.plots.style import INK, LINE, PEOPLE, SOFT, Display, color_of, styled
from coterie.show.told import Told
from coterie.show.words import Wording, is_clock, names_of, percent, rounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS: Final = 16
_HEIGHT: Final = 0.3  # inches of a row
_LINE: Final = 40  # letters of a line above


class Row(NamedTuple):
    """One figure along a rail from 0 to 1."""

    label: str
    here: float
    ranges: tuple[tuple[float, float], ...]  # two where a cycle's range comes round
    everybody: float  # NaN where everybody has no one figure
    said: str
    ends: tuple[str, str]  # what 0 and 1 stand for


@dataclass(slots=True, eq=False)
class ProfileDisplay(Display):
    """What the people of a group are like, figure by figure, and everybody beside it.

    Every row runs from the least to the most that its figure can be. The dot is the group, the thick line its
    range, the grey tick everybody.

    Parameters
    ----------
    group : Group
        Which.
    rows : sequence of Row
        Its figures.
    title : str
        Above them.
    color : str
        Of the group.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.
    """

    group: Group
    rows: Sequence[Row]
    title: str
    color: str

    @classmethod
    def from_result(cls, result: Result, group: str | int = "A", *, ax: Axes | None = None) -> Self:
        """Draw one group's profile.

        Parameters
        ----------
        result : Result
            What was found.
        group : str or int
            By its letter, or its place among the centers.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if None.

        Raises
        ------
        SettingError
            If there is no such group, or noise hides it.
        """
        return cls._of(Told.of(result.to_dict(), result.radius), result, group).plot(ax)

    @classmethod
    def all_from_result(cls, result: Result) -> list[Self]:
        """Draw all groups that are told, one beside the other, into one new figure.

        Raises
        ------
        SettingError
            If the noise hides all groups.
        """
        told = Told.of(result.to_dict(), result.radius)
        if not told.told:
            raise SettingError(
                "no group of this result stands clear of the noise: there is no profile to draw"
            )
        with styled():
            from matplotlib import pyplot

            found = [cls._of(told, result, group.number) for group in told.told]
            across = min(len(found), 2)
            down = -(-len(found) // across)
            size = (6.2 * across, down * found[0]._size()[1])
            _, axes = pyplot.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
            for spare in axes.flat[len(found) :]:
                spare.set_axis_off()
        return [each.plot(ax) for each, ax in zip(found, axes.flat, strict=False)]

    @classmethod
    def _of(cls, told: Told, result: Result, wanted: str | int) -> Self:
        name = letter(wanted) if isinstance(wanted, int) else wanted
        found = [(place, each) for place, each in enumerate(told.told) if each.name == name]
        if not found:
            names = ", ".join(each.name for each in told.told) or "none"
            raise SettingError(f"group must be one that stands clear of the noise ({names}), got {wanted!r}")
        place, group = found[0]
        wording = None if result.features is None else Wording(result.features)
        named = f"group {group.name}" if wording is None else f"{group.name}  {wording.title(group)}"
        title = [*textwrap.wrap(named, _LINE), f"{percent(group.share, group.low, group.high)} of people"]
        rows = _rows_of_points(group, told) if wording is None else _rows(group, told, wording)
        return cls(group, rows[:_MOST_ROWS], "\n".join(title), color_of(place))

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.3 + _HEIGHT * len(self.rows)

    def _draw(self, ax: Axes) -> None:
        places = np.arange(len(self.rows))[::-1]
        for place, row in zip(places, self.rows, strict=True):
            self._row(ax, float(place), row)
        ax.set_yticks(places, [row.label for row in self.rows])
        ax.set_ylim(-0.7, len(self.rows) - 0.3)
        ax.set_xlim(-0.02, 1.02)
        ax.set_xticks([])
        ax.set_xlabel("dot: the group, with its range     tick: everybody", fontsize=8, loc="left")
        ax.spines[:].set_visible(False)
        ax.set_title(self.title, fontsize=10, linespacing=1.4)

    def _row(self, ax: Axes, y: float, row: Row) -> None:
        ax.plot([0, 1], [y, y], color=LINE, linewidth=3.5, solid_capstyle="round", zorder=1)
        for low, high in row.ranges:
            thick: dict[str, Any] = {"linewidth": 5, "solid_capstyle": "butt"}
            ax.plot([low, high], [y, y], color=self.color, alpha=0.45, zorder=2, **thick)
        if not math.isnan(row.everybody):
            ax.plot([row.everybody] * 2, [y - 0.27, y + 0.27], color=PEOPLE, linewidth=2.6, zorder=2)
        ax.scatter([row.here], [y], s=42, color=self.color, zorder=4, clip_on=False)
        side: dict[str, Any] = {"va": "center", "fontsize": 8.8, "clip_on": False}
        ax.text(1.04, y, row.said, color=INK, **side)
        ends: dict[str, Any] = {"fontsize": 6.8, "color": SOFT, "va": "top", "clip_on": False}
        ax.text(0, y - 0.2, row.ends[0], ha="left", **ends)
        ax.text(1, y - 0.2, row.ends[1], ha="right", **ends)


def _rows(group: Group, told: Told, wording: Wording) -> list[Row]:
    rows = []
    for estimate, all_of_it in zip(group.estimates, told.everybody, strict=True):
        feature = wording.feature(estimate)
        if isinstance(feature, Cycle) and estimate.what != "value":
            continue  # how far people agree on the time
        interval = wording.interval(estimate)
        said = wording.figure(estimate) + (f"  ({interval})" if interval else "")
        label = wording.strip(estimate)
        if isinstance(feature, Category):
            label = f"{feature.name}: {label}"
        if isinstance(feature, Cycle):
            rows.append(_round(feature, estimate, label, said))
            continue
        ranges: tuple[tuple[float, float], ...] = ()
        if not math.isnan(estimate.low):
            ranges = ((_along(feature, estimate.low), _along(feature, estimate.high)),)
        here, beside = _along(feature, estimate.value), _along(feature, all_of_it.value)
        rows.append(Row(label, here, ranges, beside, said, _ends(feature)))
    return rows


def _round(feature: Cycle, estimate: Estimate, label: str, said: str) -> Row:
    """Place a usual time: its range may come round, and everybody has no one usual time."""
    period = feature.period
    ranges: tuple[tuple[float, float], ...] = ()
    if not math.isnan(estimate.low):
        low, high = estimate.low, estimate.high
        parts = ((low, high),) if low <= high else ((low, period), (0.0, high))
        ranges = tuple((start / period, end / period) for start, end in parts)
    names = names_of(feature)
    ends = (names[0], names[-1]) if names else ("0", f"{period:g}")
    ends = ("0:00", "24:00") if is_clock(feature) else ends
    return Row(label, estimate.value % period / period, ranges, math.nan, said, ends)


def _along(feature: Feature, value: float) -> float:
    return min(max(feature.along(value), 0.0), 1.0)


def _ends(feature: Feature) -> tuple[str, str]:
    if isinstance(feature, Number):
        span = feature.high - feature.low
        return rounded(feature.low, span), rounded(feature.high, span)
    if isinstance(feature, Ordinal):
        return str(feature.levels[0]), str(feature.levels[-1])
    return "", ""  # a share, which is from 0 to 100 %


def _rows_of_points(group: Group, told: Told) -> list[Row]:
    """Place coordinates: those that set the group apart, then the others in their order."""
    everybody = {each.feature: each.value for each in told.everybody}
    first = [each for each in group.estimates if each.feature in group.apart]
    shown = [*first, *(each for each in group.estimates if each.feature not in group.apart)][:_MOST_ROWS]
    reach = 1.05 * max(float(np.abs(told.centers).max()), max(map(abs, everybody.values())))
    rows = []
    for each in shown:
        held = not math.isnan(each.low)
        ranges = ((_middle(each.low, reach), _middle(each.high, reach)),) if held else ()
        said = f"{each.value:.2g}" + (f"  ({each.low:.2g} to {each.high:.2g})" if held else "")
        here, beside = _middle(each.value, reach), _middle(everybody[each.feature], reach)
        rows.append(Row(each.feature, here, ranges, beside, said, (f"{-reach:.2g}", f"{reach:.2g}")))
    return rows


def _middle(value: float, reach: float) -> float:
    return min(max((value / reach + 1) / 2, 0.0), 1.0)
