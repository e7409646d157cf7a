"""Reports that are several answers about levels: bits of counts, and randomized vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.protocols.base import ID_BYTES, LocalParameters
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


def pack_reports(
    ids: NDArray[np.uint8], positive: NDArray[np.bool_], *more: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Join ids, bits and further bytes: (n, 12), (n, bits), … -> (n, width).

    Examples
    --------
    >>> answers = np.array([[True, False, True, True]])
    >>> pack_reports(np.zeros((1, 12), dtype=np.uint8), answers)[0, 12:].tolist()
    [176]
    """
    return np.concatenate([ids, np.packbits(positive, axis=1), *more], axis=1)


def unpack_bits(reports: NDArray[np.uint8], count: int) -> NDArray[np.int8]:
    """Return the first bits of reports after their ids as ±1: (n, width) -> (n, count)."""
    return 2 * np.unpackbits(reports[:, ID_BYTES:], axis=1, count=count).astype(np.int8) - 1
