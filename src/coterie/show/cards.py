"""A group's card on the demo's page: a curve of the day, bars of the week, and a strip for each figure.

Everywhere the group is drawn against everybody, with its interval, and with the truth, which a simulation
knows. A cycle's figures are a usual time and an agreement R; the curve is the bell of a von Mises law that
has both,

    f(t) ∝ exp(κ·cos(2π·(t - usual)/period)),    I₁(κ)/I₀(κ) = R,

and everybody's is the sum of the groups' by share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.groups import Group
from coterie.cli.people import HABITS, SCHEMA, WEEKDAYS
from coterie.cli.words import LETTERS, figure, interval, of, sentence, title
from coterie.features import Estimate, Number

if TYPE_CHECKING:
    from coterie.cli.simulation import Study

_MOST_AGREEMENT: Final = 0.97  # that is drawn: a bell of an hour and a half to either side
_STEPS: Final = 97  # of the day's curve
_TALL: Final = 60
_UNITS: Final = {"minutes": "min per visit", "visits": "visits per week"}


def cards(study: Study) -> str:
    """Return a card for each group that the reports tell."""
    told, found = study.told(), study.found()
    if not told:
        return ""
    shares = np.array([group.share for group in told])
    centers = study.result.centers[[group.number for group in told]]
    everybody = SCHEMA.describe_point(shares @ centers / shares.sum())
    all_cards = [
        _card(place, group, told, everybody, study, found.get(group.number))
        for place, group in enumerate(told)
    ]
    return "".join([*all_cards, _everybody(told, everybody)])


def _card(
    place: int,
    group: Group,
    told: Sequence[Group],
    everybody: Sequence[Estimate],
    study: Study,
    true: int | None,
) -> str:
    truth = None if true is None else SCHEMA.describe_point(study.true_centers[true])
    named = (
        "None of the groups that were simulated."
        if true is None
        else f"The simulation calls them {HABITS[true].name}: {study.true_shares[true]:.0%} of people."
    )
    strips = "".join(
        _strip(each, same, None if truth is None else truth[i])
        for i, (each, same) in enumerate(zip(group.estimates, everybody, strict=True))
        if each.feature not in ("hour", "weekday")
    )
    return (
        f'<article class="card group g{"x" if true is None else true}">'
        f'<h3><span class="letter">{LETTERS[place]}</span>{escape(title(group))}</h3>'
        f"<p>{escape(sentence(group, everybody))}</p>"
        f"{_day(group, told, truth)}{_week(group, told, truth)}{strips}"
        f'<p class="named">{escape(named)}</p></article>'
    )


def _everybody(told: Sequence[Group], everybody: Sequence[Estimate]) -> str:
    """Return the card of everybody: the groups together."""
    bare = tuple(replace(each, low=math.nan, high=math.nan) for each in everybody)
    group = Group(-1, 1.0, bare, ())
    strips = "".join(_strip(each, each, None) for each in bare if each.feature not in ("hour", "weekday"))
    return (
        '<article class="card group gx"><h3>Everybody</h3>'
        "<p>The groups together, by their shares: what each of them is compared with.</p>"
        f"{_day(group, told, None)}{_week(group, told, None)}{strips}</article>"
    )


# ---------------------------------------------------------------- cycles


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


def _bells(
    name: str,
    group: Group,
    told: Sequence[Group],
    truth: Sequence[Estimate] | None,
    times: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    """Return the bells of the group, of everybody and, if known, of the truth."""
    period = {"hour": 24.0, "weekday": 7.0}[name]
    all_bells = [each.share * bell(of(each.estimates, name), times, period) for each in told]
    everybody = np.sum(all_bells, axis=0) / sum(each.share for each in told)
    known = [] if truth is None else [bell(of(truth, name), times, period)]
    mine = bell(of(group.estimates, name), times, period) if group in told else everybody
    return [mine, everybody, *known]


def _day(group: Group, told: Sequence[Group], truth: Sequence[Estimate] | None) -> str:
    times = np.linspace(0, 24, _STEPS)
    curves = _bells("hour", group, told, truth, times)
    top = max(float(curve.max()) for curve in curves) * 1.05
    lines = [
        "L".join(
            f"{10 * time:.0f} {_TALL * (1 - height / top):.1f}"
            for time, height in zip(times, curve, strict=True)
        )
        for curve in curves
    ]
    marks = [
        f'<path class="all" d="M0 {_TALL}L{lines[1]}L240 {_TALL}Z"/>',
        f'<path class="mine" d="M0 {_TALL}L{lines[0]}L240 {_TALL}Z"/>',
        *(f'<path class="truth" d="M{line}"/>' for line in lines[2:]),
    ]
    hours = "".join(f"<span>{hour}:00</span>" for hour in (0, 6, 12, 18, 24))
    usual = of(group.estimates, "hour")[0]
    return (
        f'<div class="figure">{_heading("Time of day", usual)}'
        f'<svg viewBox="0 0 240 {_TALL}" preserveAspectRatio="none" role="img" aria-label="Hours of use">'
        f'{"".join(marks)}</svg><div class="axis">{hours}</div></div>'
    )


def _week(group: Group, told: Sequence[Group], truth: Sequence[Estimate] | None) -> str:
    bells = _bells("weekday", group, told, truth, np.arange(7.0))
    top = max(float(each.max()) for each in bells)
    tall = [36 * each / top for each in bells]
    marks = []
    for day in range(7):
        x = 10 * day
        mine, everybody = tall[0][day], tall[1][day]
        marks.append(
            f'<rect class="all" x="{x + 0.6}" y="{36 - everybody:.1f}" width="8.8" height="{everybody:.1f}"/>'
        )
        marks.append(
            f'<rect class="mine" x="{x + 2.2}" y="{36 - mine:.1f}" width="5.6" height="{mine:.1f}"/>'
        )
        marks += [f'<path class="truth" d="M{x + 0.6} {36 - each[day]:.1f}h8.8"/>' for each in tall[2:]]
    days = "".join(f"<span>{name[:2]}</span>" for name in WEEKDAYS)
    usual = of(group.estimates, "weekday")[0]
    return (
        f'<div class="figure">{_heading("Day", usual)}'
        '<svg class="week" viewBox="0 0 70 36" preserveAspectRatio="none" role="img" '
        f'aria-label="Days of use">{"".join(marks)}</svg><div class="axis days">{days}</div></div>'
    )


def _heading(name: str, usual: Estimate) -> str:
    told = interval(usual)  # everybody has no usual time, but several
    words = f" <b>{figure(usual)}</b> <small>{told}</small>" if told else ""
    return f"<h4>{name}{words}</h4>"


# ---------------------------------------------------------------- numbers and shares


def _strip(estimate: Estimate, everybody: Estimate, truth: Estimate | None) -> str:
    feature = next(each for each in SCHEMA.features if each.name == estimate.feature)

    def along(value: float) -> float:
        if isinstance(feature, Number) and feature.scale == "log":
            return 100 * math.log(value / feature.low) / math.log(feature.high / feature.low)
        if isinstance(feature, Number):
            return 100 * (value - feature.low) / (feature.high - feature.low)
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
    label = estimate.label if estimate.label is not None else _UNITS.get(feature.name, feature.name)
    return (
        f'<div class="strip"><span>{escape(str(label))}</span>'
        '<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        f"{''.join(marks)}</svg><span><b>{figure(estimate)}</b> "
        f"<small>{interval(estimate).replace(' to ', '–')}</small></span></div>"
    )


def _inside(x: float) -> float:
    """Keep a mark's whole width on the strip."""
    return min(max(x, 0.7), 99.3)
