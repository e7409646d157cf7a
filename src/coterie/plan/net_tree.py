"""The parameters of the `net-tree` protocol: the paper's one-round local k-means.

A report is its id and 2T bits: for each level of the net tree one bit of a count and one bit of a vector sum,
each through binary randomized response with its own odds against B = 2^24. Bits are drawn independently, so a
report is private with ε = T·ln(A_count/B) + T·ln(A_vector/B), and the check is

    (A_count·A_vector)^T ≤ e^ε·B^(2T)         in integers

`expansion` (a), `rounds` (Γ) and `strays` steer the decoder alone; they stand here so that a plan says how
it is meant to be decoded. Strays of zero are the paper's decoder to the letter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Self

from coterie.errors import PlanError
from coterie.plan.checks import checked_fields, checked_integer
from coterie.plan.tree_shape import check_fits, checked_shape
from coterie.privacy.odds import BASE_ODDS, product_allowed, spent_by_product
from coterie.randomizers.response import BinaryResponse
from coterie.randomizers.sphere import djw_norm

LAYOUT: Final = 1  # of the report (docs/theory/net-tree.md); another layout gets another number
MAX_ODDS: Final = 1 << 48

_ID_BYTES: Final = 12


class LocalTreeParameters:
    """The parameters of a `net-tree` plan, whatever a report is made of: its layout says which class."""

    __slots__ = ()

    models: ClassVar[frozenset[str]] = frozenset({"local"})
    layouts: ClassVar[dict[int, type[Any]]] = {}

    @classmethod
    def from_dict(cls, data: object) -> Any:
        """Read the JSON form of either layout; PlanError for anything unknown, missing or out of range."""
        layout = data.get("layout") if isinstance(data, Mapping) else None
        return cls.layouts.get(layout if isinstance(layout, int) else LAYOUT, NetTreeParameters).from_dict(
            data
        )

    def shared_chance(self, *, people: int, nodes: float) -> float:
        """Return 0: every node has its own signs."""
        del people, nodes
        return 0.0


@dataclass(frozen=True, slots=True)
class NetTreeParameters(LocalTreeParameters):
    """The parameters of a net-tree plan.

    Attributes
    ----------
    levels : int
        Depth of the tree (T).
    ratio : int
        How much finer each level is (2 in the paper).
    projected : int
        Dimension of the nets (d'); the plan's dimension when nothing is projected.
    scale : float
        What projected points are multiplied by (Λ).
    count_odds, vector_odds : int
        Odds of a true bit against 2^24, for the bits of the histogram and of the vector sums.
    expansion, rounds : int
        a and Γ of BuildTree.
    strays : float
        Empty nodes of a level that may pass the decoder's noise floor by chance; 0 is no floor, as in the
        paper.

    Examples
    --------
    >>> parameters = NetTreeParameters(3, 2, 2, 1.0, 19819927, 19819927, 1, 18, 0.5)
    >>> parameters.report_width, parameters.spent_epsilon() <= 1.0
    (13, True)
    """

    levels: int  # T
    ratio: int  # q
    projected: int  # d'
    scale: float  # Λ
    count_odds: int
    vector_odds: int
    expansion: int  # a
    rounds: int  # Γ
    strays: float
    layout: int = LAYOUT

    def __post_init__(self) -> None:
        clean = {
            **checked_shape(self),
            "count_odds": checked_integer("count_odds", self.count_odds, BASE_ODDS + 1, MAX_ODDS),
            "vector_odds": checked_integer("vector_odds", self.vector_odds, BASE_ODDS + 1, MAX_ODDS),
            "layout": checked_integer("layout", self.layout, LAYOUT, LAYOUT),
        }
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    @property
    def count_response(self) -> BinaryResponse:
        """The law of a histogram bit."""
        return BinaryResponse(self.count_odds)

    @property
    def vector_response(self) -> BinaryResponse:
        """The law of a vector sum's bit."""
        return BinaryResponse(self.vector_odds)

    @property
    def answer_bytes(self) -> int:
        """Bytes that the 2T bits take."""
        return -(-2 * self.levels // 8)

    @property
    def report_width(self) -> int:
        """Bytes of one report: the id, then 2T bits."""
        return _ID_BYTES + self.answer_bytes

    def spent_epsilon(self) -> float:
        """Return T·ln(A_count/B) + T·ln(A_vector/B), rounded up."""
        return spent_by_product(self._all_odds())

    def check_odds(self, epsilon: float) -> None:
        """Raise PlanError unless all 2T bits together keep the promise of ε, in exact arithmetic."""
        if not product_allowed(self._all_odds(), epsilon):
            raise PlanError(
                f"count_odds {self.count_odds} and vector_odds {self.vector_odds} at {self.levels} levels "
                f"spend more than epsilon {epsilon!r}: the plan would not keep its promise; do not answer it"
            )

    def check_plan(self, *, dimension: int, epsilon: float) -> None:
        """Raise PlanError unless the parameters fit a plan of this dimension and keep its promise."""
        self.check_odds(epsilon)
        check_fits(self, dimension)

    def oracle_errors(
        self, *, dimension: int, people: int, failure: float, nodes: float
    ) -> tuple[float, float]:
        """Return η = c·√(2n·ln(2N/β)) and η̃ = (B+1)·√n·(1+√(2·ln(N/β))), half of β for each."""
        each = failure / 2
        counts = self.count_response.scale * math.sqrt(2 * people * math.log(2 * nodes / each))
        norm = djw_norm(dimension + 1, self.vector_response.scale)  # B
        vectors = (norm + 1) * math.sqrt(people) * (1 + math.sqrt(2 * math.log(nodes / each)))
        return counts, vectors

    @property
    def bias(self) -> float:
        """Return 0: the oracles are unbiased."""
        return 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; PlanError for anything unknown, missing or out of range."""
        return cls(**checked_fields("parameters", data, [item.name for item in fields(cls)]))

    def _all_odds(self) -> list[int]:
        return [self.count_odds] * self.levels + [self.vector_odds] * self.levels


LocalTreeParameters.layouts[LAYOUT] = NetTreeParameters
