"""The parameters of the `net-tree` protocol: the paper's one-round local k-means.

*Layout 1, bits* (the paper's). A report is its id and 2T bits: for each level of the net tree one bit of a
count and one bit of a vector sum, each through binary randomized response with its own odds against B = 2^24.
Bits are drawn independently, so a report is private with ε = T·ln(A_count/B) + T·ln(A_vector/B), and the
check is

    (A_count·A_vector)^T ≤ e^ε·B^(2T)         in integers

*Layout 2, one codeword* (`randomizer="codeword"`). A report's id names a level; the person lifts the point to
w = (a·x, b, rest), turns it by the public sign of the level's representative and by the report's own public
rotation, and names one of 256 public codewords, as in `codeword`. The whole of ε is spent once: the
coordinate b counts, and people are split over the levels instead of ε. The check is A ≤ e^ε·2^24, in
integers.

*Noise* of codewords. An estimate of a level counts each of its n/T people T-fold, so with κ = E⟨v,w'⟩ a
node's count has deviation √(T·n·(1+c₂b²))/(κb) and its vector sum √(T·n·d)/(κa):
√T where 2T bits of ε/2T have T.

*Bias* of codewords. A codeword of signs leans towards w' up to terms that fall with P. Turned back by a fresh
rotation, what is left of them is below `BIAS` in every direction
(tests/statistics/test_net_tree_codeword.py), and `paper.approximation` carries it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.lift import EXTRA_COORDINATES, point_weight
from coterie.plain.checks import checked_integer, checked_power_of_two
from coterie.privacy.odds import BASE_ODDS
from coterie.protocols.base import LocalParameters, Part, bits_of
from coterie.protocols.codeword.parameters import MAX_EMBEDDING, MIN_EMBEDDING
from coterie.protocols.paper.answers import AnswerParameters
from coterie.protocols.paper.tree.parameters import LeafNoise, OracleErrors, TreeParameters
from coterie.randomizers.codeword import CODEWORDS, CodewordRandomizer
from coterie.randomizers.sphere import djw_norm

BITS: Final = 1  # layouts of the report (docs/theory/net-tree.md); another one gets another number
CODEWORD: Final = 2
MAX_ODDS: Final = 1 << 48
BIAS: Final = 0.005  # of E[z] - w, in lengths of w; measured, with room
BIAS_EPSILON: Final = 10.0  # up to which it was measured; beyond, the best codeword is sent anyway


class LocalTreeParameters(TreeParameters, LocalParameters):
    """The parameters of a `net-tree` plan, whatever a report is made of: its layout says which class."""

    __slots__ = ()

    @classmethod
    def from_dict(cls, data: object) -> Any:
        """Read the JSON form of either layout; PlanError for anything unknown, missing or out of range."""
        if cls is not LocalTreeParameters:
            return super().from_dict(data)
        layout = data.get("layout") if isinstance(data, Mapping) else None
        return (CodewordTreeParameters if layout == CODEWORD else NetTreeParameters).from_dict(data)


@dataclass(frozen=True, slots=True)
class NetTreeParameters(AnswerParameters, LocalTreeParameters):
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

    Examples
    --------
    >>> parameters = NetTreeParameters(3, 2, 2, 1.0, 19819927, 19819927)
    >>> parameters.report_width, parameters.spent_epsilon() <= 1.0
    (13, True)
    """

    layout: int = BITS

    def __post_init__(self) -> None:
        self._clean_shape()
        odds = (BASE_ODDS + 1, MAX_ODDS)
        self._clean(checked_integer, count_odds=odds, vector_odds=odds, layout=(BITS, BITS))

    def oracle_errors(self, *, dimension: int, people: int, failure: float, nodes: float) -> OracleErrors:
        """Return η = c·√(2n·ln(2N/β)) and η̃ = (B+1)·√n·(1+√(2·ln(N/β))), half of β for each."""
        each = failure / 2
        counts = self.count_response.scale * math.sqrt(2 * people * math.log(2 * nodes / each))
        norm = djw_norm(dimension + 1, self.vector_response.scale)  # B
        vectors = (norm + 1) * math.sqrt(people) * (1 + math.sqrt(2 * math.log(nodes / each)))
        return counts, vectors

    def leaf_noise(self, *, dimension: int, people: int) -> LeafNoise:
        """Return n·c² and n·B², of answers c and B."""
        norm = djw_norm(dimension + 1, self.vector_response.scale)  # B
        counted = self.count_response.scale
        return LeafNoise(people * counted**2, people * norm**2, counted, norm)

    def parts(self) -> tuple[Part, ...]:
        """Return the 2T bits."""
        return bits_of([self.count_odds] * self.levels + [self.vector_odds] * self.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodewordTreeParameters(LocalTreeParameters):
    """The parameters of a net-tree plan whose reports are codewords.

    Attributes
    ----------
    levels, ratio, projected, scale
        The tree, as in `NetTreeParameters`.
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

    odds: int  # A
    cap: int  # m
    embedding: int  # P
    count_weight: int  # b·2^20
    layout: int = CODEWORD

    usual_strays: ClassVar[float] = 0.02  # a stray takes a center, a leaf left out some of a part's people

    def __post_init__(self) -> None:
        self._clean_shape()
        self._clean(checked_integer, cap=(1, CODEWORDS - 1), odds=(BASE_ODDS + 1, 1 << 53))
        self._clean(checked_power_of_two, embedding=(MIN_EMBEDDING, MAX_EMBEDDING))
        self._clean(checked_integer, count_weight=(1, SCALE - 1), layout=(CODEWORD, CODEWORD))
        _ = self.randomizer  # its own bounds

    @property
    def randomizer(self) -> CodewordRandomizer:
        """The law of the index."""
        return CodewordRandomizer(CODEWORDS, self.cap, self.odds)

    def parts(self) -> tuple[Part, ...]:
        """Return the one answer of a report: the index."""
        return (Part(CODEWORDS, self.cap, self.odds, 0, 8),)

    @property
    def bias(self) -> float:
        """How far a count or a vector sum may be off in the mean, relatively: ρ/min(a,b) up to ε = 10."""
        if self.spent_epsilon() > BIAS_EPSILON:
            return math.inf
        return BIAS / min(self.count_weight / SCALE, point_weight(self.count_weight))

    def check_fit(self, dimension: int) -> None:
        """Raise PlanError unless nets and codewords fit the dimension."""
        TreeParameters.check_fit(self, dimension)
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
        share, point = self.count_weight / SCALE, point_weight(self.count_weight)
        return (
            (1 + second * share**2) / (gain * share) ** 2,
            (dimension + second * point**2) / (gain * point) ** 2,
        )

    def oracle_errors(self, *, dimension: int, people: int, failure: float, nodes: float) -> OracleErrors:
        """Return η and η̃ by Bernstein's inequality: √(2·V·ln) + ⅔·M·ln, half of β for each.

        A report of the level counts T-fold: V = T·n times its variance, M = T·√P/κ over b or a. The vector's
        length exceeds its root mean square √V by as much (bounded differences would have P for d).
        """
        noise = self.leaf_noise(dimension=dimension, people=people)
        log_counts, log_vectors = (math.log(2 * nodes / (failure / 2)), math.log(nodes / (failure / 2)))
        counts = math.sqrt(2 * noise.count * log_counts) + 2 / 3 * noise.largest * log_counts
        vectors = math.sqrt(noise.vector) * (1 + math.sqrt(2 * log_vectors))
        return counts, vectors + 4 / 3 * noise.longest * log_vectors

    def leaf_noise(self, *, dimension: int, people: int) -> LeafNoise:
        """Return T·n times a report's variances, and T·√P/κ over b and over a."""
        count, vector = self.variances(dimension)
        share, point = self.count_weight / SCALE, point_weight(self.count_weight)
        largest = self.levels * math.sqrt(self.embedding) / self.randomizer.gain(self.embedding)
        many = self.levels * people
        return LeafNoise(many * count, many * vector, largest / share, largest / point)
