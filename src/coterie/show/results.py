"""What every page shows of a result: the groups that are told, placed and put into words, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.features import Schema
from coterie.show.cards import COLORS, MOST_CARDS, Truth, card, everybodys_card
from coterie.show.choices import draw_choices
from coterie.show.pages import render
from coterie.show.picture import Disk, Open, View, draw
from coterie.show.told import Told
from coterie.show.words import Wording

if TYPE_CHECKING:
    from coterie.centers.result import Result


def shown(
    told: Told,
    features: Schema | None,
    *,
    wording: Wording | None = None,
    truths: Mapping[int, Truth] | None = None,
    people: Open | None = None,
) -> dict[str, Any]:
    """Place and word what is told, as the templates want it.

    Parameters
    ----------
    told : Told
        What.
    features : Schema or None
        The features that the plan declares.
    wording : Wording, optional
        How they are spoken of; as usual if not given.
    truths : mapping, optional
        What a simulation knows of the groups, by their numbers.
    people : Open, optional
        What a simulation knows of everybody.
    """
    groups = told.told[:MOST_CARDS]
    if wording is None and features is not None:
        wording = Wording(features)
    known = [None if truths is None else truths[group.number] for group in groups]
    colors = [f"g{place % COLORS}" if true is None else true.color for place, true in enumerate(known)]
    disks = [
        Disk(group.name, told.centers[group.number], float(told.rings[group.number]), group.share, color)
        for group, color in zip(groups, colors, strict=True)
    ]
    picture = None
    if people is not None:
        picture = draw(View.of(people.centers), disks, people)
    elif disks:
        picture = draw(View.of(np.array([disk.center for disk in disks]), polygon=False), disks)
    cards: list[dict[str, Any]] = []
    if wording is not None:
        pairs = zip(colors, groups, known, strict=True)
        cards = [card(color, group, told.everybody, wording, true) for color, group, true in pairs]
        cards.append(everybodys_card(told.everybody, wording))
    return {
        "told": told,
        "dimension": told.centers.shape[1],
        "titles": [f"group {each.name}" if wording is None else wording.title(each) for each in groups],
        "colors": colors,
        "cards": cards,  # everybody's at the end; none where there are no features
        "picture": picture,  # None: nothing to draw
        "chart": draw_choices(told.choices, len(told.centers)) if told.told or told.too_many else None,
        "more": len(told.told) - len(groups),  # groups that are told and not shown
        "rest": 1 - sum(group.share for group in groups),  # of the people
    }


def result_page(result: Result) -> str:
    """Return a result as one page that opens from disk, runs nothing and calls nobody."""
    told = Told.of(result.to_dict(), result.radius)
    return render(
        "result.html", found=shown(told, result.features), promise=result.guarantee, plan_id=result.plan_id
    )
