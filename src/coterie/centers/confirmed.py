"""What a wave that confirms says of published groups: figures with intervals that need no model, and tests.

Of *the people nearest to each published center*, as they are in the plan's ball: their share, their mean and
their features. Each interval holds its figure at the rate `coverage` whatever the data are and however wrong
the centers; the intervals `together` hold all figures at once at that rate (docs/theory/confirming.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.centers.solution import Interval
from coterie.features import Estimate
from coterie.plain.words import letter, listed


@dataclass(frozen=True, slots=True, eq=False)
class ConfirmedGroup:
    """The people nearest to one published center.

    Attributes
    ----------
    number : int
        Its place among the published centers, from 0.
    center : ndarray of float64, shape (d,)
        The published center, in the original units.
    share : Interval
        Of the people.
    share_together : Interval
        The same, held at once with all other figures.
    estimates : tuple of Estimate
        Their mean, feature by feature, or by coordinate where none are declared.
    together : tuple of Estimate
        The same, held at once with all other figures.
    mean : ndarray of float64, shape (d,)
        Their mean, in the original units; the published center where nobody is seen.
    deviations : ndarray of float64, shape (d,)
        Of its coordinates; infinite where the share is not clear of 0.
    empty : float
        p-value of "nobody is nearest to this center".
    """

    number: int
    center: NDArray[np.float64]
    share: Interval
    share_together: Interval
    estimates: tuple[Estimate, ...]
    together: tuple[Estimate, ...]
    mean: NDArray[np.float64]
    deviations: NDArray[np.float64]
    empty: float

    @property
    def name(self) -> str:
        """How the group is called wherever it is shown: A, B, C and so on."""
        return letter(self.number)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, for JSON."""
        return {
            "number": self.number,
            "center": self.center.tolist(),
            "share": self.share._asdict(),
            "share_together": self.share_together._asdict(),
            "estimates": [asdict(each) for each in self.estimates],
            "together": [asdict(each) for each in self.together],
            "mean": self.mean.tolist(),
            "empty": self.empty,
        }


@dataclass(frozen=True, slots=True)
class Pair:
    """Two published groups.

    Attributes
    ----------
    first, second : int
        Their places, from 0.
    published : float
        How far apart their published centers are, in the original units.
    gap : float
        How far apart the means of their people are along the same line; NaN where a share is not above 0.
    one : float
        p-value of "one center between them, each weighing as many people as it has, explains these people as
        well as both": that is so if and only if the gap is at most half of what was published.
    """

    first: int
    second: int
    published: float
    gap: float
    one: float


@dataclass(frozen=True, slots=True, eq=False)
class Confirmed:
    """What other people confirm of published groups.

    Attributes
    ----------
    plan_id : str
        The plan that published the centers.
    people : int
        Whose reports this is from: of that plan alone.
    coverage : float
        The rate of every interval, and of all `together`.
    groups : tuple of ConfirmedGroup
        In the order in which they were published.
    pairs : tuple of Pair
        Every two of them.
    level : float
        The size of the tests that are told in words.
    """

    plan_id: str
    people: int
    coverage: float
    groups: tuple[ConfirmedGroup, ...]
    pairs: tuple[Pair, ...]
    level: float = 0.05

    @property
    def centers(self) -> NDArray[np.float64]:
        """The published centers, (k, d)."""
        return np.array([group.center for group in self.groups])

    @property
    def perhaps_empty(self) -> tuple[int, ...]:
        """Groups of which the test does not exclude that they are empty."""
        return tuple(group.number for group in self.groups if group.empty > self.level)

    @property
    def perhaps_one(self) -> tuple[tuple[int, int], ...]:
        """Pairs of which the test does not exclude that one center would do."""
        return tuple((pair.first, pair.second) for pair in self.pairs if pair.one > self.level)

    @property
    def words(self) -> str:
        """What is stated, of whom, and how surely."""
        told = (
            f"{self.people:,} other people were asked about {len(self.groups)} published centers. Each "
            f"interval holds its figure of the people nearest to a center in {self.coverage:.0%} of such "
            "studies, whatever the data are."
        )
        empty = [letter(number) for number in self.perhaps_empty]
        if not empty:
            return f"{told} No group is empty, by a test of size {self.level:.0%} each."
        return f"{told} Group{'s' * (len(empty) > 1)} {listed(empty)} may be empty."

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, for JSON."""
        return {
            "plan_id": self.plan_id,
            "people": self.people,
            "coverage": self.coverage,
            "level": self.level,
            "words": self.words,
            "groups": [group.to_dict() for group in self.groups],
            "pairs": [
                {**asdict(pair), "gap": None if math.isnan(pair.gap) else pair.gap} for pair in self.pairs
            ],
        }


def sidak(coverage: float, figures: int) -> float:
    """Return the rate of each of several intervals that hold all figures at once at `coverage` at least.

    Šidák 1967: of jointly normal errors, whatever their correlations, all stay within symmetric bounds at
    least as often as independent ones would.

    Examples
    --------
    >>> round(sidak(0.9, 2), 4)
    0.9487
    """
    return float(coverage ** (1 / max(figures, 1)))


def counted(groups: Sequence[Sequence[Estimate]]) -> int:
    """Return how many figures a statement about groups has, their shares included."""
    shares = len(groups) if len(groups) > 2 else len(groups) - 1  # of two groups, one share tells the other
    return shares + sum(len(each) for each in groups)
