"""The parameters of `vector-sums`: private vector sums by cell, from mixed shares or from a curator.

Everybody's lifted vector (`coterie.geometry.lift`), on a grid of G = 2^grid_bits steps to a unit, is added
to a table with one row a cell ("cells"), one row a hashed cell ("hashed", the paper's s = 2n/β buckets), or
one row a public row of a view ("column": each person serves one, with the sign that it gives their point;
only this layout takes halfspaces, which have no cells).

*Influence* of replacing a person, in grid steps squared. In one cell the counting coordinates agree and what
is left of both vectors has length at most a·G, with non-negative last coordinates: at most 4a²G². In two
cells: at most 2G². In a column the sign may flip everything: 4G².

Noise, shares and the promise are `coterie.plan.shares`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Final, Self

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE, SCALE_SQUARED
from coterie.plan.checks import checked_choice, checked_fields, checked_integer
from coterie.plan.codeword import EXTRA_COORDINATES
from coterie.plan.shares import MAX_GRID_BITS, MAX_MODULUS, NOISES, SCALE_PARTS, ShareParameters
from coterie.plan.views import MAX_ROWS, Halfspaces, View, check_dimension, checked_views, views_from_list
from coterie.privacy.renyi import Influence

LAYOUTS: Final = ("cells", "hashed", "column")
GROUP_SLACK: Final = 4.5  # deviations by which a row may have fewer people than the mean


def likely_group(people: int, rows: int) -> int:
    """Return a number of people below which a random one of the rows almost never falls, at least 1.

    4.5 deviations: of 64 rows one falls below it in one batch of 5,000.

    Examples
    --------
    >>> likely_group(100_000, 64)
    1384
    """
    mean = people / rows
    return max(1, math.floor(mean - GROUP_SLACK * math.sqrt(mean)))


@dataclass(frozen=True, slots=True)
class VectorSumParameters(ShareParameters):
    """The parameters of a `vector-sums` plan.

    Attributes
    ----------
    layout : {"cells", "hashed", "column"}
        What a row of the table is.
    coordinates : int
        D = d + 2, of a row.
    views : tuple of CrossPolytope, Net or Halfspaces
        One, with cells; for "column" any.
    buckets : int
        Rows of the table where they are hashed, else 0.
    grid_bits : int
        log₂ of the grid steps to a unit.
    count_weight : int
        Share of the lifted vector that counts people, times 2^20.
    noise : {"everyone", "curator"}
        Who adds noise.
    scale : int
        Scale of that noise, in 64ths of a grid step.
    minimum_batch, group : int
        The fewest people a batch may have, and the fewest in the mixing group of a row.
    modulus, shares : int
        Of split-and-mix; 0 for a curator.
    """

    layout: str
    coordinates: int  # D
    views: tuple[View, ...]
    buckets: int
    grid_bits: int
    count_weight: int
    noise: str
    scale: int
    minimum_batch: int
    group: int
    modulus: int
    shares: int

    def __post_init__(self) -> None:
        checked_choice("layout", self.layout, LAYOUTS)
        checked_choice("noise", self.noise, NOISES)
        for name, low, high in (
            ("coordinates", 1 + EXTRA_COORDINATES, 1 << 12),
            ("buckets", 0, MAX_ROWS),
            ("grid_bits", 1, MAX_GRID_BITS),
            ("count_weight", 0, SCALE),
            ("scale", 1, SCALE_PARTS << 24),
            ("minimum_batch", 1, 1 << 40),
            ("group", 1, 1 << 40),
            ("modulus", 0, MAX_MODULUS),
            ("shares", 0, 1 << 10),
        ):
            object.__setattr__(self, name, checked_integer(name, getattr(self, name), low, high))
        object.__setattr__(self, "views", checked_views(self.views))
        if self.layout != "column" and len(self.views) != 1:
            raise PlanError(f"layout {self.layout} takes one view, got {len(self.views)}")
        if self.layout != "column" and isinstance(self.views[0], Halfspaces):
            raise PlanError(f"layout {self.layout} sums cells, and halfspaces have none; column takes them")
        if (self.layout == "hashed") != (self.buckets > 0):
            raise PlanError("buckets must be positive for layout hashed and 0 otherwise")
        self.check_shares()

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.buckets or sum(view.rows for view in self.views)

    @property
    def rows_filled(self) -> int:
        """Rows that one person's vector is added to."""
        return 1

    @property
    def by_column(self) -> bool:
        """Whether a person serves the one row that their id names."""
        return self.layout == "column"

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the noise that each of those who add it adds, in grid steps."""
        return Fraction(self.scale, SCALE_PARTS)

    @property
    def point_bytes(self) -> int:
        """Bytes of the point that a curator is given."""
        return 8 * (self.coordinates - EXTRA_COORDINATES)

    def influence(self) -> Influence:
        """Return what replacing one person can change of the table, in grid steps."""
        grid_squared = self.grid * self.grid
        if self.by_column:
            return Influence(4 * grid_squared, self.coordinates)
        bodies = -(-4 * (SCALE_SQUARED - self.count_weight**2) * grid_squared // SCALE_SQUARED)
        return Influence(max(bodies, 2 * grid_squared), self.rows * self.coordinates)

    def group_of(self, people: int | None = None) -> int:
        """Return how many people can be counted on in a row, in a batch of so many.

        From the smallest batch on a shuffler sees to it that `group` are there, and to no more. In a smaller
        one (never released) a row is random: 4.5 deviations below the mean.
        """
        if people is None or people >= self.minimum_batch:
            return self.group
        return min(self.group, likely_group(people, self.rows) if self.by_column else people)

    def check_plan(self, *, dimension: int, epsilon: float) -> None:
        """Raise PlanError unless the parameters fit a plan of this dimension."""
        del epsilon
        if self.coordinates != dimension + EXTRA_COORDINATES:
            raise PlanError(f"coordinates must be dimension + 2 = {dimension + 2}, got {self.coordinates}")
        check_dimension(self.views, dimension)
        self.check_local_noise()

    # ------------------------------------------------------------ JSON

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**plain, "views": [view.to_dict() for view in self.views]}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; PlanError for anything unknown, missing or out of range."""
        known = checked_fields("parameters", data, (field.name for field in fields(cls)))
        return cls(**{**known, "views": views_from_list(known["views"])})
