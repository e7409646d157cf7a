"""What a comparison of labels says: the same groups under each, what differs, and what may be chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.result import Result
from coterie.features import Estimate
from coterie.plain.words import letter, listed, number_word

VERSION: Final = 1  # of `to_dict`
_MOST_NAMED: Final = 6  # figures that moved, in one line


@dataclass(frozen=True, slots=True)
class Difference:
    """How one figure of one group differs between a label and the first one.

    Attributes
    ----------
    group : int
        From 0.
    label, against : str
        The label, and the first one.
    feature : str or None
        The figure's feature, or coordinate; None for the group's share of the people.
    what : {"share", "value"}
        As in `Estimate`.
    of : str, int or None
        The value whose share it is.
    before, after : float
        The figure under `against` and under `label`.
    value, low, high : float
        after - before with its interval at `Comparison.coverage`; on a cycle the shorter way round.
    p : float
        p-value of "no difference", by itself.
    moved : bool
        Whether it differs, with an error of `Comparison.level` for all figures of its family together.
    unit : str
        Of the figure; empty for shares.
    """

    group: int
    label: str
    against: str
    feature: str | None
    what: str
    of: str | int | None
    before: float
    after: float
    value: float
    low: float
    high: float
    p: float
    moved: bool
    unit: str = ""

    @property
    def name(self) -> str:
        """What differs, in words."""
        if self.feature is None:
            return f"group {letter(self.group)}"
        of = "" if self.of is None or self.what != "share" else f" {self.of}"
        return f"group {letter(self.group)}: {self.feature}{of}"

    def __str__(self) -> str:
        mark = ", moved" if self.moved else ""
        if self.what == "share":
            ends = f"[{100 * self.low:+.1f}, {100 * self.high:+.1f}]"
            figures = f"{self.before:.1%} to {self.after:.1%}, {100 * self.value:+.1f} {ends} points"
        else:
            figures = (
                f"{self.before:.4g} to {self.after:.4g}, {self.value:+.3g} "
                f"[{self.low:+.3g}, {self.high:+.3g}] {self.unit}".rstrip()
            )
        return f"{self.name}, {self.against} to {self.label}: {figures}{mark}"


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The same groups under several labels. All of it is post-processing of private reports.

    Groups are found on all tables together; then each label's tables are read by themselves: the shares and
    means of *the people nearest to the common centers*.

    Attributes
    ----------
    result : Result
        What all tables together say.
    labels : tuple of str
        In the order given; all others are compared with the first.
    counts : tuple of int
        Reports by label.
    shares, share_errors : ndarray of float64, shape (labels, k)
        Each label's share of the people nearest to each center, and half the width of its interval.
    estimates : tuple of tuple of tuple of Estimate
        By label and group: their mean, feature by feature, or by coordinate.
    differences : tuple of Difference
        Of the groups' shares, k for each label after the first: one family of tests.
    figures : tuple of Difference
        Of the groups' figures: the other family.
    visible : tuple of float
        By label after the first: the change of a share that would be called moved in four cases of five.
    coverage, level : float
        Rate of the intervals, each by itself; error of each family of tests together (Holm 1979).
    exact : bool
        Whether the groups are published ones that plans asked about, so that no model is needed.
    notes : tuple of str
        Cautions in plain words, those of the result first.
    """

    result: Result
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    shares: NDArray[np.float64]
    share_errors: NDArray[np.float64]
    estimates: tuple[tuple[tuple[Estimate, ...], ...], ...]
    differences: tuple[Difference, ...]
    figures: tuple[Difference, ...]
    visible: tuple[float, ...]
    coverage: float
    level: float
    exact: bool
    notes: tuple[str, ...]

    @property
    def moved(self) -> tuple[int, ...]:
        """The groups whose share moved under any label, from 0."""
        return tuple(sorted({each.group for each in self.differences if each.moved}))

    @property
    def words(self) -> str:
        """What moved, in one line, with the error of saying so."""
        number = self.shares.shape[1]
        if number == 1:
            return "The reports tell no groups apart, so there are no shares to compare."
        moved = self.moved
        many = number_word(len(moved)).capitalize() if moved else "None"
        names = f" ({listed([letter(group) for group in moved])})" if moved else ""
        shift = 100 * max(self.visible)
        return (
            f"{many} of {number_word(number)} shares moved{names}; where none did, this would say otherwise "
            f"in at most {self.level:.0%} of comparisons. A change of {shift:.1f} points would be seen in "
            "four cases of five."
        )

    @property
    def figure_words(self) -> str:
        """Which figures of the groups moved, in one line; nothing where none can be compared."""
        if not self.figures:
            return ""
        moved = sorted((each for each in self.figures if each.moved), key=lambda each: each.p)
        named = ", ".join(f"{each.name} ({each.label})" for each in moved[:_MOST_NAMED])
        more = f" and {len(moved) - _MOST_NAMED} more" if len(moved) > _MOST_NAMED else ""
        which = f": {named}{more}" if moved else ""
        return f"{len(moved) or 'None'} of {len(self.figures)} figures moved, at the same error{which}."

    def describe(self) -> str:
        """Return what was found, line by line, with the cautions first.

        Examples
        --------
        >>> from coterie import Plan, compare, simulate
        >>> plan = Plan.design(dimension=2, clusters=2, epsilon=4.0, expected_users=20_000)
        >>> points = np.repeat([[0.8, 0.0], [-0.8, 0.0]], [50, 50], axis=0)
        >>> later = np.repeat([[0.8, 0.0], [-0.8, 0.0]], [70, 30], axis=0)
        >>> tables = [simulate(plan, points, 20_000), simulate(plan, later, 20_000, random_state=1)]
        >>> print(compare(tables, labels=("May", "June"), random_state=0).words)  # doctest: +ELLIPSIS
        Two of two shares moved (A and B); ...
        """
        people = listed([f"{count:,} {label}" for label, count in zip(self.labels, self.counts, strict=True)])
        told = [f"{people}", self.words, self.figure_words, *self.notes]
        lines = [*map(str, self.differences), *(str(each) for each in self.figures if each.moved)]
        return "\n".join([*filter(None, told), *lines])

    def __repr__(self) -> str:
        return (
            f"Comparison({', '.join(self.labels)}: {len(self.moved)} of {self.shares.shape[1]} shares moved)"
        )

    def _repr_html_(self) -> str:
        """Return the comparison for a notebook: its page, in a frame in which nothing runs."""
        page = escape(self.page())
        return f'<iframe sandbox title="Comparison" width="100%" height="640" srcdoc="{page}"></iframe>'

    def page(self) -> str:
        """Return the comparison as one page that opens from disk, runs nothing and calls nobody."""
        made: str = import_module("coterie.show.comparison").comparison_page(self)  # a room above
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, for JSON."""
        return {
            "version": VERSION,
            "labels": list(self.labels),
            "counts": list(self.counts),
            "coverage": self.coverage,
            "level": self.level,
            "exact": self.exact,
            "words": self.words,
            "figure_words": self.figure_words,
            "visible": list(self.visible),
            "shares": self.shares.tolist(),
            "share_errors": self.share_errors.tolist(),
            "estimates": [[[asdict(one) for one in group] for group in label] for label in self.estimates],
            "differences": [asdict(each) for each in self.differences],
            "figures": [asdict(each) for each in self.figures],
            "notes": list(self.notes),
            "result": self.result.to_dict(),
        }


def holm(chances: Sequence[float], level: float) -> list[bool]:
    """Return which of several tests reject, with at most this chance that any does wrongly (Holm 1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03], 0.05), holm([0.001, 0.02, 0.6], 0.05)
    ([True, False, False], [True, True, False])
    """
    rejected = [False] * len(chances)
    for place, number in enumerate(sorted(range(len(chances)), key=lambda each: chances[each])):
        if not chances[number] <= level / (len(chances) - place):
            break
        rejected[number] = True
    return rejected


def two_sided(deviations: float) -> float:
    """Return the chance that a normal error is as far from 0."""
    return math.erfc(abs(deviations) / math.sqrt(2))
