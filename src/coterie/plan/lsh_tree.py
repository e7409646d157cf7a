"""The parameters of the `lsh-tree` protocol: the algorithm of the paper's experiments (Section 5).

A tree of T SimHash levels; a report answers for S of them, S = 1 where the users are split over the levels.
An answer is one bit of a histogram and a randomized vector, each with its own odds against B = 2^24, drawn
independently, so a report is private with ε = S·(ln(A_count/B) + ln(A_vector/B)), and the check is

    (A_count·A_vector)^S ≤ e^ε·B^(2S)        in integers

Every choice of the paper can be switched off, one at a time, which is what an ablation needs:

    choice        the paper                        instead
    split         users, each serves one level     budget (all levels, ε/T each), deepest (level T alone)
    randomizer    djw, one bit                     privunit: one of 256 codewords
    count         histogram, 0.1 ε                 joint: counted by a coordinate of the vector, at full ε
    levels        ⌈log₂k⌉ + 3                      any T up to 14
    threshold     1.5, in units of ⌊n/k⌋           any
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Self

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plan.checks import checked_choice, checked_fields, checked_integer, checked_real
from coterie.plan.codeword import ID_BYTES, MAX_EMBEDDING, MIN_EMBEDDING
from coterie.plan.design import CODEWORDS, choose_embedding
from coterie.privacy.odds import BASE_ODDS, largest_shared_odds, product_allowed, spent_by_product
from coterie.randomizers.codeword import CodewordRandomizer, best_cap
from coterie.randomizers.response import BinaryResponse

LAYOUT: Final = 1  # of the report (`coterie.wire.lsh_tree`)
MAX_LEVELS: Final = 14  # 2^15 rows of a table
MAX_ODDS: Final = 1 << 48
SPLITS: Final = ("users", "budget", "deepest")
RANDOMIZERS: Final = ("djw", "privunit")
COUNTS: Final = ("histogram", "joint")

HISTOGRAM_SHARE: Final = 0.1  # of ε, the paper's
THRESHOLD: Final = 1.5  # times ⌊n/k⌋, the paper's
_LEVELS_BEYOND: Final = 3  # T = ⌈log₂k⌉ + 3, the paper's
_JOINT_COUNT_SHARE: Final = 0.3  # b, as in protocol codeword


@dataclass(frozen=True, slots=True, kw_only=True)
class LshTreeParameters:
    """The parameters of an lsh-tree plan.

    Attributes
    ----------
    levels : int
        Depth of the tree (T).
    split : {"users", "budget", "deepest"}
        Which levels a report answers for: one drawn by its id, all, or the deepest.
    randomizer : {"djw", "privunit"}
        What vectors go through.
    count_odds : int
        Odds of a true histogram bit against 2^24; 0 where there is no histogram.
    vector_odds : int
        Odds of the vector's bit, or of each codeword in the cap.
    count_weight : int
        b·2^20, the counting coordinate of the vector; 0 where there is a histogram.
    cap, embedding : int
        m and P of the codewords; 0 for djw.
    threshold : float
        A node is branched where its noisy frequency is at least this times ⌊n/k⌋.

    Examples
    --------
    >>> parameters = design_lsh_tree(dimension=100, clusters=8, epsilon=1.0, expected_users=10**6)
    >>> parameters.levels, parameters.report_width, parameters.spent_epsilon() <= 1.0
    (6, 13, True)
    """

    levels: int  # T
    split: str
    randomizer: str
    count_odds: int
    vector_odds: int
    count_weight: int
    cap: int  # m
    embedding: int  # P
    threshold: float
    layout: int = LAYOUT

    models: ClassVar[frozenset[str]] = frozenset({"local"})

    def __post_init__(self) -> None:
        joint = self.count_weight != 0
        codewords = self.randomizer == "privunit"
        clean = {
            "levels": checked_integer("levels", self.levels, 1, MAX_LEVELS),
            "split": checked_choice("split", self.split, SPLITS),
            "randomizer": checked_choice("randomizer", self.randomizer, RANDOMIZERS),
            "count_odds": checked_integer(
                "count_odds", self.count_odds, 0 if joint else BASE_ODDS + 1, 0 if joint else MAX_ODDS
            ),
            "vector_odds": checked_integer("vector_odds", self.vector_odds, BASE_ODDS + 1, MAX_ODDS),
            "count_weight": checked_integer("count_weight", self.count_weight, 0, SCALE),
            "cap": checked_integer("cap", self.cap, int(codewords), CODEWORDS - 1 if codewords else 0),
            "embedding": checked_integer(
                "embedding", self.embedding, MIN_EMBEDDING * codewords, MAX_EMBEDDING * codewords
            ),
            "threshold": checked_real("threshold", self.threshold, 0.0, 1e9),
            "layout": checked_integer("layout", self.layout, LAYOUT, LAYOUT),
        }
        for name, value in clean.items():
            object.__setattr__(self, name, value)
        if self.embedding & (self.embedding - 1):
            raise PlanError(f"embedding must be a power of two, got {self.embedding}")
        if codewords:
            CodewordRandomizer(CODEWORDS, self.cap, self.vector_odds)  # its own bounds

    @property
    def joint(self) -> bool:
        """Whether people are counted by a coordinate of the vector instead of a histogram."""
        return self.count_weight != 0

    @property
    def answers(self) -> int:
        """How many levels a report answers for (S)."""
        return self.levels if self.split == "budget" else 1

    @property
    def rows(self) -> int:
        """Rows of the table: 2^i for every level i that is answered for."""
        return (1 << self.levels) if self.split == "deepest" else (2 << self.levels) - 2

    def first_row(self, level: int) -> int:
        """Return where the 2^level rows of a level begin."""
        return 0 if self.split == "deepest" else (1 << level) - 2

    @property
    def answered_levels(self) -> range:
        """The levels that reports answer for."""
        return range(self.levels if self.split == "deepest" else 1, self.levels + 1)

    @property
    def count_response(self) -> BinaryResponse:
        """The law of a histogram bit."""
        return BinaryResponse(self.count_odds)

    @property
    def vector_response(self) -> BinaryResponse:
        """The law of the vector's bit, for djw."""
        return BinaryResponse(self.vector_odds)

    @property
    def codeword_response(self) -> CodewordRandomizer:
        """The law of the vector's codeword, for privunit."""
        return CodewordRandomizer(CODEWORDS, self.cap, self.vector_odds)

    @property
    def bits(self) -> int:
        """Single bits of a report: histogram bits, and vector bits for djw."""
        return self.answers * ((not self.joint) + (self.randomizer == "djw"))

    @property
    def bit_bytes(self) -> int:
        """Bytes that the single bits take."""
        return -(-self.bits // 8)

    @property
    def report_width(self) -> int:
        """Bytes of one report: the id, the bits, and for privunit a byte an answer."""
        return ID_BYTES + self.bit_bytes + (self.answers if self.randomizer == "privunit" else 0)

    def lifted(self, dimension: int) -> int:
        """Return the dimension D of what is randomized."""
        return dimension + (2 if self.joint else 1)

    def spent_epsilon(self) -> float:
        """Return S·(ln(A_count/B) + ln(A_vector/B)), rounded up."""
        return spent_by_product(self._all_odds())

    def check_odds(self, epsilon: float) -> None:
        """Raise PlanError unless all answers together keep the promise of ε, in exact arithmetic."""
        if not product_allowed(self._all_odds(), epsilon):
            raise PlanError(
                f"count_odds {self.count_odds} and vector_odds {self.vector_odds} at {self.answers} levels a "
                f"report spend more than epsilon {epsilon!r}: the plan would not keep its promise; "
                "do not answer it"
            )

    def check_plan(self, *, dimension: int, epsilon: float) -> None:
        """Raise PlanError unless the parameters fit a plan of this dimension and keep its promise."""
        self.check_odds(epsilon)
        if self.randomizer == "privunit" and self.embedding < self.lifted(dimension):
            raise PlanError(
                f"embedding must be at least {self.lifted(dimension)}, the lifted dimension, "
                f"got {self.embedding}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; PlanError for anything unknown, missing or out of range."""
        return cls(**checked_fields("parameters", data, [item.name for item in fields(cls)]))

    def _all_odds(self) -> list[int]:
        one = [self.vector_odds] if self.joint else [self.count_odds, self.vector_odds]
        return one * self.answers


def design_lsh_tree(
    *,
    dimension: int,
    clusters: int,
    epsilon: float,
    expected_users: int,
    seed: int = 0,
    levels: int | None = None,
    split: str = "users",
    randomizer: str = "djw",
    count: str = "histogram",
    histogram_share: float = HISTOGRAM_SHARE,
    threshold: float = THRESHOLD,
) -> LshTreeParameters:
    """Choose the parameters of an lsh-tree plan; by default every one is the paper's.

    Parameters
    ----------
    dimension, clusters, epsilon, expected_users, seed
        The public facts of the study; users and seed play no part in the parameters.
    levels : int, optional
        T; ⌈log₂k⌉ + 3 where None.
    split, randomizer, threshold
        As in `LshTreeParameters`.
    count : {"histogram", "joint"}
        How people are counted; "joint" spends all of ε on the vector.
    histogram_share : float
        Share of ε that the histogram takes; of "joint" the share that is left unspent, so that the two
        can be told apart.

    Examples
    --------
    >>> design_lsh_tree(dimension=9, clusters=4, epsilon=1.0, expected_users=99, split="budget").report_width
    14
    """
    del expected_users, seed
    checked_choice("split", split, SPLITS)
    checked_choice("randomizer", randomizer, RANDOMIZERS)
    joint = checked_choice("count", count, COUNTS) == "joint"
    share = checked_real("histogram_share", histogram_share, 0.0, 0.99)
    chosen = (clusters - 1).bit_length() + _LEVELS_BEYOND if levels is None else levels
    chosen = checked_integer(
        "levels", chosen if levels is not None else min(chosen, MAX_LEVELS), 1, MAX_LEVELS
    )
    answers = chosen if split == "budget" else 1
    vector_odds = largest_shared_odds((1 - share) * epsilon, answers)
    count_odds = 0 if joint else (largest_shared_odds(share * epsilon, answers) if share > 0 else BASE_ODDS)
    if not joint and min(count_odds, vector_odds) <= BASE_ODDS:
        raise PlanError(
            f"epsilon {epsilon!r} is too small for a histogram share of {share:g} over {answers} answers: "
            "every bit would be a fair coin"
        )
    # The two shares are doubles and may add up to a last place more than ε.
    while not product_allowed(([] if joint else [count_odds] * answers) + [vector_odds] * answers, epsilon):
        vector_odds -= 1
    codewords = randomizer == "privunit"
    return LshTreeParameters(
        levels=chosen,
        split=split,
        randomizer=randomizer,
        count_odds=count_odds,
        vector_odds=vector_odds,
        count_weight=int(_JOINT_COUNT_SHARE * SCALE) if joint else 0,
        cap=best_cap(CODEWORDS, min(vector_odds, largest_shared_odds(12.0, 1))) if codewords else 0,
        embedding=choose_embedding(dimension, epsilon) if codewords else 0,
        threshold=threshold,
    )
