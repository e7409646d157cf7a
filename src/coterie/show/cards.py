"""A group's card: a curve or bars for each cycle, and a strip for every other figure, ready to be drawn.

Everywhere the group is drawn against everybody, with its interval, and with the truth where a simulation
knows it. A cycle's figures are a usual time and an agreement R; the curve is the bell of a von Mises law that
has both,

    f(t) ∝ exp(κ·cos(2π·(t - usual)/period)),    I₁(κ)/I₀(κ) = R.

Everybody's figures are read off the reports and not off the groups: their bell is nearly flat where groups
have different times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.groups import Group
from coterie.features import Category, Cycle, Estimate, Feature
from coterie.show.words import Wording, is_clock, names_of, of, rounded

MOST_CARDS: Final = 26
COLORS: Final = 5  # that the sheet has

_MOST_FIGURES: Final = 24  # of one card, in order; what sets a group apart stands in its sentence
_MOST_SHARES: Final = 6  # of one category, the largest
_MOST_AGREEMENT: Final = 0.97  # that is drawn: of a day, a bell of an hour and a half to either side
_STEPS: Final = 97  # of a curve
_MOST_BARS: Final = 12


@dataclass(frozen=True, slots=True)
class Truth:
    """What a simulation knows of a group."""

    estimates: tuple[Estimate, ...] | None  # None: it is no group of the simulation
    words: str
    color: str  # of the sheet's classes: g0 to g4, or gx


def card(
    color: str, group: Group, everybody: Sequence[Estimate], wording: Wording, truth: Truth | None = None
) -> dict[str, Any]:
    """Return the card of a group, for its template."""
    said = wording.title(group), wording.sentence(group, everybody)
    known = (None, "") if truth is None else (truth.estimates, truth.words)
    return _card(color, group.name, said, group.estimates, everybody, wording, *known)


def everybodys_card(everybody: Sequence[Estimate], wording: Wording) -> dict[str, Any]:
    """Return the card of all people together."""
    said = "Everybody", "All people together, read off the reports and not off the groups."
    return _card("gx", "", said, everybody, everybody, wording)


def _card(
    color: str,
    letter: str,
    said: tuple[str, str],
    mine: Sequence[Estimate],
    everybody: Sequence[Estimate],
    wording: Wording,
    truth: Sequence[Estimate] | None = None,
    words: str = "",
) -> dict[str, Any]:
    known = [mine, everybody, *([] if truth is None else [truth])]
    features = wording.schema.features
    rounds: list[dict[str, Any]] = []
    strips: list[dict[str, Any]] = []
    for feature in features[:_MOST_FIGURES]:
        of_it = [of(each, feature.name) for each in known]
        if isinstance(feature, Cycle):
            rounds.append(_round(feature, of_it, wording, is_group=bool(letter)))
        else:
            strips += _strips(feature, of_it, wording)
    return {
        **{"color": color, "letter": letter, "title": said[0], "sentence": said[1], "truth": words},
        **{"rounds": rounds, "strips": strips, "more": max(len(features) - _MOST_FIGURES, 0)},
    }


def _round(
    feature: Cycle, of_it: list[list[Estimate]], wording: Wording, *, is_group: bool
) -> dict[str, Any]:
    """Return a cycle's figure: outlines of the group, of everybody and perhaps of the truth, in a frame."""
    ticks = _ticks(feature)
    count = round(feature.period)
    times = np.arange(float(count)) if ticks else np.linspace(0, feature.period, _STEPS)
    width, height = (10 * count, 36) if ticks else (240, 60)
    bells = [bell(each, times, feature.period) for each in of_it]
    top = max(float(each.max()) for each in bells) * (1 if ticks else 1.05)
    tall = [height * (1 - each / top) for each in bells]
    if ticks:
        lines = [
            "".join(
                f"M{10 * i + x:.1f} {height}V{y:.1f}h{10 - 2 * x:.1f}V{height}Z" for i, y in enumerate(ys)
            )
            for ys, x in zip(tall, (2.2, 0.6), strict=False)
        ]
        lines += ["".join(f"M{10 * i + 0.6:.1f} {y:.1f}h8.8" for i, y in enumerate(ys)) for ys in tall[2:]]
        labels = ticks
    else:
        curves = ["L".join(f"{240 * i / (_STEPS - 1):.1f} {y:.1f}" for i, y in enumerate(ys)) for ys in tall]
        lines = [f"M0 {height}L{each}L{width} {height}Z" for each in curves[:2]]
        lines += [f"M{each}" for each in curves[2:]]
        quarters = [feature.period * part / 4 for part in range(5)]
        labels = [
            f"{time:.0f}:00" if is_clock(feature) else rounded(time, feature.period) for time in quarters
        ]
    usual = of_it[0][0]
    is_said = is_group and not math.isnan(usual.low)  # everybody's usual times are several
    return {
        "name": feature.name,
        "said": wording.figure(usual) if is_said else "",
        "interval": wording.interval(usual) if is_said else "",
        **{"width": width, "height": height, "lines": lines, "labels": labels, "bars": bool(ticks)},
    }


def _strips(feature: Feature, of_it: list[list[Estimate]], wording: Wording) -> list[dict[str, Any]]:
    """Return the strips of a feature; of a category together, the largest shares."""
    rows = list(zip(*of_it, strict=True))
    if not isinstance(feature, Category):
        return [_strip(feature, row, wording) for row in rows]
    least = sorted((row[0].value for row in rows), reverse=True)[:_MOST_SHARES][-1]
    shown = [row for row in rows if row[0].value >= least][:_MOST_SHARES]
    strips = [_strip(feature, row, wording) for row in shown]
    return [{"name": feature.name, "strips": strips, "more": len(rows) - len(shown)}]


def _strip(feature: Feature, row: Sequence[Estimate], wording: Wording) -> dict[str, Any]:
    """Return a number or a share, along a rail of 100: values from 0 to 100."""
    estimate = row[0]
    # A mark keeps its whole width on the strip.
    here, everybody, *truth = (min(max(100 * feature.along(each.value), 0.7), 99.3) for each in row)
    return {
        "label": wording.strip(estimate),
        "said": wording.figure(estimate),
        "interval": wording.interval(estimate).replace(" to ", "–"),
        "here": here,
        "low": 100 * feature.along(estimate.low),  # NaN where no interval is stated
        "high": 100 * feature.along(estimate.high),
        "everybody": everybody,
        "truth": truth[0] if truth else None,
        "is_share": estimate.what == "share",
    }


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
    return np.asarray(heights / heights.sum())


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
