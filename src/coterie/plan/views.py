"""Views: what the sign of a report depends on. A view has M rows, and a report serves one row of one view.

*Partitions* of the ball into M cells: a report's sign is (-1)^popcount(cell & row), a column of a Hadamard
matrix, and the M rows together give the vector sum of every cell.

- `CrossPolytope`: by the corner of a public rotation that is nearest.
- `Net`: by the nearest of M public points.

*Halfspaces*: M public hyperplanes, a row each; the sign says on which side of its row's the point lies.

A view has as many of W tickets as its weight says. `view.geometry` is what computes signs; it takes keys from
the plan by label: "view/<number>", and for halfspaces "view/<number>/<block>", a block a rotation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.cells import CrossPolytopeCells, NetCells
from coterie.geometry.halfspaces import HalfspaceSigns, turn_size
from coterie.plain.checks import (
    checked_choice,
    checked_fields,
    checked_integer,
    checked_list,
    checked_power_of_two,
)
from coterie.plain.record import Record

MAX_ROWS: Final = 1 << 16
MAX_WEIGHT: Final = 1 << 8  # of all views together: a ticket is one byte
MAX_NET_COORDINATES: Final = 1 << 18  # over all views of a plan; keeps a plan's JSON below 4 MiB
MAX_OFFSET: Final = SCALE << 12  # S·2^20 in the largest dimension

KeyOf = Callable[[str], bytes]  # a label's 16-byte key: Plan.randomness_key


class _View(Record):
    """What all views have: a weight, and one JSON form, their fields beside the kind of cells."""

    __slots__ = ()

    kind: ClassVar[str]
    weight: int

    def __post_init__(self) -> None:
        self._set(weight=checked_integer("view weight", self.weight, 1, MAX_WEIGHT))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"cells": self.kind, **Record.to_dict(self)}

    @classmethod
    def from_dict(cls, where: str, data: object) -> Self:
        """Read the JSON form."""
        found = checked_fields(where, data, ("cells", *cls.field_names()))
        return cls(**{name: found[name] for name in cls.field_names()})


@dataclass(frozen=True, slots=True)
class CrossPolytope(_View):
    """Cells by the first Q coordinates of a public rotation: the largest by size, and its sign. M = 2·Q."""

    kind: ClassVar[str] = "cross-polytope"
    size: int  # Q
    weight: int = 1

    def __post_init__(self) -> None:
        self._set(size=checked_power_of_two("view size", self.size, 1, MAX_ROWS // 2))
        _View.__post_init__(self)

    @property
    def rows(self) -> int:
        """Rows of the table, one a cell (M)."""
        return 2 * self.size

    def check_dimension(self, where: str, dimension: int) -> None:
        """Do nothing: a rotation fits every dimension."""

    def geometry(self, key_of: KeyOf, number: int, dimension: int) -> CrossPolytopeCells:
        """Return the cells of view `number` of a plan."""
        return CrossPolytopeCells.from_key(key_of(f"view/{number}"), self.size, dimension)


@dataclass(frozen=True, slots=True)
class Net(_View):
    """Cells by the nearest of M public points, integers of scale 2^20 around the center of the ball."""

    kind: ClassVar[str] = "net"
    points: tuple[tuple[int, ...], ...] = field(repr=False)  # (M, d)
    weight: int = 1

    def __post_init__(self) -> None:
        _View.__post_init__(self)
        rows = checked_list("net points", self.points)
        checked_power_of_two("number of net points", len(rows), 1, MAX_ROWS)
        points = []
        for number, row in enumerate(rows):
            where = f"net point {number}"
            points.append(tuple(checked_integer(where, x, -SCALE, SCALE) for x in checked_list(where, row)))
        if len({len(point) for point in points}) != 1 or not points[0]:
            raise PlanError("net points must all have the plan's dimension")
        self._set(points=tuple(points))

    @property
    def rows(self) -> int:
        """Rows of the table, one a cell (M)."""
        return len(self.points)

    def check_dimension(self, where: str, dimension: int) -> None:
        """Raise PlanError unless the points have the plan's dimension."""
        if len(self.points[0]) != dimension:
            raise PlanError(f"{where}: net points must have dimension {dimension}")

    def geometry(self, key_of: KeyOf, number: int, dimension: int) -> NetCells:
        """Return the cells of view `number` of a plan."""
        return NetCells.from_points(self.points)


@dataclass(frozen=True, slots=True)
class Halfspaces(_View):
    """M public hyperplanes, a row each: rows of rotations of size S, cut at offsets of scale S·2^20.

    Examples
    --------
    >>> Halfspaces(4, (0, 0, 5000, -5000), weight=7).rows
    4
    """

    kind: ClassVar[str] = "halfspaces"
    rows: int  # M
    offsets: tuple[int, ...] = field(repr=False)  # (M,)
    weight: int = 1

    def __post_init__(self) -> None:
        self._set(rows=checked_power_of_two("rows of halfspaces", self.rows, 1, MAX_ROWS))
        _View.__post_init__(self)
        listed = checked_list("offsets", self.offsets)
        if len(listed) != self.rows:
            raise PlanError(f"offsets must be {self.rows}, one a row, got {len(listed)}")
        offsets = (
            checked_integer(f"offset {row}", offset, -MAX_OFFSET, MAX_OFFSET)
            for row, offset in enumerate(listed)
        )
        self._set(offsets=tuple(offsets))

    def check_dimension(self, where: str, dimension: int) -> None:
        """Raise PlanError unless every offset is one that a point can reach: S·2^20 in size at most."""
        largest = turn_size(dimension) * SCALE
        for row, offset in enumerate(self.offsets):
            checked_integer(f"{where}: offset {row}", offset, -largest, largest)

    def geometry(self, key_of: KeyOf, number: int, dimension: int) -> HalfspaceSigns:
        """Return the hyperplanes of view `number` of a plan."""
        blocks = -(-self.rows // turn_size(dimension))
        keys = [key_of(f"view/{number}/{block}") for block in range(blocks)]
        return HalfspaceSigns.from_keys(keys, self.offsets, dimension)


Partition = CrossPolytope | Net
View = Partition | Halfspaces

_KINDS: Final[dict[str, type[View]]] = {each.kind: each for each in (CrossPolytope, Net, Halfspaces)}


def checked_views(views: object) -> tuple[View, ...]:
    """Return views that one table can hold, from views or their JSON forms, or raise PlanError."""
    views = tuple(_checked_view(f"views[{i}]", view) for i, view in enumerate(checked_list("views", views)))
    if not views:
        raise PlanError("a plan needs at least one view")
    checked_power_of_two("sum of the views' weights", sum(view.weight for view in views), 1, MAX_WEIGHT)
    if (rows := sum(view.rows for view in views)) > MAX_ROWS:
        raise PlanError(f"the views have at most {MAX_ROWS} rows in all, got {rows}")
    coordinates = sum(len(view.points) * len(view.points[0]) for view in views if isinstance(view, Net))
    if coordinates > MAX_NET_COORDINATES:
        raise PlanError(
            f"net points have at most {MAX_NET_COORDINATES} coordinates in all, got {coordinates}"
        )
    return views


def check_dimension(views: tuple[View, ...], dimension: int) -> None:
    """Raise PlanError unless the views fit a plan of this dimension."""
    for number, view in enumerate(views):
        view.check_dimension(f"views[{number}]", dimension)


def _checked_view(where: str, view: object) -> View:
    if isinstance(view, View):
        return view
    kind = view.get("cells") if isinstance(view, Mapping) else None
    return _KINDS[checked_choice(f"{where}.cells", kind, _KINDS)].from_dict(where, view)
