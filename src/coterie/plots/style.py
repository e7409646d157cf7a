"""The look of all figures: the colors of the pages' sheet, quiet axes, and no global setting touched.

The colors of groups differ in lightness too, so that people who do not tell some hues apart tell the groups
apart (a test simulates it); and every group is named by its letter besides.
"""

from __future__ import annotations

import textwrap
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from coterie.centers.result import Result
from coterie.errors import bringing
from coterie.plain.words import letter
from coterie.show.words import Wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS: Final = ("#0a5a9e", "#cc8500", "#14967a", "#8a2a66", "#8ea2f2")  # of groups, in their order

INK: Final = "#1c2321"
SOFT: Final = "#5d6a66"
LINE: Final = "#e2e0d8"
PAPER: Final = "#ffffff"
TEAL: Final = "#0b7a6f"
PEOPLE: Final = "#8fa09b"

_SHEET: Final = Path(__file__).with_name("coterie.mplstyle")  # svg.hashsalt: the same figure, the same file


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of the pages, and leave matplotlib as it was.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    with bringing("plot"):
        from matplotlib import rc_context
    with rc_context(fname=_SHEET):
        yield


@dataclass(slots=True, eq=False, kw_only=True)
class Display:
    """A figure in scikit-learn's manner: what is shown, then, once drawn, what it was drawn into."""

    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into an Axes, a new one if None."""
        with styled():
            if ax is None:
                from matplotlib import pyplot

                ax = pyplot.subplots(figsize=self._size(), layout="constrained")[1]
            self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
            self._draw(ax)
        return self

    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Return how large a new figure is, in inches."""

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw, with the style set."""


def titled(result: Result, group: int, width: int) -> str:
    """Return a group's letter and, where its figures have names, what it is like in so many letters."""
    if result.features is None:
        return letter(group)
    title = Wording(result.features).title(result.groups[group])
    return f"{letter(group)} {textwrap.shorten(title, width, placeholder=' …')}".strip()


def color_of(place: int) -> str:
    """Return the color of the group at a place among those that are told."""
    return COLORS[place % len(COLORS)]
