"""What other numbers of groups would explain: a line with its band, the number that was asked for marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from coterie.centers.result import Choice, Result
from coterie.errors import SettingError
from coterie.plots.style import PAPER, TEAL, Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(slots=True, eq=False)
class ChoicesDisplay(Display):
    """The share of people's spread that k groups explain, over k, by the same reports.

    Parameters
    ----------
    choices : sequence of Choice
        `result.choices`.
    chosen : int
        The number of groups of the result.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.
    """

    choices: Sequence[Choice]
    chosen: int

    @classmethod
    def from_result(cls, result: Result, *, ax: Axes | None = None) -> Self:
        """Draw the choices of a result into an Axes, a new one if None.

        Raises
        ------
        SettingError
            If the result compares no numbers of groups (a `refit`, a protocol of the paper).
        """
        if len(result.choices) < 2:
            raise SettingError("the result compares no numbers of groups: result.choices has fewer than two")
        return cls(result.choices, len(result.centers)).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 5.4, 3.2

    def _draw(self, ax: Axes) -> None:
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        numbers = [each.clusters for each in self.choices]
        values, lows, highs = zip(*(each.explained for each in self.choices), strict=True)
        ax.fill_between(numbers, lows, highs, color=TEAL, alpha=0.18, linewidth=0, label="range")
        ax.plot(numbers, values, color=TEAL, linewidth=1.6)
        for each in self.choices:
            apart, here = each.apart, each.clusters == self.chosen
            ax.scatter(
                [each.clusters], [each.explained.value], s=90 if here else 30, zorder=3,
                color=TEAL if apart or here else PAPER, edgecolors=TEAL, linewidths=1.4,
            )  # fmt: skip
        ax.set_title(f"{self.chosen} groups explain {self._value():.0%} of how people differ")
        ax.set_xlabel("number of groups (hollow: not all can be told apart)")
        ax.set_ylim(-0.03, 1.03)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(axis="y")
        ax.spines[:].set_visible(False)

    def _value(self) -> float:
        found = [each.explained.value for each in self.choices if each.clusters == self.chosen]
        return found[0] if found else float("nan")
