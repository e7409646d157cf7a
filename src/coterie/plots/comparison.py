"""The same groups under several labels: how each label's shares differ from the first one's."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from coterie.centers.comparison import Comparison
from coterie.plots.style import INK, SOFT, Display, color_of, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(slots=True, eq=False)
class ComparisonDisplay(Display):
    """Differences of the groups' shares from the first label's, with their ranges; filled where they moved.

    Parameters
    ----------
    comparison : Comparison
        What `coterie.compare` found.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        What was drawn into.
    figure_ : matplotlib.figure.Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Plan, compare, simulate
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=4.0, expected_users=20_000)
    >>> points = np.repeat([[0.8, 0.0], [-0.8, 0.0]], [50, 50], axis=0)
    >>> later = np.repeat([[0.8, 0.0], [-0.8, 0.0]], [70, 30], axis=0)
    >>> tables = [simulate(plan, points, 20_000), simulate(plan, later, 20_000, random_state=1)]
    >>> drawn = ComparisonDisplay.from_comparison(compare(tables, ("May", "June"), random_state=0))
    >>> drawn.ax_.get_title("left")
    'Two of two shares moved'
    """

    comparison: Comparison

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Axes | None = None) -> Self:
        """Draw what differs.

        Parameters
        ----------
        comparison : Comparison
            What was found.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if None.
        """
        return cls(comparison).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 7.6, 1.6 + 0.42 * max(len(self.comparison.differences), 1)

    def _draw(self, ax: Axes) -> None:
        found = self.comparison
        ax.set_title(found.words.partition(" moved")[0] + " moved" * (" moved" in found.words))
        others = found.labels[1:]
        names, places = [], []
        for each in found.differences:
            place = each.group * (len(others) + 0.5) + others.index(each.label)
            names.append(titled(found.result, each.group, 36) + f", {each.label}" * (len(others) > 1))
            places.append(place)
            color = color_of(each.group)
            line: dict[str, Any] = {"color": color, "linewidth": 3, "alpha": 0.4, "solid_capstyle": "round"}
            ax.plot([100 * each.low, 100 * each.high], [place, place], **line)
            face = color if each.moved else "white"
            ax.scatter([100 * each.value], [place], s=46, facecolor=face, edgecolor=color, zorder=3)
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.grid(axis="x")
        to = f" to {others[0]}" if len(others) == 1 else ""
        ax.set_xlabel(f"change of the share from {found.labels[0]}{to}, points")
        words = (
            f"Filled: moved, with an error of {found.level:.0%} for all together. Lines hold a change in "
            f"{found.coverage:.0%} of comparisons, each by itself."
        )
        below: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top"}
        look: dict[str, Any] = {"fontsize": 8.5, "color": SOFT, "annotation_clip": False}
        ax.annotate(textwrap.fill(words, 90), (0, 0), (0, -34), **below, **look)
