"""The parameters of `net-tree` with `randomizer="codeword"`: one codeword of 256 for one level of the tree.

A report's id names a level; the person lifts the point to w = (a·x, b, rest), turns it by the public sign of
the level's representative and by the report's own public rotation, and names one of 256 public codewords, as
in `codeword`. The whole of ε is spent once: the coordinate b counts, and people are split over the levels
instead of ε. The check is A ≤ e^ε·2^24, in integers.

*Noise.* An estimate of a level counts each of its n/T people T-fold, so with κ = E⟨v,w'⟩ a node's count has
deviation √(T·n·(1+c₂b²))/(κb) and its vector sum √(T·n·d)/(κa):
√T where 2T bits of ε/2T have T^1.5.

*Bias.* A codeword of signs leans towards w' up to terms that fall with P. Turned back by a fresh rotation,
what is left of them is below `BIAS` in every direction (tests/statistics/test_net_tree_codeword.py), and
`coterie.plan.approximation` carries it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plan.checks import checked_fields, checked_integer, checked_power_of_two
from coterie.plan.codeword import EXTRA_COORDINATES, ID_BYTES, MAX_EMBEDDING, MIN_EMBEDDING
from coterie.plan.design import CODEWORDS
from coterie.plan.net_tree import LocalTreeParameters
from coterie.plan.tree_shape import check_fits, checked_shape
from coterie.privacy.odds import BASE_ODDS, odds_allowed, spent_epsilon
from coterie.randomizers.codeword import CodewordRandomizer

LAYOUT: Final = 2  # of the report (docs/theory/net-tree.md)
BIAS: Final = 0.005  # of E[z] - w, in lengths of w, for ε up to 4; measured, with room


@dataclass(frozen=True, slots=True, kw_only=True)
class CodewordTreeParameters(LocalTreeParameters):
    """The parameters of a net-tree plan whose reports are codewords.

    Attributes
    ----------
    levels, ratio, projected, scale, expansion, rounds, strays
        The tree and its decoder, as in `NetTreeParameters`.
    odds, cap, embedding : int
        A, m and P of the codewords, as in `CodewordParameters`.
    count_weight : int
        b·2^20.

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> plan = Plan.design(100, 8, 1.0, 10**6, protocol="net-tree", randomizer="codeword")
    >>> plan.report_width, plan.parameters.embedding, plan.guarantee.spent <= 1.0
    (13, 128, True)
    """

    levels: int  # T
    ratio: int  # q
    projected: int  # d'
    scale: float  # Λ
    expansion: int  # a of BuildTree
    rounds: int  # Γ
    strays: float
    odds: int  # A
    cap: int  # m
    embedding: int  # P
    count_weight: int  # b·2^20
    layout: int = LAYOUT

    def __post_init__(self) -> None:
        clean = checked_shape(self)
        clean["cap"] = checked_integer("cap", self.cap, 1, CODEWORDS - 1)
        clean["odds"] = checked_integer("odds", self.odds, BASE_ODDS + 1, 1 << 53)
        clean["embedding"] = checked_power_of_two("embedding", self.embedding, MIN_EMBEDDING, MAX_EMBEDDING)
        clean["count_weight"] = checked_integer("count_weight", self.count_weight, 1, SCALE - 1)
        clean["layout"] = checked_integer("layout", self.layout, LAYOUT, LAYOUT)
        for name, value in clean.items():
            object.__setattr__(self, name, value)
        _ = self.randomizer  # its own bounds

    @property
    def randomizer(self) -> CodewordRandomizer:
        """The law of the index."""
        return CodewordRandomizer(CODEWORDS, self.cap, self.odds)

    @property
    def report_width(self) -> int:
        """Bytes of one report: the id, then the index."""
        return ID_BYTES + 1

    @property
    def point_weight(self) -> float:
        """What the point's own coordinates are multiplied by (a)."""
        return math.sqrt(1 - (self.count_weight / SCALE) ** 2)

    @property
    def bias(self) -> float:
        """How far the mean of a report may be from what it reports, in lengths of it."""
        return BIAS

    def spent_epsilon(self) -> float:
        """Return ln(A/2^24), rounded up."""
        return spent_epsilon(self.odds)

    def check_odds(self, epsilon: float) -> None:
        """Raise PlanError unless A ≤ e^ε·2^24, in exact arithmetic."""
        if not odds_allowed(self.odds, epsilon):
            raise PlanError(
                f"odds {self.odds} exceed e^epsilon·2^24 for epsilon {epsilon!r}: the plan would not keep "
                "its promise; do not answer it"
            )

    def check_plan(self, *, dimension: int, epsilon: float) -> None:
        """Raise PlanError unless the parameters fit a plan of this dimension and keep its promise."""
        self.check_odds(epsilon)
        check_fits(self, dimension)
        if self.embedding < dimension + EXTRA_COORDINATES:
            raise PlanError(
                f"embedding must be at least {dimension + EXTRA_COORDINATES}, the lifted dimension, "
                f"got {self.embedding}"
            )

    def variances(self, dimension: int) -> tuple[float, float]:
        """Return the variance of one report's count and of the length of its vector, for its own level.

        E of the squares, of a person who is elsewhere: (1 + c₂b²)/(κb)² and (d + c₂a²)/(κa)², at most.
        """
        law = self.randomizer
        gain, second = law.gain(self.embedding), law.second_gain(self.embedding)
        share, point = self.count_weight / SCALE, self.point_weight
        return (
            (1 + second * share**2) / (gain * share) ** 2,
            (dimension + second * point**2) / (gain * point) ** 2,
        )

    def oracle_errors(
        self, *, dimension: int, people: int, failure: float, nodes: float
    ) -> tuple[float, float]:
        """Return η and η̃ by Bernstein's inequality: √(2·V·ln) + ⅔·M·ln, half of β for each.

        A report of the level counts T-fold: V = T·n times its variance, M = T·√P/κ over b or a. The vector's
        length exceeds its root mean square √V by as much (bounded differences would have P for d).
        """
        count, vector = self.variances(dimension)
        largest = self.levels * (math.sqrt(self.embedding) / self.randomizer.gain(self.embedding))
        log_counts, log_vectors = (math.log(2 * nodes / (failure / 2)), math.log(nodes / (failure / 2)))
        spread, length = (math.sqrt(self.levels * people * v) for v in (count, vector))
        counts = spread * math.sqrt(2 * log_counts) + 2 / 3 * largest * log_counts * SCALE / self.count_weight
        vectors = (
            length * (1 + math.sqrt(2 * log_vectors)) + 4 / 3 * largest * log_vectors / self.point_weight
        )
        return counts, vectors

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; PlanError for anything unknown, missing or out of range."""
        return cls(**checked_fields("parameters", data, [item.name for item in fields(cls)]))


LocalTreeParameters.layouts[LAYOUT] = CodewordTreeParameters
