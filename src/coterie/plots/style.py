"""The look of all figures: the colors of the pages' sheet, quiet axes, and no global setting touched.

The colors of groups differ in lightness too, so that people who do not tell some hues apart tell the groups
apart (a test simulates it); and every group is named by its letter besides.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from coterie.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS: Final = ("#0a5a9e", "#cc8500", "#14967a", "#8a2a66", "#8ea2f2")  # of groups, in their order

INK: Final = "#1c2321"
SOFT: Final = "#5d6a66"
LINE: Final = "#e2e0d8"
PAPER: Final = "#ffffff"
TEAL: Final = "#0b7a6f"
PEOPLE: Final = "#8fa09b"

_SETTINGS: Final[dict[Any, Any]] = {
    "figure.facecolor": PAPER,
    "figure.dpi": 110,
    "savefig.facecolor": PAPER,
    "savefig.bbox": "tight",
    "axes.facecolor": PAPER,
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.labelsize": 9.5,
    "axes.titlecolor": INK,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "font.size": 9.5,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.hashsalt": "coterie",  # the same figure gives the same file
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of the pages, and leave matplotlib as it was.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    with rc_context(_SETTINGS):
        yield


def axes_of(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return where to draw: what was given, or the one Axes of a new figure of a size in inches."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def color_of(place: int) -> str:
    """Return the color of the group at a place among those that are told."""
    return COLORS[place % len(COLORS)]
