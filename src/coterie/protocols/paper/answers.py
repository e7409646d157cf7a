"""Parameters of reports that are several independent answers: bits of counts, and randomized vectors.

Each answer is drawn by itself with its own odds A_j against B = 2^24, so a report is private with
ε = Σ_j ln(A_j/B), and the check is

    Π_j A_j ≤ e^ε·Π_j B        in integers

`lsh-tree` and `net-tree` are of this kind.
"""

from __future__ import annotations

from abc import abstractmethod

from coterie.errors import PlanError
from coterie.privacy.odds import product_allowed, spent_by_product
from coterie.protocols.base import LocalParameters
from coterie.randomizers.response import BinaryResponse


class AnswerParameters(LocalParameters):
    """Parameters of independent answers about counts and vectors. Frozen dataclasses inherit from it."""

    __slots__ = ()

    count_odds: int  # of a true bit of a count, against 2^24
    vector_odds: int  # of a true answer about a vector

    @property
    @abstractmethod
    def answers(self) -> int:
        """How many levels a report answers for."""

    @abstractmethod
    def all_odds(self) -> list[int]:
        """Return the odds of every answer of a report."""

    @property
    def count_response(self) -> BinaryResponse:
        """The law of a histogram bit."""
        return BinaryResponse(self.count_odds)

    @property
    def vector_response(self) -> BinaryResponse:
        """The law of a vector's bit, where it is one."""
        return BinaryResponse(self.vector_odds)

    def spent_epsilon(self) -> float:
        """Return Σ ln(A/B) over all answers, rounded up."""
        return spent_by_product(self.all_odds())

    def check_odds(self, epsilon: float) -> None:
        """Raise PlanError unless all answers together keep the promise of ε, in exact arithmetic."""
        if not product_allowed(self.all_odds(), epsilon):
            raise PlanError(
                f"count_odds {self.count_odds} and vector_odds {self.vector_odds} at {self.answers} levels a "
                f"report spend more than epsilon {epsilon!r}: the plan would not keep its promise; "
                "do not answer it"
            )
