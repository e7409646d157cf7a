"""A group's card: a curve or bars for each cycle, and a strip for every other figure.

Everywhere the group is drawn against everybody, with its interval, and with the truth where a simulation
knows it. A cycle's figures are a usual time and an agreement R; the curve is the bell of a von Mises law that
has both,

    f(t) ∝ exp(κ·cos(2π·(t - usual)/period)),    I₁(κ)/I₀(κ) = R.

Everybody's figures are read off the reports and not off the groups: their bell is nearly flat where groups
have different times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.groups import Group
from coterie.features import Category, Cycle, Estimate, Number, Ordinal
from coterie.show.words import Wording, is_clock, names_of, of, rounded

MOST_CARDS: Final = 26
COLORS: Final = 5  # that the sheet has

_MOST_FIGURES: Final = 24  # of one card, in order; what sets a group apart stands in its sentence
_MOST_SHARES: Final = 6  # of one category, the largest
_MOST_AGREEMENT: Final = 0.97  # that is drawn: of a day, a bell of an hour and a half to either side
_STEPS: Final = 97  # of a curve
_MOST_BARS: Final = 12
_TALL: Final = 60


@dataclass(frozen=True, slots=True)
class Truth:
    """What a simulation knows of a group."""

    estimates: tuple[Estimate, ...] | None  # None: it is no group of the simulation
    words: str
    color: str  # of the sheet's classes: g0 to g4, or gx


def cards(
    told: Sequence[Group],
    everybody: Sequence[Estimate],
    wording: Wording,
    truths: Mapping[int, Truth] | None = None,
) -> str:
    """Return a card for each group, at most `MOST_CARDS`, and one for everybody.

    Parameters
    ----------
    told : sequence of Group
        The groups, the largest first.
    everybody : sequence of Estimate
        What they are compared with, `Result.everybody`.
    wording : Wording
        How figures are told.
    truths : mapping, optional
        Of a simulation, by the groups' numbers.
    """
    drawer = _Drawer(everybody, wording)
    known = truths or {}
    shown = [
        drawer.card(place, group, known.get(group.number)) for place, group in enumerate(told[:MOST_CARDS])
    ]
    return "".join([*shown, drawer.everybody()])


@dataclass(frozen=True, slots=True)
class _Drawer:
    all_estimates: Sequence[Estimate]
    wording: Wording

    def card(self, place: int, group: Group, truth: Truth | None) -> str:
        color = f"g{place % COLORS}" if truth is None else truth.color
        named = "" if truth is None else f'<p class="named">{escape(truth.words)}</p>'
        title = escape(self.wording.title(group))
        return (
            f'<article class="card group {color}">'
            f'<h3><span class="letter">{group.name}</span><bdi>{title}</bdi></h3>'
            f"<p><bdi>{escape(self.wording.sentence(group, self.all_estimates))}</bdi></p>"
            f"{self._figures(group.estimates, None if truth is None else truth.estimates)}{named}</article>"
        )

    def everybody(self) -> str:
        """Return the card of everybody."""
        return (
            '<article class="card group gx"><h3>Everybody</h3>'
            "<p>All people together, read off the reports and not off the groups.</p>"
            f"{self._figures(self.all_estimates, None)}</article>"
        )

    def _figures(self, mine: Sequence[Estimate], truth: Sequence[Estimate] | None) -> str:
        cycles, strips = [], []
        for feature in self.wording.schema.features[:_MOST_FIGURES]:
            if isinstance(feature, Cycle):
                draw = self._bars if _ticks(feature) else self._curve
                cycles.append(draw(feature, mine, truth))
                continue
            strips += self._strips(feature.name, mine, truth)
        more = len(self.wording.schema.features) - _MOST_FIGURES
        rest = f'<p class="more">and {more:,} more features</p>' if more > 0 else ""
        return "".join([*cycles, *strips]) + rest

    # ------------------------------------------------------------ cycles

    def _bells(
        self,
        feature: Cycle,
        mine: Sequence[Estimate],
        truth: Sequence[Estimate] | None,
        times: NDArray[np.float64],
    ) -> list[NDArray[np.float64]]:
        """Return the bells of the group, of everybody and, if known, of the truth."""
        drawn = [mine, self.all_estimates, *([] if truth is None else [truth])]
        return [bell(of(each, feature.name), times, feature.period) for each in drawn]

    def _curve(self, feature: Cycle, mine: Sequence[Estimate], truth: Sequence[Estimate] | None) -> str:
        times = np.linspace(0, feature.period, _STEPS)
        curves = self._bells(feature, mine, truth, times)
        top = max(float(curve.max()) for curve in curves) * 1.05
        lines = [
            "L".join(
                f"{240 * place / (_STEPS - 1):.1f} {_TALL * (1 - height / top):.1f}"
                for place, height in enumerate(curve)
            )
            for curve in curves
        ]
        marks = [
            f'<path class="all" d="M0 {_TALL}L{lines[1]}L240 {_TALL}Z"/>',
            f'<path class="mine" d="M0 {_TALL}L{lines[0]}L240 {_TALL}Z"/>',
            *(f'<path class="truth" d="M{line}"/>' for line in lines[2:]),
        ]
        quarters = [feature.period * part / 4 for part in range(5)]
        clock = is_clock(feature)
        labels = "".join(
            f"<span>{f'{time:.0f}:00' if clock else rounded(time, feature.period)}</span>"
            for time in quarters
        )
        return self._figure(
            feature,
            mine,
            f'<svg viewBox="0 0 240 {_TALL}" preserveAspectRatio="none" role="img" '
            f'aria-label="{escape(feature.name)}: the group and everybody">{"".join(marks)}</svg>'
            f'<div class="axis">{labels}</div>',
        )

    def _bars(self, feature: Cycle, mine: Sequence[Estimate], truth: Sequence[Estimate] | None) -> str:
        count = round(feature.period)
        bells = self._bells(feature, mine, truth, np.arange(float(count)))
        top = max(float(each.max()) for each in bells)
        tall = [36 * each / top for each in bells]
        marks = []
        for place in range(count):
            x = 10 * place
            here, other = tall[0][place], tall[1][place]
            marks += [
                f'<rect class="all" x="{x + 0.6}" y="{36 - other:.1f}" width="8.8" height="{other:.1f}"/>',
                f'<rect class="mine" x="{x + 2.2}" y="{36 - here:.1f}" width="5.6" height="{here:.1f}"/>',
                *(f'<path class="truth" d="M{x + 0.6} {36 - each[place]:.1f}h8.8"/>' for each in tall[2:]),
            ]
        labels = "".join(f"<span>{name}</span>" for name in _ticks(feature))
        return self._figure(
            feature,
            mine,
            f'<svg class="week" viewBox="0 0 {10 * count} 36" preserveAspectRatio="none" role="img" '
            f'aria-label="{escape(feature.name)}: the group and everybody">{"".join(marks)}</svg>'
            f'<div class="axis days">{labels}</div>',
        )

    def _figure(self, feature: Cycle, mine: Sequence[Estimate], drawing: str) -> str:
        usual = of(mine, feature.name)[0]
        told = "" if mine is self.all_estimates else self.wording.interval(usual)  # theirs are several
        words = f" <b>{self.wording.figure(usual)}</b> <small>{told}</small>" if told else ""
        return f'<div class="figure"><h4><bdi>{escape(feature.name)}</bdi>{words}</h4>{drawing}</div>'

    # ------------------------------------------------------------ numbers and shares

    def _strips(self, name: str, mine: Sequence[Estimate], truth: Sequence[Estimate] | None) -> list[str]:
        own, same = of(mine, name), of(self.all_estimates, name)
        known = [None] * len(own) if truth is None else of(truth, name)
        rows = list(zip(own, same, known, strict=True))
        feature = self.wording.feature(own[0])
        if isinstance(feature, Category):
            largest = sorted(rows, key=lambda row: -row[0].value)[:_MOST_SHARES]
            rows = [row for row in rows if row in largest] if len(rows) > _MOST_SHARES else rows
        strips = [self._strip(*row) for row in rows]
        if isinstance(feature, Category):
            more = len(own) - len(rows)
            rest = [f'<p class="more">and {more:,} more</p>'] if more else []
            return [f'<h4 class="of"><bdi>{escape(name)}</bdi></h4>', *strips, *rest]
        return strips

    def _strip(self, estimate: Estimate, everybody: Estimate, truth: Estimate | None) -> str:
        feature = self.wording.feature(estimate)

        def along(value: float) -> float:
            if isinstance(feature, Number) and feature.scale == "log":
                return 100 * math.log(value / feature.low) / math.log(feature.high / feature.low)
            if isinstance(feature, Number):
                return 100 * (value - feature.low) / (feature.high - feature.low)
            if isinstance(feature, Ordinal):
                return 100 * (value - 1) / (len(feature.levels) - 1)
            return 100 * value

        here, low, high = (along(each) for each in (estimate.value, estimate.low, estimate.high))
        marks = ['<rect class="rail" x="0" y="4" width="100" height="4"/>']
        if estimate.what == "share":
            marks.append(f'<rect class="bar" x="0" y="2" width="{here:.1f}" height="8"/>')
        if not math.isnan(low):
            marks.append(
                f'<rect class="span" x="{low:.1f}" y="4" width="{max(high - low, 0.5):.1f}" height="4"/>'
            )
        marks.append(f'<path class="tick" d="M{_inside(along(everybody.value)):.1f} 0v12"/>')
        if truth is not None:
            marks.append(f'<path class="truth" d="M{_inside(along(truth.value)):.1f} 0v12"/>')
        marks.append(f'<path class="here" d="M{_inside(here):.1f} 1v10"/>')
        label = self.wording.strip(estimate)
        return (
            f'<div class="strip"><span><bdi>{escape(label)}</bdi></span>'
            '<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
            f"{''.join(marks)}</svg><span><b>{escape(self.wording.figure(estimate))}</b> "
            f"<small>{escape(self.wording.interval(estimate)).replace(' to ', '–')}</small></span></div>"
        )


def bell(estimates: Sequence[Estimate], times: NDArray[np.float64], period: float) -> NDArray[np.float64]:
    """Return the bell of a usual time and an agreement at some times, summing to 1: (m,) -> (m,).

    Examples
    --------
    >>> usual = Estimate("hour", "value", None, 6.0, 5.0, 7.0)
    >>> agreement = Estimate("hour", "concentration", None, 0.0, 0.0, 0.1)
    >>> bell((usual, agreement), np.arange(4.0), 24).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    usual, agreement = (each.value for each in estimates)
    heights = np.exp(_kappa(agreement) * (np.cos(2 * np.pi * (times - usual) / period) - 1))
    found: NDArray[np.float64] = heights / heights.sum()
    return found


def _kappa(agreement: float) -> float:
    """Return κ of an agreement R, by the usual approximation (Best and Fisher, 1981)."""
    r = min(agreement, _MOST_AGREEMENT)
    if r < 0.53:
        return 2 * r + r**3 + 5 * r**5 / 6
    return -0.4 + 1.39 * r + 0.43 / (1 - r) if r < 0.85 else 1 / (r**3 - 4 * r**2 + 3 * r)


def _ticks(feature: Cycle) -> list[str]:
    """Return what stands under the bars of a cycle of few whole steps; nothing for others."""
    if (names := names_of(feature)) is not None:
        return [name[: 2 if len(names) == 7 else 1] for name in names]
    whole = feature.period == round(feature.period) and 2 <= feature.period <= _MOST_BARS
    return [str(step) for step in range(round(feature.period))] if whole else []


def _inside(x: float) -> float:
    """Keep a mark's whole width on the strip."""
    return min(max(x, 0.7), 99.3)
