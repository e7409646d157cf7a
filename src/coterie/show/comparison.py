"""A comparison as one page: each group's shares under every label, differences, figures that moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from coterie.plain.words import letter
from coterie.show.cards import COLORS
from coterie.show.pages import render
from coterie.show.words import Wording

if TYPE_CHECKING:
    from coterie.centers.comparison import Comparison

_ROW: Final = 26  # pixels a label has
_LEFT, _RIGHT, _WIDTH = 84, 284, 300  # of a card as wide as a telephone
_SCALE: Final = 18  # pixels below the labels
_MOST_FIGURES: Final = 40  # that are told, those that moved first


def comparison_page(found: Comparison) -> str:
    """Return a comparison as one page that opens from disk, runs nothing and calls nobody."""
    wording = None if found.result.features is None else Wording(found.result.features)
    top = min(float((found.shares + found.share_errors).max()) * 1.05, 1.0)
    groups = found.result.groups
    rows = [
        {
            "letter": letter(number),
            "title": f"group {letter(number)}" if wording is None else wording.title(groups[number]),
            "color": f"g{number % COLORS}",
            "marks": [_mark(found, label, number, top) for label in range(len(found.labels))],
            "height": _ROW * len(found.labels) + _SCALE,
            "gaps": [each for each in found.differences if each.group == number],
        }
        for number in range(found.shares.shape[1])
    ]
    step = 10 if top < 0.45 else 25  # points between two lines: about four of them
    figures = sorted(found.figures, key=lambda each: (not each.moved, each.p))
    return render(
        "compare.html",
        found=found,
        rows=rows,
        scale=[(share, _place(share / 100, top)) for share in range(0, round(100 * top) + 1, step)],
        width=_WIDTH,
        left=_LEFT,
        figures=figures[:_MOST_FIGURES],
        more=max(len(figures) - _MOST_FIGURES, 0),
        promise=found.result.guarantee,
    )


def _place(share: float, top: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * share / max(top, 1e-9)


def _mark(found: Comparison, label: int, number: int, top: float) -> tuple[Any, ...]:
    """Return a label, a group's share under it in words, in pixels with its ends, and how high it lies."""
    share, half = float(found.shares[label, number]), float(found.share_errors[label, number])
    ends = (share, max(share - half, 0.0), min(share + half, top))
    words = f"{share:.1%} ± {100 * half:.1f}"
    return found.labels[label], words, tuple(_place(each, top) for each in ends), _ROW * (label + 0.5)
