"""A comparison as one page: each group's shares under every label, differences, figures that moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from coterie.centers.groups import letter
from coterie.show.cards import COLORS
from coterie.show.pages import render
from coterie.show.words import Wording

if TYPE_CHECKING:
    from coterie.centers.comparison import Comparison, Difference

_ROW: Final = 26  # pixels a label has
_LEFT, _RIGHT, _WIDTH = 84, 284, 300  # of a card as wide as a telephone
_SCALE: Final = 18  # pixels below the labels
_MOST_FIGURES: Final = 40  # that are told, those that moved first


@dataclass(frozen=True, slots=True)
class Mark:
    """A share under one label, in pixels."""

    label: str
    words: str
    x: float
    low: float
    high: float
    y: float


@dataclass(frozen=True, slots=True)
class Row:
    """One group under every label."""

    letter: str
    title: str
    color: str
    marks: tuple[Mark, ...]
    height: int
    gaps: tuple[Difference, ...]


def comparison_page(found: Comparison) -> str:
    """Return a comparison as one page that opens from disk, runs nothing and calls nobody."""
    wording = None if found.result.features is None else Wording(found.result.features)
    top = min(float((found.shares + found.share_errors).max()) * 1.05, 1.0)
    groups = found.result.groups
    rows = tuple(
        Row(
            letter=letter(number),
            title=f"group {letter(number)}" if wording is None else wording.title(groups[number]),
            color=f"g{number % COLORS}",
            marks=tuple(_mark(found, label, number, top) for label in range(len(found.labels))),
            height=_ROW * len(found.labels) + _SCALE,
            gaps=tuple(each for each in found.differences if each.group == number),
        )
        for number in range(found.shares.shape[1])
    )
    figures = sorted(found.figures, key=lambda each: (not each.moved, each.p))
    return render(
        "compare.html",
        found=found,
        rows=rows,
        scale=[(share, _place(share / 100, top)) for share in range(0, round(100 * top) + 1, _step(top))],
        width=_WIDTH,
        left=_LEFT,
        figures=figures[:_MOST_FIGURES],
        more=max(len(figures) - _MOST_FIGURES, 0),
        promise=found.result.guarantee,
    )


def _step(top: float) -> int:
    """Return between how many points lines are drawn: about four of them."""
    return 10 if top < 0.45 else 25


def _place(share: float, top: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * share / max(top, 1e-9)


def _mark(found: Comparison, label: int, number: int, top: float) -> Mark:
    share, half = float(found.shares[label, number]), float(found.share_errors[label, number])
    return Mark(
        label=found.labels[label],
        words=f"{share:.1%} ± {100 * half:.1f}",
        x=_place(share, top),
        low=_place(max(share - half, 0.0), top),
        high=_place(min(share + half, top), top),
        y=_ROW * (label + 0.5),
    )
