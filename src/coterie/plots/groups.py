"""Groups in a flat view: each found center with the radius that is stated for it, its share and its name."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.centers.groups import Group
from coterie.centers.result import Result
from coterie.centers.solution import squared_distances
from coterie.errors import SettingError
from coterie.plots.style import INK, PAPER, SOFT, Display, color_of
from coterie.show.picture import View
from coterie.show.told import Told
from coterie.show.words import Wording, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PEOPLE: Final = 4000  # that are drawn
_LINE: Final = 36  # letters of a line beside the view
_MOST_TALL: Final = 5  # groups that have two lines for their names


@dataclass(slots=True, eq=False)
class GroupsDisplay(Display):
    """Groups in a flat view of all dimensions, and what is known of each.

    A dashed ring is the radius that holds the mean of the people nearest to a center, at the stated rate, in
    all dimensions; a plane hides part of that distance.

    Parameters
    ----------
    told : Told
        What the result tells, and which groups.
    wording : Wording or None
        How figures are spoken of; None where people have points.
    people : ndarray of float64, shape (n, d), optional
        Points in the open, to be drawn below.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        What was drawn into.
    figure_ : matplotlib.figure.Figure
        Its figure.

    Examples
    --------
    >>> from coterie import Aggregate, Client, Plan, decode
    >>> from coterie.plots import GroupsDisplay
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=4.0, expected_users=2000)
    >>> table = Aggregate(plan)
    >>> table.add(Client(plan).encode_many(np.repeat([[0.8, 0.0], [-0.8, 0.0]], 1000, axis=0)))
    >>> drawn = GroupsDisplay.from_result(decode(table, random_state=0))
    >>> drawn.ax_.get_title("left")
    'Two groups among 2,000 people'
    """

    told: Told
    wording: Wording | None
    people: NDArray[np.float64] | None = None

    @classmethod
    def from_result(cls, result: Result, *, people: Any = None, ax: Axes | None = None) -> Self:
        """Draw the groups of a result.

        Parameters
        ----------
        result : Result
            What was found.
        people : ndarray of shape (n, d), data frame or mapping of columns, optional
            People in the open, as points or (where the plan declares features) as records: of a simulation,
            or your own table. A figure with them is **not private**; at most 4,000 are drawn.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if None.
        """
        told = Told.of(result.to_dict(), result.radius)
        wording = None if result.features is None else Wording(result.features)
        return cls(told, wording, None if people is None else _points(result, people)).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 8.6, 4.6

    def _draw(self, ax: Axes) -> None:
        from matplotlib.patches import Circle

        told = self.told
        ax.set_title(told.headline)
        ax.set_axis_off()
        groups = told.told
        if not groups:
            words = "The privacy noise hides any groups:\nmore people or a larger ε would tell them."
            if told.too_many:
                words = f"The privacy noise hides which is which:\n{told.asking}."
            ax.text(0.5, 0.5, words, ha="center", va="center", color=SOFT, transform=ax.transAxes)
            return
        centers = told.centers[[group.number for group in groups]]
        radii = told.rings[[group.number for group in groups]]
        view = View.of(centers, polygon=False)
        places = view.show(centers)
        marks = [places - radii[:, None], places + radii[:, None]]
        if self.people is not None:
            nearest = squared_distances(self.people, centers).argmin(axis=1)
            dots = view.show(self.people)
            colors = np.array([color_of(place) for place in range(len(groups))])
            ax.scatter(
                dots[:, 0], dots[:, 1], s=5, c=colors[nearest], alpha=0.35, linewidths=0, rasterized=True
            )
            marks.append(dots)
        for place, (group, (x, y), radius) in enumerate(zip(groups, places, radii, strict=True)):
            ring: dict[str, Any] = {"edgecolor": color_of(place), "linestyle": (0, (3, 3)), "linewidth": 1.3}
            ax.add_patch(Circle((x, y), radius, facecolor=f"{color_of(place)}22", **ring))
            ax.scatter([x], [y], s=170, color=INK, edgecolors=PAPER, linewidths=1.2, zorder=3)
            name: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": 9.5}
            ax.text(x, y, group.name, color=PAPER, zorder=4, fontweight="bold", **name)
        low, high = np.concatenate(marks).min(axis=0), np.concatenate(marks).max(axis=0)
        half = 0.54 * max(high - low) or 1.0  # of one center without a ring
        ax.set_xlim(*((low + high)[0] / 2 + [-half, half]))
        ax.set_ylim(*((low + high)[1] / 2 + [-half, half]))
        ax.set_aspect("equal", adjustable="box", anchor="NW")
        self._tell(ax, groups)

    def _tell(self, ax: Axes, groups: tuple[Group, ...]) -> None:
        """Write each group's name and share beside the view, and below it what the rings are."""
        told = self.told
        size = 9.5 if len(groups) <= _MOST_TALL else 7.5
        step = min(1 / len(groups), 0.2)
        for place, group in enumerate(groups):
            title = f"group {group.name}" if self.wording is None else self.wording.title(group)
            lines = textwrap.wrap(title, _LINE)[:2] if len(groups) <= _MOST_TALL else [title[:_LINE]]
            share = percent(group.share, group.low, group.high)
            where: dict[str, Any] = {"transform": ax.transAxes, "va": "top", "clip_on": False}
            top = 0.98 - step * place
            told_of = "\n".join([*lines, f"{share} of people"])
            ax.text(1.05, top, "●", color=color_of(place), fontsize=size, **where)
            ax.text(1.10, top, group.name, fontweight="bold", fontsize=size, **where)
            ax.text(1.15, top, told_of, linespacing=1.35, fontsize=size, **where)
        ring = "the noise of a center" if told.coverage is None else "the radius stated for a group's mean"
        dashed = f"Dashed: {ring}, in all {told.centers.shape[1]} dimensions." * told.stated
        notes = [told.explaining, dashed]
        if self.people is not None:
            notes.append("Dots: people in the open, not private.")
        words = textwrap.fill(" ".join(filter(None, notes)), 96)
        ax.text(0, -0.02, words, transform=ax.transAxes, va="top", fontsize=8.5, color=SOFT, clip_on=False)


def _points(result: Result, people: Any) -> NDArray[np.float64]:
    """Return people as points, (m, d): a sample of them where there are many."""
    from coterie.features.columns import holds_records

    if result.features is not None and holds_records(people):
        points = result.features.points(people)
    else:
        points = np.asarray(people, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != result.centers.shape[1]:
        raise SettingError(f"people must be records, or points of shape (n, {result.centers.shape[1]})")
    every = -(-len(points) // _MOST_PEOPLE)
    return points[:: max(every, 1)]
