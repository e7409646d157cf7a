"""What solving gives, in units of the unit ball, and the steps that several ways of solving share.

A decoder returns a `Solution` and nothing else; `coterie.centers.dress` makes a `Result` of it.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.wire.workers import is_helper

if TYPE_CHECKING:
    from coterie.centers.confirmed import Confirmed

MEDIANS: Final = "medians"
OBJECTIVES: Final = ("means", MEDIANS)
COVERAGE: Final = 0.9  # of everything that is stated
LEAST_SHARE: Final = 1e-3  # of a group: what is less is not told from nobody
_VAGUE: Final = 0.5


Weighted = tuple[NDArray[np.float64], NDArray[np.float64]]  # points, (N, d), and their weights, (N,)


class Interval(NamedTuple):
    """A figure, and the range that holds the true one at the result's rate; NaN where none is stated."""

    value: float
    low: float
    high: float

    @property
    def is_vague(self) -> bool:
        """Whether the range of a share spans more than half of all there is: its value then says little."""
        return self.high - self.low > _VAGUE


class Choice(NamedTuple):
    """What another number of groups would explain, by the same reports."""

    clusters: int  # k
    explained: Interval  # share of people's spread
    apart: bool  # all of the groups stand clear, and no two of them may be one, by the noise


class Distance(NamedTuple):
    """The mean distance of people to the nearest center, and the deviation of that estimate."""

    value: float
    deviation: float


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Centers of the unit ball, and what can be said of the people nearest to each."""

    centers: NDArray[np.float64]  # (k, d)
    shares: NDArray[np.float64]  # (k,), sum 1
    errors: NDArray[np.float64]  # (k,), radii of `coverage`, or the root mean square of the noise
    supported: NDArray[np.bool_]  # (k,), stands clear of noise
    points: NDArray[np.float64]  # (N, d), the population
    weights: NDArray[np.float64]  # (N,), its weights
    notes: tuple[str, ...] = ()  # what is doubtful, in plain words, the worst first
    coverage: float | None = None  # the rate at which `errors` hold; None: they are the noise alone
    scatter: float = 0.0  # mean square distance of people from the points in directions they do not show
    tree: Any = None  # what the tree protocols built on the way
    share_errors: NDArray[np.float64] | None = None  # (k,): half the width of the shares' intervals
    profile: NDArray[np.float64] | None = None  # (d,): deviation of a coordinate of a mean over its radius
    explained: Interval | None = None  # share of people's spread that the centers explain
    mean: NDArray[np.float64] | None = None  # (d,), of everybody
    mean_error: float = math.nan  # deviation of each of its coordinates
    alternatives: tuple[tuple[int, ...], ...] = ()  # answers as good: the groups that each cuts otherwise
    choices: tuple[Choice, ...] = ()
    directions: NDArray[np.float64] | None = None  # (m, d), orthonormal: what to ask other people about
    one_group: bool = False  # the reports tell no groups apart: all centers are everybody's mean
    confirmed: Confirmed | None = None  # of published groups, in the plan's own units
    medians: bool = False  # the centers are medians, and nothing is stated of means
    distance: Distance | None = None  # of medians, where the reports tell it


def squared_distances(
    points: NDArray[np.float64], centers: NDArray[np.float64]
) -> NDArray[np.float64]:  # (n, d), (k, d) -> (n, k)
    """Return the squared distance of every point from every center."""
    squares = np.einsum("ij,ij->i", points, points)[:, None] + np.einsum("ij,ij->i", centers, centers)
    apart: NDArray[np.float64] = np.maximum(squares - 2 * points @ centers.T, 0.0)
    return apart


def into_ball(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move points outside the unit ball to its surface: (n, d) -> (n, d)."""
    inside: NDArray[np.float64] = points / np.maximum(1.0, np.linalg.norm(points, axis=1))[:, None]
    return inside


@contextlib.contextmanager
def with_equal_points() -> Iterator[None]:
    """Let k-means pass over fewer distinct points than centers: noise may have left no more.

    Filters of warnings are one for all threads, so those of `on_all_cores` leave them to whoever called them.
    """
    from sklearn.exceptions import ConvergenceWarning

    if is_helper():
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
