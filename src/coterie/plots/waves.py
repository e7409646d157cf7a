"""What wave after wave of a study said of the same groups: each share with its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from coterie.centers.result import Result
from coterie.errors import SettingError
from coterie.plots.style import INK, Display, color_of, titled
from coterie.show.changes import matched
from coterie.show.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP: Final = 0.7  # rows between two groups


@dataclass(slots=True, eq=False)
class WavesDisplay(Display):
    """The groups of the last wave, and what each wave before it said of them; a wave is a row.

    A dot is a group's share, the line its range; beside it the radius that is stated for the mean of its
    people. Groups are matched from wave to wave so that their centers lie closest.

    Parameters
    ----------
    results : sequence of Result
        Of each wave with all waves before it, in order, of the same number of groups.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    Examples
    --------
    >>> from coterie import Plan, decode, simulate
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=4.0, expected_users=20_000)
    >>> points = np.repeat([[0.8, 0.0], [-0.8, 0.0]], 50, axis=0)
    >>> first = simulate(plan, points, 5000)
    >>> found = decode(first, random_state=0)
    >>> then = plan.follow_up(found, expected_users=20_000)
    >>> both = decode([first, simulate(then, points, 20_000)], random_state=0)
    >>> drawn = WavesDisplay.from_results([found, both])
    >>> drawn.ax_.get_title("left")
    '2 groups over 2 waves, 25,000 people in all'
    """

    results: Sequence[Result]

    @classmethod
    def from_results(cls, results: Sequence[Result], *, ax: Axes | None = None) -> Self:
        """Draw what the waves of a study said.

        Parameters
        ----------
        results : sequence of Result
            Of the first wave, of the first two together, and so on: two at least.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if None.

        Raises
        ------
        SettingError
            If there are fewer than two, or their numbers of groups differ.
        """
        if len(results) < 2 or len({result.centers.shape for result in results}) > 1:
            raise SettingError("waves must be two or more results with the same number of groups")
        return cls(tuple(results)).plot(ax)

    def _size(self) -> tuple[float, float]:
        waves, groups = len(self.results), len(self.results[-1].centers)
        return 7.6, 1.1 + 0.26 * groups * (waves + _GAP)

    def _draw(self, ax: Axes) -> None:
        last, waves = self.results[-1], len(self.results)
        names, rows = [], []
        for group, places in enumerate(np.transpose(matched([each.centers for each in self.results]))):
            top = group * (waves + _GAP)
            beside: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center"}
            bold: dict[str, Any] = {"color": color_of(group), "fontweight": "bold", "fontsize": 9}
            ax.text(0, top - 0.75, titled(last, group, 56), **bold, **beside)
            for wave, (result, place) in enumerate(zip(self.results, places, strict=True)):
                share, error = float(result.weights[place]), float(result.weight_errors[place])
                low, high = max(share - error, 0.0), min(share + error, 1.0)
                look: dict[str, Any] = {"color": color_of(group), "alpha": 1.0 if wave == waves - 1 else 0.55}
                ax.plot([low, high], [top + wave] * 2, linewidth=3, solid_capstyle="round", **look)
                ax.scatter([share], [top + wave], s=46, edgecolors="white", zorder=3, **look)
                radius = float(result.errors[place])
                near = "" if np.isnan(radius) else f",  mean within {radius:.2f}"
                words = f"{percent(share, low, high)}{near}"
                ax.text(1.02, top + wave, words, color=INK, fontsize=8.5, clip_on=False, **beside)
                names.append(f"wave {wave + 1}")
                rows.append(top + wave)
        from matplotlib.ticker import PercentFormatter

        people = f"{last.count:,} people in all"
        ax.set_title(f"{len(last.centers)} groups over {waves} waves, {people}")
        ax.set_yticks(rows, names)
        ax.set_ylim(rows[-1] + 0.6, -1.3)
        ax.set_xlim(left=0)
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.set_xlabel("share of people")
        ax.grid(axis="x")
        ax.spines[:].set_visible(False)
