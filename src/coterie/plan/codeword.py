"""The numbers of the `codeword` protocol: how many codewords, how large a cap, which odds, which cells.

A report is an index among N public codewords of P signs. The m best-scoring codewords (the cap) have odds A
each, the others B = 2^24 each. Any index then has probability A/T or B/T, T = m·A + (N-m)·B, whatever the
point: ln(A/B)-private, and ε-private when A ≤ e^ε·B. T < 2^53, so that clients in any language can draw
below it.

`views` are public partitions of the ball into M cells each; a report serves one row of one view, and a view
has as many of W tickets as its weight says. A coarse view sees broad clusters best; a second one tells apart
what shares a cell of the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plan.canonical import shown
from coterie.plan.checks import (
    checked_choice,
    checked_fields,
    checked_integer,
    checked_list,
    checked_power_of_two,
)
from coterie.privacy.odds import BASE_ODDS, largest_odds, spent_epsilon
from coterie.randomizers.codeword import TOTAL_LIMIT, CodewordRandomizer

ID_BYTES: Final = 12  # a report opens with its random id
EXTRA_COORDINATES: Final = 2  # the lift adds a count and a filler: D = d + 2

MAX_CODEWORDS: Final = 1 << 12
MIN_EMBEDDING: Final = 1 << 7
MAX_EMBEDDING: Final = 1 << 12
MAX_ROWS: Final = 1 << 16
MAX_WEIGHT: Final = 1 << 8  # of all views together: a ticket is one byte
MAX_NET_COORDINATES: Final = 1 << 18  # over all views of a plan; keeps a plan's JSON below 4 MiB


@dataclass(frozen=True, slots=True)
class CrossPolytope:
    """Cells by the first Q coordinates of a public rotation: the largest by size, and its sign. M = 2·Q."""

    size: int  # Q
    weight: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", checked_power_of_two("view size", self.size, 1, MAX_ROWS // 2))
        object.__setattr__(self, "weight", checked_integer("view weight", self.weight, 1, MAX_WEIGHT))

    @property
    def cells(self) -> int:
        """Number of cells (M)."""
        return 2 * self.size


@dataclass(frozen=True, slots=True)
class Net:
    """Cells by the nearest of M public points, integers of scale 2^20 around the center of the ball."""

    points: tuple[tuple[int, ...], ...] = field(repr=False)  # (M, d)
    weight: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", checked_integer("view weight", self.weight, 1, MAX_WEIGHT))
        rows = checked_list("net points", self.points)
        checked_power_of_two("number of net points", len(rows), 1, MAX_ROWS)
        points = []
        for number, row in enumerate(rows):
            where = f"net point {number}"
            points.append(tuple(checked_integer(where, x, -SCALE, SCALE) for x in checked_list(where, row)))
        if len({len(point) for point in points}) != 1 or not points[0]:
            raise PlanError("net points must all have the plan's dimension")
        object.__setattr__(self, "points", tuple(points))

    @property
    def cells(self) -> int:
        """Number of cells (M)."""
        return len(self.points)


View = CrossPolytope | Net


@dataclass(frozen=True, slots=True)
class CodewordNumbers:
    """The numbers of a codeword plan.

    Attributes
    ----------
    codewords : int
        How many public codewords a report chooses from (N).
    cap : int
        How many of them are favoured (m).
    odds : int
        Odds of a favoured one (A) against 2^24 (B) for another.
    embedding : int
        Length of a codeword (P), a power of two.
    count_weight : int
        Share of the lifted vector that counts people (b), times 2^20.
    views : tuple of CrossPolytope or Net
        Public partitions; each has a power of two of cells (M), and their weights sum to a power of two.

    Examples
    --------
    >>> numbers = CodewordNumbers(256, 89, 45605201, 128, 419430, (CrossPolytope(128),))
    >>> numbers.rows, numbers.report_width
    (256, 13)
    """

    codewords: int  # N
    cap: int  # m
    odds: int  # A
    embedding: int  # P
    count_weight: int  # b·2^20
    views: tuple[View, ...]

    models: ClassVar[frozenset[str]] = frozenset({"local"})

    def __post_init__(self) -> None:
        codewords = checked_integer("codewords", self.codewords, 2, MAX_CODEWORDS)
        cap = checked_integer("cap", self.cap, 1, codewords - 1)
        odds = checked_integer("odds", self.odds, BASE_ODDS + 1, TOTAL_LIMIT)
        embedding = checked_power_of_two("embedding", self.embedding, MIN_EMBEDDING, MAX_EMBEDDING)
        count_weight = checked_integer("count_weight", self.count_weight, 0, SCALE)
        for name, value in (
            ("codewords", codewords),
            ("cap", cap),
            ("odds", odds),
            ("embedding", embedding),
            ("count_weight", count_weight),
            ("views", checked_views(self.views)),
        ):
            object.__setattr__(self, name, value)
        _ = self.randomizer  # checks the three against each other

    @property
    def randomizer(self) -> CodewordRandomizer:
        """The law of a report: exact odds, gain and draw."""
        return CodewordRandomizer(self.codewords, self.cap, self.odds)

    @property
    def rows(self) -> int:
        """Rows of the table: the cells of all views."""
        return sum(view.cells for view in self.views)

    @property
    def index_bytes(self) -> int:
        """Bytes of the index in a report."""
        return 1 if self.codewords <= 256 else 2

    @property
    def report_width(self) -> int:
        """Bytes of one report: the id, then the index."""
        return ID_BYTES + self.index_bytes

    def spent_epsilon(self) -> float:
        """Return ln(A/B), rounded up."""
        return spent_epsilon(self.odds)

    def check_odds(self, epsilon: float) -> None:
        """Raise PlanError unless A ≤ e^ε·2^24, in exact arithmetic."""
        if self.odds > (allowed := largest_odds(epsilon)):
            raise PlanError(
                f"odds {self.odds} exceed {allowed}, the most that epsilon {epsilon!r} allows: "
                "the plan would not keep its promise; do not answer it"
            )

    def check_plan(self, *, dimension: int, epsilon: float) -> None:
        """Raise PlanError unless the numbers fit a plan of this dimension and keep its promise."""
        self.check_odds(epsilon)
        if self.embedding < dimension + EXTRA_COORDINATES:
            raise PlanError(
                f"embedding must be at least dimension + 2 = {dimension + 2}, got {self.embedding}"
            )
        for number, view in enumerate(self.views):
            if isinstance(view, Net) and len(view.points[0]) != dimension:
                raise PlanError(f"views[{number}]: net points must have dimension {dimension}")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "codewords": self.codewords,
            "cap": self.cap,
            "odds": self.odds,
            "embedding": self.embedding,
            "count_weight": self.count_weight,
            "views": [view_to_dict(view) for view in self.views],
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; PlanError for anything unknown, missing or out of range."""
        names = ("codewords", "cap", "odds", "embedding", "count_weight", "views")
        fields = checked_fields("numbers", data, names)
        listed = checked_list("views", fields["views"])
        views = tuple(view_from_dict(f"views[{i}]", view) for i, view in enumerate(listed))
        return cls(**{**fields, "views": views})


