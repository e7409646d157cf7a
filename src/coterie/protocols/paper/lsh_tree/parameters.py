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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plain.checks import checked_choice, checked_integer, checked_power_of_two
from coterie.privacy.odds import BASE_ODDS
from coterie.protocols.base import Part, bits_of
from coterie.protocols.codeword.parameters import MAX_EMBEDDING, MIN_EMBEDDING
from coterie.protocols.paper.answers import AnswerParameters
from coterie.randomizers.codeword import CODEWORDS, CodewordRandomizer

LAYOUT: Final = 1  # of the report (`paper.lsh_tree.report`)
MAX_LEVELS: Final = 14  # 2^15 rows of a table
MAX_ODDS: Final = 1 << 48
SPLITS: Final = ("users", "budget", "deepest")
RANDOMIZERS: Final = ("djw", "privunit")


@dataclass(frozen=True, slots=True, kw_only=True)
class LshTreeParameters(AnswerParameters):
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

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> parameters = Plan.design(100, 8, 1.0, 10**6, protocol="lsh-tree").parameters
    >>> parameters.levels, parameters.report_width, parameters.spent_epsilon() <= 1.0
    (6, 13, True)
    """

    levels: int  # T
    split: str
    randomizer: str
    count_weight: int
    cap: int  # m
    embedding: int  # P
    layout: int = LAYOUT

    def __post_init__(self) -> None:
        self._clean(checked_choice, split=(SPLITS,), randomizer=(RANDOMIZERS,))
        self._clean(checked_integer, levels=(1, MAX_LEVELS), layout=(LAYOUT, LAYOUT), count_weight=(0, SCALE))
        odds = (BASE_ODDS + 1, MAX_ODDS)
        self._clean(checked_integer, count_odds=(0, 0) if self.joint else odds, vector_odds=odds)
        if self.randomizer == "privunit":
            self._clean(checked_integer, cap=(1, CODEWORDS - 1))
            self._clean(checked_power_of_two, embedding=(MIN_EMBEDDING, MAX_EMBEDDING))
            _ = self.codeword_response  # its own bounds
        else:
            self._clean(checked_integer, cap=(0, 0), embedding=(0, 0))

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

    def level_rows(self, level: int) -> slice:
        """Return the rows of a level's masks."""
        return slice(self.first_row(level), self.first_row(level) + (1 << level))

    def first_row(self, level: int) -> int:
        """Return where the 2^level rows of a level begin."""
        return 0 if self.split == "deepest" else (1 << level) - 2

    @property
    def answered_levels(self) -> range:
        """The levels that reports answer for."""
        return range(self.levels if self.split == "deepest" else 1, self.levels + 1)

    @property
    def codeword_response(self) -> CodewordRandomizer:
        """The law of the vector's codeword, for privunit."""
        return CodewordRandomizer(CODEWORDS, self.cap, self.vector_odds)

    @property
    def bits(self) -> int:
        """Single bits of a report: histogram bits, and vector bits for djw."""
        return self.answers * ((not self.joint) + (self.randomizer == "djw"))

    def lifted(self, dimension: int) -> int:
        """Return the dimension D of what is randomized."""
        return dimension + (2 if self.joint else 1)

    def check_fit(self, dimension: int) -> None:
        """Raise PlanError unless codewords are long enough for the dimension."""
        if self.randomizer == "privunit" and self.embedding < self.lifted(dimension):
            raise PlanError(
                f"embedding must be at least {self.lifted(dimension)}, the lifted dimension, "
                f"got {self.embedding}"
            )

    def parts(self) -> tuple[Part, ...]:
        """Return the bits of the counts, then those of the vectors, or for privunit a byte an answer."""
        counts = bits_of([] if self.joint else [self.count_odds] * self.answers)
        if self.randomizer == "djw":
            return counts + bits_of([self.vector_odds] * self.answers, len(counts))
        first = -(-self.bits // 8)  # byte
        places = range(first, first + self.answers)
        return counts + tuple(Part(CODEWORDS, self.cap, self.vector_odds, 8 * at, 8) for at in places)
