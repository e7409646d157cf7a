"""One of several levels in order, equally spaced: level i of L lies at (i/(L-1) - ½)·weight, i from 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from coterie.features.feature import ENDS, MOST_COORDINATES, Column, Feature, checked_values, keys
from coterie.features.reading import Block, Estimate
from coterie.features.values import places

_GONE: Final = -1


@dataclass(frozen=True, slots=True, repr=False)
class Ordinal(Feature):
    """One of several levels, from low to high.

    Attributes
    ----------
    levels : tuple of str or int
        In order. Texts are compared by code points, numbers as doubles.
    missing : {"middle", "low", "high"}
        Where a record without one of the levels lies.

    Examples
    --------
    >>> Ordinal("size", ("S", "M", "L")).points(["S", "M", "L", "XL"]).ravel().tolist()
    [-0.5, 0.0, 0.5, 0.0]
    """

    kind: ClassVar[str] = "ordinal"
    missing_ways: ClassVar[Iterable[str]] = ENDS
    levels: Sequence[str | int]

    def _check(self) -> None:
        self._clean(checked_values, levels=(2, MOST_COORDINATES))

    def codes(self, column: Column) -> NDArray[np.int64]:
        """Return the places of a column's levels, -1 where there is none: n values -> (n,)."""
        return places(column, keys(self.levels), _GONE, _GONE)

    def understood(self, column: Column) -> NDArray[np.bool_]:
        """Return which values are levels."""
        return np.asarray(self.codes(column) != _GONE)

    def place(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return where levels lie: (n,) -> (n, 1)."""
        share = np.where(codes == _GONE, ENDS[self.missing], codes / (len(self.levels) - 1) - 0.5)
        return (share * self.weight)[:, None]

    def _at(self, coordinate: float) -> float:
        """Return the level at a place, counted from 1."""
        top = len(self.levels) - 1
        return min(max((coordinate / self.weight + 0.5) * top, 0.0), float(top)) + 1.0

    def value(self, place: NDArray[np.float64]) -> str | int:
        """Return the nearest level: (1,) -> level."""
        return self.levels[round(self._at(float(place[0]))) - 1]

    def along(self, figure: float) -> float:
        """Return where a mean level lies between the first, 0, and the last, 1."""
        return (figure - 1) / (len(self.levels) - 1)

    def estimates(self, block: Block) -> tuple[Estimate, ...]:
        """Return the mean level, counted from 1, with its interval and the nearest level's name."""
        return (self._scaled(block, self._at, self.value(block.place)),)