def checked_views(views: object) -> tuple[View, ...]:
    """Return public partitions that one table can hold, or raise PlanError."""
    views = tuple(checked_list("views", views))
    if not views:
        raise PlanError("a plan needs at least one view")
    for number, view in enumerate(views):
        if not isinstance(view, View):
            raise PlanError(f"views[{number}] must be a CrossPolytope or a Net, got {shown(view)}")
    checked_power_of_two("sum of the views' weights", sum(view.weight for view in views), 1, MAX_WEIGHT)
    if (rows := sum(view.cells for view in views)) > MAX_ROWS:
        raise PlanError(f"the views have at most {MAX_ROWS} cells in all, got {rows}")
    coordinates = sum(len(view.points) * len(view.points[0]) for view in views if isinstance(view, Net))
    if coordinates > MAX_NET_COORDINATES:
        raise PlanError(
            f"net points have at most {MAX_NET_COORDINATES} coordinates in all, got {coordinates}"
        )
    return views


def view_to_dict(view: View) -> dict[str, Any]:
    """Return the JSON form of a public partition."""
    if isinstance(view, CrossPolytope):
        return {"cells": "cross-polytope", "size": view.size, "weight": view.weight}
    return {"cells": "net", "points": [list(point) for point in view.points], "weight": view.weight}


def view_from_dict(where: str, data: object) -> View:
    """Read the JSON form of a public partition."""
    kind = data.get("cells") if isinstance(data, dict) else None
    if checked_choice(f"{where}.cells", kind, ("cross-polytope", "net")) == "net":
        fields = checked_fields(where, data, ("cells", "points", "weight"))
        return Net(fields["points"], fields["weight"])
    fields = checked_fields(where, data, ("cells", "size", "weight"))
    return CrossPolytope(fields["size"], fields["weight"])
