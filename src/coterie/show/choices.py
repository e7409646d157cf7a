"""What other numbers of groups would explain, as a small picture: a line with its band, one number marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from coterie.centers.result import Choice
from coterie.show.words import percent

WIDTH: Final = 320
HEIGHT: Final = 170

_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 14, 12, 40  # pixels around the plot
_MOST_LABELS: Final = 12  # under the axis


def draw_choices(choices: Sequence[Choice], chosen: int) -> str:
    """Return the picture as an SVG element: the spread explained, over the number of groups.

    Numbers of groups of which two might be one are hollow. Nothing is drawn of fewer than two numbers.

    Examples
    --------
    >>> draw_choices([], 3)
    ''
    """
    if len(choices) < 2:
        return ""
    first, last = choices[0].clusters, choices[-1].clusters

    def x(clusters: int) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (clusters - first) / (last - first)

    def y(share: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - share)

    def path(shares: Sequence[tuple[int, float]]) -> str:
        return "L".join(f"{x(clusters):.1f} {y(share):.1f}" for clusters, share in shares)

    low = [(each.clusters, each.explained.low) for each in choices]
    high = [(each.clusters, each.explained.high) for each in reversed(choices)]
    marks = [
        f'<path class="grid" d="M{_LEFT} {y(share):.1f}H{WIDTH - _RIGHT}"/>'
        f'<text class="tall" x="{_LEFT - 7}" y="{y(share) + 4:.1f}">{share:.0%}</text>'
        for share in (0.0, 0.5, 1.0)
    ]
    marks.append(f'<path class="band" d="M{path(low)}L{path(high)}Z"/>')
    marks.append(
        f'<path class="line" d="M{path([(one.clusters, one.explained.value) for one in choices])}"/>'
    )
    step = -(-len(choices) // _MOST_LABELS)
    for place, each in enumerate(choices):
        across, up = x(each.clusters), y(each.explained.value)
        kind = "chosen" if each.clusters == chosen else "solid" if each.apart else "hollow"
        words = f"{each.clusters} group{'s' * (each.clusters != 1)}: {percent(*each.explained)}"
        size = 6.5 if kind == "chosen" else 4
        marks.append(
            f'<circle class="{kind}" cx="{across:.1f}" cy="{up:.1f}" r="{size}">'
            f"<title>{words}</title></circle>"
        )
        if place % step == 0 or kind == "chosen":
            bold = " chosen" if kind == "chosen" else ""
            marks.append(
                f'<text class="wide{bold}" x="{across:.1f}" y="{HEIGHT - 24}">{each.clusters}</text>'
            )
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    marks.append(f'<text class="wide" x="{middle:.1f}" y="{HEIGHT - 5}">number of groups</text>')
    return (
        f'<svg class="choices" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="How much of people’s differences so many groups explain">{"".join(marks)}</svg>'
    )


CAPTION: Final = (
    "How much of people’s differences so many groups explain, by the same reports, with its range; the large "
    "dot is the number shown here. Hollow: two of the groups might be one."
)
