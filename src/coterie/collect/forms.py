"""Which reports have their plan's form, and what became of those that do not.

Anyone can send anything. A report that no client of the plan can have made (an index beyond the codewords, a
bit after the last answer, a share outside the field) is left out, counted by reason, and its place is named
as it was sent, so that whoever wrote it can be found. It stops nobody else's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.plan import Plan
from coterie.plan.codeword import ID_BYTES, CodewordParameters
from coterie.plan.lsh_tree import LshTreeParameters
from coterie.plan.net_tree import NetTreeParameters
from coterie.plan.shares import ShareParameters
from coterie.randomizers.vector_sums import from_big_endian

SHOWN_PLACES: Final = 3  # of the reports left out for one reason

Foreign = Callable[[NDArray[np.uint8]], NDArray[np.bool_]]  # (n, width) -> (n,)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Reports that were left out for one reason."""

    reason: str
    count: int
    places: tuple[str, ...]  # of the first few: file, number of the report (from 0), byte

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.places) else ""
        return f"{self.count:,} left out, {self.reason}: {'; '.join(self.places)}{more}"


class Skips:
    """Counts what is left out, by reason.

    Examples
    --------
    >>> skips = Skips()
    >>> skips.note("of another form", np.array([4]), lambda number: f"reports.coterie, report {number}")
    >>> print(skips.all[0])
    1 left out, of another form: reports.coterie, report 4
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._places: dict[str, list[str]] = {}

    def note(self, reason: str, parameters: NDArray[np.integer], place: Callable[[int], str]) -> None:
        """Count the reports with these numbers; `place` says where a number stands."""
        if not len(parameters):
            return
        self._counts[reason] = self._counts.get(reason, 0) + len(parameters)
        places = self._places.setdefault(reason, [])
        places.extend(place(int(number)) for number in parameters[: SHOWN_PLACES - len(places)])

    @property
    def total(self) -> int:
        """How many were left out."""
        return sum(self._counts.values())

    @property
    def all(self) -> tuple[Skipped, ...]:
        """What was left out, one entry per reason."""
        return tuple(
            Skipped(reason, count, tuple(self._places[reason])) for reason, count in self._counts.items()
        )


def form_of(plan: Plan) -> tuple[Foreign, str]:
    """Return a function that finds the reports no client of the plan can have made, and the reason.

    Examples
    --------
    >>> plan = Plan.design(2, 2, 1.0, 100, protocol="net-tree", levels=2)
    >>> foreign, reason = form_of(plan)
    >>> foreign(np.array([[0] * 12 + [16], [0] * 12 + [1]], dtype=np.uint8)).tolist(), reason
    ([False, True], 'a bit is set after the last answer')
    """
    parameters: object = plan.parameters
    if isinstance(parameters, CodewordParameters):
        return _beyond_codewords(parameters), f"the index is not below {parameters.codewords}"
    if isinstance(parameters, ShareParameters):
        return _outside_field(parameters), f"a share is not below {parameters.modulus}"
    if isinstance(parameters, NetTreeParameters):
        return _padding(parameters.answer_bytes, 2 * parameters.levels), "a bit is set after the last answer"
    if isinstance(parameters, LshTreeParameters):
        return _padding(parameters.bit_bytes, parameters.bits), "a bit is set after the last answer"
    # A codeword of a tree is one of 256, so any byte; of a protocol from outside only its table knows more.
    return _anything, "it has another form"


def _anything(rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.zeros(len(rows), dtype=np.bool_)


def place_in(path: str | os.PathLike[str], header: int, width: int) -> Callable[[int], str]:
    """Return a function that says where in a file a report stands, by its number from 0."""
    return lambda number: f"{os.fspath(path)}, report {number} (byte {header + number * width})"


def _beyond_codewords(parameters: CodewordParameters) -> Foreign:
    def foreign(rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        indices = rows[:, ID_BYTES].astype(np.int64)
        if parameters.index_bytes == 2:
            indices = (indices << 8) | rows[:, ID_BYTES + 1]
        return np.asarray(indices >= parameters.codewords)

    return foreign


def _outside_field(parameters: ShareParameters) -> Foreign:
    size = parameters.sums().mixer.share_bytes

    def foreign(rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        shares = from_big_endian(np.ascontiguousarray(rows[:, ID_BYTES:]).reshape(-1, size))
        return np.asarray((shares >= parameters.modulus).reshape(len(rows), -1).any(axis=1))

    return foreign


def _padding(size: int, bits: int) -> Foreign:
    """Find set bits after the first `bits` of the `size` bytes that follow the id."""
    unused = np.uint8((1 << (8 * size - bits)) - 1)

    def foreign(rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.asarray((rows[:, ID_BYTES + size - 1] & unused) != 0)

    return foreign
