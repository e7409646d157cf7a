"""True or false: -weight/2 or weight/2."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from coterie.features.feature import Column, Feature
from coterie.features.reading import SHARE, Block, Estimate, fraction
from coterie.features.values import as_truth, listed

_CODES: Final = {"false": 0.0, "middle": 0.5, "true": 1.0}


@dataclass(frozen=True, slots=True, repr=False)
class Flag(Feature):
    """True or false; the numbers 1 and 0 count as such, texts do not.

    Attributes
    ----------
    missing : {"middle", "false", "true"}
        What a record without either counts as.

    Examples
    --------
    >>> Flag("member").points([True, False, None, "yes"]).ravel().tolist()
    [0.5, -0.5, 0.0, 0.0]
    """

    kind: ClassVar[str] = "flag"
    missing_ways: ClassVar[Iterable[str]] = _CODES

    def codes(self, column: Column) -> NDArray[np.float64]:
        """Return 1 for true, 0 for false, and what is declared for missing ones: n values -> (n,)."""
        found = np.array([as_truth(value) for value in listed(column)], dtype=np.float64)
        return np.where(np.isnan(found), _CODES[self.missing], found)

    def understood(self, column: Column) -> NDArray[np.bool_]:
        """Return which values are true, false, 1 or 0."""
        return np.array([not np.isnan(as_truth(value)) for value in listed(column)], dtype=np.bool_)

    def place(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where flags lie: (n,) -> (n, 1)."""
        return ((codes - 0.5) * self.weight)[:, None]

    def value(self, place: NDArray[np.float64]) -> bool | None:
        """Return the nearest of true, false and, in the middle, None."""
        side = float(place[0]) / self.weight
        return None if abs(side) < 0.25 else side > 0

    def estimates(self, block: Block) -> tuple[Estimate, ...]:
        """Return the share of true, with its interval."""
        slope = np.full(1, 1.0 / self.weight)
        found = float(block.place[0]) / self.weight + 0.5
        return (fraction(self.name, SHARE, None, found, block.reach(slope)),)
