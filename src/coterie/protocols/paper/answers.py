"""Parameters of reports that are several answers about levels: bits of counts, and randomized vectors."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.protocols.base import LocalParameters
from coterie.randomizers.response import BinaryResponse


@dataclass(frozen=True)
class AnswerParameters(LocalParameters):
    """Parameters of independent answers about counts and vectors. Frozen dataclasses inherit from it."""

    __slots__ = ()

    count_odds: int  # of a true bit of a count, against 2^24
    vector_odds: int  # of a true answer about a vector

    @property
    def count_response(self) -> BinaryResponse:
        """The law of a histogram bit."""
        return BinaryResponse(self.count_odds)

    @property
    def vector_response(self) -> BinaryResponse:
        """The law of a vector's bit, where it is one."""
        return BinaryResponse(self.vector_odds)
