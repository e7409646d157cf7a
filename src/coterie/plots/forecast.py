"""What to expect of a study, over how many people answer, for several ε (docs/forecast.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from coterie.errors import SettingError
from coterie.plan import Plan
from coterie.plan.forecast import Expectation, Kind, kind_of
from coterie.plots.style import INK, PAPER, SOFT, TEAL, Display
from coterie.show.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS: Final = 49  # of a curve
_DECADES: Final = 1.5  # drawn to either side of the people that the plan expects
_EPSILONS: Final = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the curves, in multiples of the plan's
_MOST_EPSILON: Final = 16.0
_MOST_CURVES: Final = 7
_APART: Final = 0.06  # of names that would stand on each other


@dataclass(slots=True, eq=False)
class ForecastDisplay(Display):
    """The share of the non-private gain that is recovered, over people, one curve an ε.

    1 is as good as k-means with everybody's data in the open, 0 is no better than one center for all. The
    band is that of the plan's own ε.

    Parameters
    ----------
    curves : mapping of float to sequence of Expectation
        By ε, the forecasts over people.
    here : Expectation
        That of the plan itself.
    epsilon : float
        The plan's.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    Examples
    --------
    >>> plan = Plan.design(dimension=20, clusters=4, epsilon=1.0, expected_users=100_000)
    >>> drawn = ForecastDisplay.from_plan(plan, epsilons=(0.5, 1, 2))
    >>> sorted(drawn.curves)
    [0.5, 1.0, 2.0]
    """

    curves: Mapping[float, Sequence[Expectation]]
    here: Expectation
    epsilon: float

    @classmethod
    def from_plan(
        cls,
        plan: Plan,
        *,
        epsilons: Sequence[float] | None = None,
        people: tuple[int, int] | None = None,
        kind: str | Kind = "separated",
        ax: Axes | None = None,
    ) -> Self:
        """Forecast plans like this one, of other ε and for other numbers of people, and draw it.

        Parameters
        ----------
        plan : Plan
            What is asked about; every other field stays.
        epsilons : sequence of float, optional
            At most seven; a quarter to four times the plan's if None. The plan's own is drawn besides.
        people : (int, int), optional
            The fewest and the most people; 1.5 powers of ten to either side of those expected if None.
        kind : {"tight", "separated", "broad", "real"} or Kind
            What people's points are believed to be like.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if None.

        Raises
        ------
        PlanError
            If there is no forecast for the plan's protocol.
        SettingError
            If the numbers of people are no range, or there are more than seven ε.
        """
        chosen = [plan.epsilon * each for each in _EPSILONS] if epsilons is None else epsilons
        values = sorted({float(each) for each in chosen if each <= _MOST_EPSILON} | {plan.epsilon})
        if len(values) > _MOST_CURVES:
            raise SettingError(f"at most {_MOST_CURVES} curves can be told apart, got {len(values)} epsilons")
        expected = plan.expected_users
        reach = 10**_DECADES
        low, high = people or (max(int(expected / reach), plan.clusters), int(expected * reach))
        if not 1 <= low < high:
            raise SettingError(f"people must be (fewest, most), got {(low, high)}")
        counts = sorted({round(low * (high / low) ** (step / (_STEPS - 1))) for step in range(_STEPS)})
        curves = {}
        for epsilon in values:
            like = _with_epsilon(plan, epsilon)
            curves[epsilon] = [like.expected(count, kind) for count in counts]
        return cls(curves, plan.expected(kind=kind_of(kind)), plan.epsilon).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 6.8, 3.8

    def _draw(self, ax: Axes) -> None:
        from matplotlib.ticker import PercentFormatter

        here = self.here
        for place, (epsilon, found) in enumerate(sorted(self.curves.items())):
            counts, own = [each.people for each in found], epsilon == self.epsilon
            shares = [each.recovered for each in found]
            if own:
                lows, highs = (
                    [getattr(each, f"recovered_{end}") for each in found] for end in ("low", "high")
                )
                ax.fill_between(counts, lows, highs, color=TEAL, alpha=0.16, linewidth=0)
            tone = 0.35 + 0.5 * place / max(len(self.curves) - 1, 1)
            look: dict[str, Any] = {"color": TEAL if own else str(1 - tone), "linewidth": 2.2 if own else 1.2}
            ax.plot(counts, shares, **look)
        for (x, y), ha, words, own in _labels(self.curves, self.epsilon):
            ax.annotate(
                words, (x, y), xytext=(5 if ha == "left" else -5, 0), textcoords="offset points", ha=ha,
                va="center", fontsize=9, color=TEAL if own else SOFT, annotation_clip=False,
                fontweight="bold" if own else "normal",
            )  # fmt: skip
        at = (here.people, here.recovered)
        ax.scatter(*at, s=70, color=INK, edgecolors=PAPER, linewidths=1.2, zorder=3)
        band = percent(here.recovered, here.recovered_low, here.recovered_high)
        above = here.recovered < 0.55
        ax.annotate(
            f"{here.people:,} people:\n{band}", at, xytext=(8, 10 if above else -12),
            textcoords="offset points", va="bottom" if above else "top", fontsize=9,
            bbox={"facecolor": PAPER, "alpha": 0.8, "edgecolor": "none", "pad": 1},
        )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xlim(left=0.6 * next(iter(self.curves.values()))[0].people)  # names stand before the start
        ax.set_ylim(-0.03, 1.05)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.grid(axis="y")
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("people who answer")
        ax.set_ylabel("recovered of what clustering gains")
        ax.set_title(f"What to expect of {here.kind}")


def _labels(
    curves: Mapping[float, Sequence[Expectation]], chosen: float
) -> list[tuple[tuple[float, float], str, str, bool]]:
    """Return where each curve is named: where it passes a half, or before its start, or behind its end."""
    labels, left, right = [], math.inf, -math.inf
    for epsilon, found in sorted(curves.items(), reverse=True):
        half = next((place for place, each in enumerate(found) if each.recovered >= 0.5), None)
        words, own = f"ε = {epsilon:g}", epsilon == chosen
        if half == 0:  # names before the start stand below each other
            left = min(found[0].recovered, left - _APART)
            labels.append(((float(found[0].people), left), "right", words, own))
        elif half is None:
            right = found[-1].recovered if right == -math.inf else min(found[-1].recovered, right - _APART)
            labels.append(((float(found[-1].people), right), "left", words, own))
        else:
            labels.append(((float(found[half].people), found[half].recovered), "left", words, own))
    return labels


def _with_epsilon(plan: Plan, epsilon: float) -> Plan:
    """Return the plan with another ε, designed anew; itself where it is the same."""
    if math.isclose(epsilon, plan.epsilon):
        return plan
    return Plan.design(
        plan.dimension, plan.clusters, epsilon, plan.expected_users,
        protocol=plan.protocol, model=plan.model, delta=plan.delta, radius=plan.radius, center=plan.center,
    )  # fmt: skip
