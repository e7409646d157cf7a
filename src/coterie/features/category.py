"""One of several values without an order: the corners of a regular simplex, any two of them `weight` apart.

With m corners, numbered from 0, corner i has m - 1 coordinates (rows of Helmert's matrix, scaled by w/√2):

    coordinate j = a_j  if i < j,   -j·a_j  if i = j,   0  if i > j;     a_j = w/√(2·j·(j+1)),  j = 1 … m-1

Their mean is 0. A mean of people's corners is x = Σ p_i·corner_i, so the shares are
p_i = 1/m + (2/w²)·⟨corner_i, x⟩.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError
from coterie.features.feature import MOST_COORDINATES, Column, Feature, checked_values, keys
from coterie.features.reading import SHARE, Block, Estimate, fraction, onto_simplex
from coterie.features.values import places
from coterie.plain.checks import checked_choice

UNKNOWN: Final = "(unknown)"  # what the corner of values that are not declared is called
MISSING: Final = "(missing)"

_MIDDLE: Final = -1


@dataclass(frozen=True, slots=True, repr=False)
class Category(Feature):
    """One of several values.

    Attributes
    ----------
    values : tuple of str or int
        The declared values. Texts are compared by code points, numbers as doubles.
    unknown : {"middle", "own"}
        Where a text or number that is not declared lies: in the middle of all, or at a corner of its own.
    missing : {"middle", "own"}
        Where a record without a text or number lies.

    Examples
    --------
    >>> plan = Category("plan", ("free", "paid"), unknown="own")
    >>> points = plan.points(["free", "paid", "trial", None])
    >>> (np.linalg.norm(points[0] - points[2]).round(12), points[3].tolist())
    (np.float64(1.0), [0.0, 0.0])
    """

    kind: ClassVar[str] = "category"
    missing_ways: ClassVar[Iterable[str]] = ("middle", "own")
    values: Sequence[str | int]
    unknown: str = field(default="middle", kw_only=True)

    def _check(self) -> None:
        self._clean(checked_values, values=(1, MOST_COORDINATES))
        self._clean(checked_choice, unknown=(self.missing_ways,))
        if len(self.corners) < 2:
            raise PlanError(
                "values must hold two entries, or one beside unknown or missing with a corner of its own"
            )
        if taken := {UNKNOWN, MISSING} & set(self.values):
            raise PlanError(
                f"values must not hold {min(map(str, taken))}; it is the name of a corner of its own"
            )

    @property
    def corners(self) -> tuple[str | int, ...]:
        """The corners' names: the values, then those of unknown and of missing values if they have one."""
        own = [name for name, where in ((UNKNOWN, self.unknown), (MISSING, self.missing)) if where == "own"]
        return (*self.values, *own)

    @property
    def coordinates(self) -> int:
        """One less than there are corners."""
        return len(self.corners) - 1

    @property
    def radius_squared(self) -> float:
        """w²·(m-1)/(2m)."""
        count = len(self.corners)
        return self.weight * self.weight * ((count - 1) / (2 * count))

    def codes(self, column: Column) -> NDArray[np.int64]:
        """Return the corners of a column's values, -1 for the middle: n values -> (n,)."""
        corner = {name: i for i, name in enumerate(self.corners)}
        unknown = corner[UNKNOWN] if self.unknown == "own" else _MIDDLE
        missing = corner[MISSING] if self.missing == "own" else _MIDDLE
        return places(column, keys(self.values), unknown, missing)

    def understood(self, column: Column) -> NDArray[np.bool_]:
        """Return which values are declared; all, if the others have a corner of their own."""
        found = places(column, keys(self.values), _MIDDLE, _MIDDLE) != _MIDDLE
        return np.asarray(found | (self.unknown == "own"))

    def place(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return where corners lie: (n,) -> (n, m-1)."""
        steps = np.arange(1, len(self.corners))  # j
        ahead = self.weight / np.sqrt(2.0 * steps * (steps + 1))  # a_j
        corner = codes[:, None]
        found = np.where(corner < steps, ahead, np.where(corner == steps, -(steps * ahead), 0.0))
        return np.where(corner == _MIDDLE, 0.0, found)

    def _raw_shares(self, place: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shares that a mean stands for, before projecting, and their slopes: (m,), (m, m-1)."""
        count = len(self.corners)
        slopes = self.place(np.arange(count)) * (2.0 / (self.weight * self.weight))
        return 1.0 / count + slopes @ place, slopes

    def value(self, place: NDArray[np.float64]) -> str | int | None:
        """Return the value of the nearest corner, None if that is none of a value or the middle is nearer."""
        raw, _ = self._raw_shares(place)
        nearest = int(raw.argmax())
        # Half way between the middle and a corner its share is (1 + 1/m)/2.
        near = raw[nearest] > (1.0 + 1.0 / len(raw)) / 2.0
        return self.values[nearest] if near and nearest < len(self.values) else None

    def estimates(self, block: Block) -> tuple[Estimate, ...]:
        """Return the share of each corner, with its interval."""
        raw, slopes = self._raw_shares(block.place)
        shares = onto_simplex(raw)
        return tuple(
            fraction(self.name, SHARE, label, float(shares[i]), block.reach(slopes[i]), float(raw[i]))
            for i, label in enumerate(self.corners)
        )
