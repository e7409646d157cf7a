"""The groups of a decoded study, in words and pictures; what could not be found comes first."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.groups import Group, groups_of
from coterie.plan import Plan
from coterie.show.cards import COLORS, MOST_CARDS, cards
from coterie.show.picture import Disk, View, draw
from coterie.show.told import everybody, letter, told_groups
from coterie.show.words import Wording, number_word

_MOST_COORDINATES: Final = 8  # of a center that has no features


@dataclass(frozen=True, slots=True)
class Found:
    """A result as the page tells it."""

    plan: Plan
    centers: NDArray[np.float64]  # (k, d)
    errors: NDArray[np.float64]  # (k,)
    told: tuple[Group, ...]
    coverage: float | None
    notes: tuple[str, ...]
    count: int

    @classmethod
    def of(cls, plan: Plan, result: bytes) -> Found:
        """Read the result that a study left."""
        data = json.loads(result)
        centers = np.array(data["centers"], dtype=np.float64)
        shares = np.array(data["weights"], dtype=np.float64)
        errors = np.array([math.nan if each is None else each for each in data["errors"]], dtype=np.float64)
        groups = groups_of(centers, shares, errors, data["coverage"], plan.features)
        told = told_groups(groups, errors, plan.radius, apart=plan.features is not None)
        return cls(plan, centers, errors, told, data["coverage"], tuple(data["notes"]), data["count"])

    @property
    def headline(self) -> str:
        """The result in one line."""
        people, told, asked = f"{self.count:,} people", len(self.told), len(self.centers)
        if not told:
            return f"No groups could be told among {people}"
        if told < asked:
            return f"{number_word(told).capitalize()} of {number_word(asked)} groups told among {people}"
        return f"{number_word(told).capitalize()} group{'s' * (told != 1)} among {people}"

    @property
    def shortcomings(self) -> list[str]:
        """What could not be found, and every caution of the decoder."""
        lost = len(self.centers) - len(self.told)
        words = []
        if lost:
            number = number_word(lost).capitalize()
            words.append(
                f"{number} of the {number_word(len(self.centers))} groups that were looked for "
                f"{'is' if lost == 1 else 'are'} not told: hidden by the noise that protects everybody, too "
                "roughly known, or no different from everybody."
            )
        return [*words, *self.notes]


def render(found: Found) -> str:
    """Return what was found, in words and pictures, with what was not found first."""
    words = "".join(f"<p>{escape(each)}</p>" for each in found.shortcomings)
    note = f'<div class="note" role="note">{words}</div>' if words else ""
    if not found.told:
        return (
            f"{note}<p>No group stands clear of the privacy noise closely enough to be told. The remedies "
            "are more people or a larger ε: <code>coterie power</code> says how many, before a study "
            "begins.</p>"
        )
    told = found.told[:MOST_CARDS]
    more = len(found.told) - len(told)
    rest = (
        f'<p class="caption">And {more:,} smaller groups, in <a href="result">the result</a>.</p>'
        if more
        else ""
    )
    return (
        f"{note}{_overview(found, told)}<section><h2>The groups</h2>{_details(found, told)}{rest}</section>"
    )


def _overview(found: Found, told: tuple[Group, ...]) -> str:
    disks = [
        Disk(
            letter(place),
            found.centers[one.number],
            float(found.errors[one.number]),
            one.share,
            _color(place),
        )
        for place, one in enumerate(told)
    ]
    picture = draw(View.of(np.array([disk.center for disk in disks]), polygon=False), disks)
    return (
        f'<div class="card hero"><figure>{picture}<figcaption class="caption">The groups in a flat view of '
        f"{found.plan.dimension} dimensions. A dashed ring is the stated error of a center, in all of them; "
        "a plane hides part of the distances.</figcaption></figure>"
        f'<div class="side"><div><h2>Shares</h2>{_shares(found, told)}</div></div></div>'
    )


def _color(place: int) -> str:
    return f"g{place % COLORS}"


def _shares(found: Found, told: tuple[Group, ...]) -> str:
    wording = None if found.plan.features is None else Wording(found.plan.features)
    rows = []
    for place, group in enumerate(told):
        name = f"group {letter(place)}" if wording is None else wording.title(group)
        rows.append(
            f'<li class="{_color(place)}"><span class="letter">{letter(place)}</span>'
            f"<span><bdi>{escape(name)}</bdi> <b>{group.share:.0%}</b>"
            '<svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
            '<rect class="rail" width="100" height="4"/>'
            f'<rect class="mine" width="{100 * group.share:.1f}" height="4"/>'
            "</svg></span></li>"
        )
    rest = 1 - sum(group.share for group in told)
    left = (
        f'<p class="caption">The other {rest:.0%} of people are in groups that are not told.</p>'
        if rest > 0.005
        else ""
    )
    return f'<ul class="shares">{"".join(rows)}</ul>{left}'


def _details(found: Found, told: tuple[Group, ...]) -> str:
    schema = found.plan.features
    if schema is None:
        return _coordinates(found, told)
    rate = found.coverage
    often = "" if rate is None else f" Ranges hold what was asked for in about {10 * rate:.0f} studies of 10."
    return (
        '<p class="key"><span><i class="mine"></i>the group</span><span><i class="range"></i>its range</span>'
        '<span><i class="all"></i>everybody</span></p>'
        f'<div class="groups">{cards(told, everybody(told, found.centers, schema), Wording(schema))}</div>'
        '<p class="caption">A curve is the bell that has the usual time and the agreement that were found.'
        f"{often}</p>"
    )


def _coordinates(found: Found, told: tuple[Group, ...]) -> str:
    """Return centers as numbers, where the plan declares no features."""
    dimension = found.plan.dimension
    shown = min(dimension, _MOST_COORDINATES)
    head = "".join(f'<th scope="col" class="n">x{i}</th>' for i in range(shown))
    rows = "".join(
        f'<tr><th scope="row"><span class="letter">{letter(place)}</span></th>'
        f'<td class="n">{group.share:.0%}</td><td class="n">{found.errors[group.number]:.3g}</td>'
        + "".join(f'<td class="n">{value:.3g}</td>' for value in found.centers[group.number, :shown].tolist())
        + "</tr>"
        for place, group in enumerate(told)
    )
    more = (
        ""
        if shown == dimension
        else f' The other {dimension - shown:,} coordinates are in <a href="result">the result</a>.'
    )
    return (
        f"<p>The plan declares no features: people have points of {dimension} numbers, and groups have "
        f"centers.{more}</p>"
        '<div class="scroll"><table><thead><tr><th scope="col">group</th><th scope="col" class="n">share</th>'
        f'<th scope="col" class="n">error</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )
