"""The groups of a decoded study, in words and pictures; what could not be found comes first."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Final

import numpy as np

from coterie.centers.groups import Group
from coterie.plan import Plan
from coterie.show.cards import COLORS, MOST_CARDS, cards
from coterie.show.choices import CAPTION, draw_choices
from coterie.show.picture import Disk, View, draw
from coterie.show.told import Told
from coterie.show.words import Wording, percent

_MOST_COORDINATES: Final = 8  # of a center that has no features


def render(plan: Plan, result: bytes) -> tuple[str, str]:
    """Return what a study left: as HTML, with what was not found first, and in one line."""
    data = json.loads(result)
    if "version" not in data:
        return _earlier(data), f"Decoded by an earlier version, from {data['count']:,} people"
    found = Told.of(data, plan.radius)
    words = "".join(f"<p>{escape(each)}</p>" for each in found.shortcomings)
    note = f'<div class="note" role="note">{words}</div>' if words else ""
    return f"{note}{_groups(plan, found) if found.told else _one_group(plan, found)}", found.headline


def _earlier(data: dict[str, Any]) -> str:
    """Return a result whose figures mean something else than those of this version: as it was written."""
    notes = "".join(f"<p>{escape(str(each))}</p>" for each in data.get("notes", ()))
    words = "\n\n".join(str(each) for each in data.get("words", ()))
    return (
        '<div class="note" role="note"><p>An earlier version decoded this study. Its radii are not those of '
        'this version, so its words stand here as they were written; figures are in <a href="result">the '
        f"result</a>.</p>{notes}</div>"
        f'<section><h2>The groups</h2><div class="card reports"><bdi>{escape(words)}</bdi></div></section>'
    )


def _groups(plan: Plan, found: Told) -> str:
    told = found.told[:MOST_CARDS]
    more = len(found.told) - len(told)
    rest = (
        f'<p class="caption">And {more:,} smaller groups, in <a href="result">the result</a>.</p>'
        if more
        else ""
    )
    details = _coordinates(plan, found, told) if plan.features is None else _cards(plan, found, told)
    return (
        f"{_overview(plan, found, told)}{_number(found)}<section><h2>The groups</h2>{details}{rest}</section>"
    )


def _one_group(plan: Plan, found: Told) -> str:
    """Return everybody as one group, where none can be told."""
    details = _coordinates(plan, found, ()) if plan.features is None else _cards(plan, found, ())
    return (
        "<section><h2>One group: everybody</h2><p>No group stands clear of the privacy noise closely enough "
        "to be told, so what the reports tell is everybody’s. The remedies are more people or a larger ε: "
        f"<code>coterie power</code> says how many, before a study begins.</p>{details}</section>"
    )


def _overview(plan: Plan, found: Told, told: tuple[Group, ...]) -> str:
    disks = [
        Disk(
            one.name,
            found.centers[one.number],
            float(found.errors[one.number]),
            one.share,
            _color(place),
        )
        for place, one in enumerate(told)
    ]
    picture = draw(View.of(np.array([disk.center for disk in disks]), polygon=False), disks)
    explained = (
        f'<div><p class="big">{percent(found.explained.value)}</p><p>{escape(found.explaining)}</p></div>'
        if found.is_explained
        else ""
    )
    ring = "the noise of a center" if found.coverage is None else "the radius stated for the mean of a group"
    return (
        f'<div class="card hero"><figure>{picture}<figcaption class="caption">The groups in a flat view of '
        f"{plan.dimension} dimensions. A dashed ring is {ring}, in all of them; "
        "a plane hides part of the distances.</figcaption></figure>"
        f'<div class="side">{explained}<div><h2>Shares</h2>{_shares(plan, told)}</div></div></div>'
    )


def _color(place: int) -> str:
    return f"g{place % COLORS}"


def _shares(plan: Plan, told: tuple[Group, ...]) -> str:
    wording = None if plan.features is None else Wording(plan.features)
    rows = []
    for place, group in enumerate(told):
        name = f"group {group.name}" if wording is None else wording.title(group)
        low, high = (100 * each if each == each else 100 * group.share for each in (group.low, group.high))
        rows.append(
            f'<li class="{_color(place)}"><span class="letter">{group.name}</span>'
            f"<span><bdi>{escape(name)}</bdi> <b>{percent(group.share, group.low, group.high)}</b>"
            '<svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
            '<rect class="rail" width="100" height="4"/>'
            f'<rect class="mine" width="{100 * group.share:.1f}" height="4"/>'
            f'<rect class="span" x="{low:.1f}" y="1.2" width="{high - low:.1f}" height="1.6"/>'
            "</svg></span></li>"
        )
    rest = 1 - sum(group.share for group in told)
    left = (
        f'<p class="caption">The other {rest:.0%} of people are in groups that are not told.</p>'
        if rest > 0.005
        else ""
    )
    return f'<ul class="shares">{"".join(rows)}</ul>{left}'


def _number(found: Told) -> str:
    """Return what other numbers of groups would explain, and other answers that are as good."""
    picture = draw_choices(found.choices, len(found.centers))
    words = f"<p>{escape(found.otherwise)}</p>" if found.otherwise else ""
    if not picture:
        return words
    return (
        f'<section><h2>How many groups</h2><div class="number"><figure>{picture}</figure>'
        f"<div><p>{CAPTION}</p>{words}</div></div></section>"
    )


def _cards(plan: Plan, found: Told, told: tuple[Group, ...]) -> str:
    if plan.features is None:
        raise TypeError("cards tell features")
    rate = found.coverage
    often = "" if rate is None else f" Ranges hold what was asked for in about {10 * rate:.0f} studies of 10."
    group = '<span><i class="mine"></i>the group</span><span><i class="range"></i>its range</span>'
    return (
        f'<p class="key">{group if told else ""}<span><i class="all"></i>everybody</span></p>'
        f'<div class="groups">{cards(told, found.everybody, Wording(plan.features))}</div>'
        '<p class="caption">A curve is the bell that has the usual time and the agreement that were found.'
        f"{often}</p>"
    )


def _coordinates(plan: Plan, found: Told, told: tuple[Group, ...]) -> str:
    """Return centers as numbers, where the plan declares no features, and everybody's mean."""
    dimension = plan.dimension
    shown = min(dimension, _MOST_COORDINATES)
    head = "".join(f'<th scope="col" class="n">x{i}</th>' for i in range(shown))

    def row(name: str, share: str, radius: str, values: list[float]) -> str:
        cells = "".join(f'<td class="n">{value:.3g}</td>' for value in values[:shown])
        stated = f'<td class="n">{share}</td><td class="n">{radius}</td>'
        return f'<tr><th scope="row">{name}</th>{stated}{cells}</tr>'

    rows = [
        row(
            f'<span class="letter">{group.name}</span>',
            percent(group.share, group.low, group.high),
            f"{found.errors[group.number]:.3g}",
            found.centers[group.number].tolist(),
        )
        for group in told
    ]
    rows.append(row("everybody", "100%", "", [each.value for each in found.everybody]))
    more = (
        ""
        if shown == dimension
        else f' The other {dimension - shown:,} coordinates are in <a href="result">the result</a>.'
    )
    radius = "noise" if found.coverage is None else f"{found.coverage:.0%} radius"
    return (
        f"<p>The plan declares no features: people have points of {dimension} numbers, and groups have "
        f"centers.{more}</p>"
        '<div class="scroll"><table><thead><tr><th scope="col">group</th><th scope="col" class="n">share</th>'
        f'<th scope="col" class="n">{radius}</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
