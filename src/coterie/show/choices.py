"""What other numbers of groups would explain, as a small picture: a line with its band, one number marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from coterie.centers.result import Choice
from coterie.show.words import percent

WIDTH: Final = 320
HEIGHT: Final = 170
LEFT, RIGHT, TOP, BOTTOM = 42, 14, 12, 40  # pixels around the plot

_MOST_LABELS: Final = 12  # under the axis


def draw_choices(choices: Sequence[Choice], chosen: int) -> dict[str, Any] | None:
    """Return the picture, for its template; None for fewer than two numbers.

    A dot of a number of groups is hollow where not all of them can be told apart.

    Examples
    --------
    >>> draw_choices([], 3)
    """
    if len(choices) < 2:
        return None
    first, last = choices[0].clusters, choices[-1].clusters

    def x(clusters: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (clusters - first) / (last - first)

    def y(share: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)

    def path(shares: Sequence[tuple[int, float]]) -> str:
        return "M" + "L".join(f"{x(clusters):.1f} {y(share):.1f}" for clusters, share in shares)

    low = [(each.clusters, each.explained.low) for each in choices]
    high = [(each.clusters, each.explained.high) for each in reversed(choices)]
    step = -(-len(choices) // _MOST_LABELS)
    dots = []
    for place, each in enumerate(choices):
        kind = "chosen" if each.clusters == chosen else "solid" if each.apart else "hollow"
        words = f"{each.clusters} group{'s' * (each.clusters != 1)}: {percent(*each.explained)}"
        labelled = place % step == 0 or kind == "chosen"
        dots.append((x(each.clusters), y(each.explained.value), kind, each.clusters, words, labelled))
    return {
        **{"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT},
        "grid": [(share, y(share)) for share in (0.0, 0.5, 1.0)],  # and how high they lie
        "band": f"{path([*low, *high])}Z",
        "line": path([(each.clusters, each.explained.value) for each in choices]),
        "dots": dots,
    }
