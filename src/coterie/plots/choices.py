"""What other numbers of groups would explain: a line with its band, the number that was asked for marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from coterie.centers.result import Choice, Result
from coterie.errors import SettingError
from coterie.plots.style import PAPER, TEAL, axes_of, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(slots=True, eq=False)
class ChoicesDisplay:
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
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)

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

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into an Axes, a new one if None."""
        with styled():
            from matplotlib.ticker import MaxNLocator, PercentFormatter

            self.ax_ = axes = axes_of(ax, (5.4, 3.2))
            self.figure_ = axes.figure  # type: ignore[assignment]
            numbers = [each.clusters for each in self.choices]
            values, lows, highs = zip(*(each.explained for each in self.choices), strict=True)
            axes.fill_between(numbers, lows, highs, color=TEAL, alpha=0.18, linewidth=0, label="range")
            axes.plot(numbers, values, color=TEAL, linewidth=1.6)
            for each in self.choices:
                apart, here = each.apart, each.clusters == self.chosen
                axes.scatter(
                    [each.clusters], [each.explained.value], s=90 if here else 30, zorder=3,
                    color=TEAL if apart or here else PAPER, edgecolors=TEAL, linewidths=1.4,
                )  # fmt: skip
            axes.set_title(f"{self.chosen} groups explain {self._value():.0%} of how people differ")
            axes.set_xlabel("number of groups (hollow: two of them might be one)")
            axes.set_ylim(-0.03, 1.03)
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.grid(axis="y")
            axes.spines[:].set_visible(False)
        return self

    def _value(self) -> float:
        found = [each.explained.value for each in self.choices if each.clusters == self.chosen]
        return found[0] if found else float("nan")
