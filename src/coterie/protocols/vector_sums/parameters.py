"""The parameters of `vector-sums`: private vector sums by cell, from mixed shares or from a curator.

Everybody's lifted vector (`coterie.geometry.lift`), on a grid of G = 2^grid_bits steps to a unit, is added
to a table with one row a cell ("cells"), one row a hashed cell ("hashed", the paper's s = 2n/β buckets), or
one row a public row of a view ("column": each person serves one, with the sign that it gives their point;
only this layout takes halfspaces, which have no cells).

*Influence* of replacing a person, in grid steps squared. In one cell the counting coordinates agree and what
is left of both vectors has length at most a·G, with non-negative last coordinates: at most 4a²G². In two
cells: at most 2G². In a column the sign may flip everything: 4G².

Noise, shares and the promise are `coterie.protocols.shares.parameters`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.plain.checks import checked_choice, checked_integer
from coterie.plan.views import MAX_ROWS, Halfspaces, View, check_dimension, checked_views
from coterie.privacy.renyi import Influence
from coterie.protocols.shares.parameters import ShareParameters

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


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSumParameters(ShareParameters):
    """The parameters of a `vector-sums` plan: those of `ShareParameters`, with D = d + 2, and its rows.

    Attributes
    ----------
    layout : {"cells", "hashed", "column"}
        What a row of the table is.
    views : tuple of CrossPolytope, Net or Halfspaces
        One, with cells; for "column" any.
    buckets : int
        Rows of the table where they are hashed, else 0.
    """

    views: tuple[View, ...]
    buckets: int

    extra_coordinates: ClassVar[int] = EXTRA_COORDINATES

    def __post_init__(self) -> None:
        self._clean(checked_choice, layout=(LAYOUTS,))
        self._clean(checked_integer, buckets=(0, MAX_ROWS), count_weight=(0, SCALE))
        self._set(views=checked_views(self.views))
        self._clean_sums()
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
    def by_column(self) -> bool:
        """Whether a person serves the one row that their id names."""
        return self.layout == "column"

    def influence(self) -> Influence:
        """Return what replacing one person can change of the table, in grid steps."""
        if self.by_column:
            return Influence(4 * self.grid * self.grid, self.coordinates)
        return Influence(self.cells_moved(), self.rows * self.coordinates)

    def group_of(self, people: int | None = None) -> int:
        """Return how many people can be counted on in a row, in a batch of so many.

        From the smallest batch on a shuffler sees to it that `group` are there, and to no more. In a smaller
        one (never released) a row is random: 4.5 deviations below the mean.
        """
        if people is None or people >= self.minimum_batch:
            return self.group
        return min(self.group, likely_group(people, self.rows) if self.by_column else people)

    def check_fit(self, dimension: int) -> None:
        """Raise PlanError unless rows, noise and views fit a plan of this dimension."""
        ShareParameters.check_fit(self, dimension)
        check_dimension(self.views, dimension)
