"""The table of `vector-sums` and `net-tree-sums`: sums of mixed shares modulo a prime, by row and coordinate.

    sums[address] += share (mod q)        messages[address] += 1

Addition modulo q has no order, so any split and any order of merging give the same bits. What the table holds
when all messages are in is noisy already: reading it costs no privacy. A person's shares of one address are
all in one batch, so `messages` must be a multiple of the shares a person sends, the same for all coordinates
of a row; `people_by_row` refuses to read a table where shares are missing or doubled.

In the central model the curator fills in sums and people, and nothing is modulo anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.errors import AggregateError, DecodeError, ReportError
from coterie.plan.plan import Plan
from coterie.protocols.shares.parameters import ShareParameters
from coterie.protocols.table import MAX_COUNT, SumTable, check_same_plan


@dataclass(slots=True, eq=False)
class VectorSumTable(SumTable):
    """Sums modulo q and numbers of messages.

    Examples
    --------
    >>> plan = Plan.design(2, 2, 1.0, 100, protocol="vector-sums", model="shuffle", delta=1e-6, cells=4)
    >>> table = VectorSumTable.zero(plan)
    >>> table.sums.shape, table.count
    ((4, 4), 0)
    """

    plan: Plan
    sums: NDArray[np.int64]  # (rows, D), in [0, q)
    messages: NDArray[np.int64]  # (rows, D)

    @classmethod
    def sizes(cls, plan: Plan) -> dict[str, tuple[int, ...]]:
        """Return the arrays' shapes by name, in the order of the file format."""
        parameters = ShareParameters.of(plan)
        return dict.fromkeys(("sums", "messages"), (parameters.rows, parameters.coordinates))

    @property
    def parameters(self) -> ShareParameters:
        """The plan's parameters."""
        return ShareParameters.of(self.plan)

    @property
    def count(self) -> int:
        """Number of people whose messages are in; meaningful once all of a batch are."""
        first = self.messages[:, 0]
        seen = int(first.sum()) if self.parameters.by_column else int(first[0])
        return seen // max(self.parameters.shares, 1)

    def add(self, reports: NDArray[np.uint8]) -> None:
        """Add mixed messages, (k, message width), which have the plan's form (`Aggregate.add` sees to it)."""
        parameters = self.parameters
        if parameters.noise == "curator":
            raise ReportError("a central plan has no messages: its curator fills the table")
        sums = parameters.sums()
        addresses, shares = sums.read(reports)
        new = sums.mixer.add_up(shares, addresses, self.sums.size).reshape(self.sums.shape)
        self.sums = (self.sums + new) % parameters.modulus
        self.messages += np.bincount(addresses, minlength=self.sums.size).reshape(self.sums.shape)

    def merge(self, other: VectorSumTable) -> None:
        """Add another table of the same plan."""
        check_same_plan(self.plan, other.plan)
        if self.parameters.noise == "curator":
            raise AggregateError("a curator's table is noisy once and whole: two of them are not merged")
        self.sums = (self.sums + other.sums) % self.parameters.modulus
        self.messages += other.messages

    def check_possible(self) -> None:
        """Raise AggregateError for arrays that no messages can sum to."""
        modulus = self.parameters.modulus
        if (self.messages < 0).any() or (modulus and ((self.sums < 0).any() or (self.sums >= modulus).any())):
            raise AggregateError("sums outside the field, or negative numbers of messages")
        if self.messages.max() > MAX_COUNT:  # below it, 2^16 rows of them do not wrap
            raise AggregateError("an entry has more than 2^46 messages")

    @property
    def fewest(self) -> int:
        """People of the row that has the fewest; DecodeError if messages are missing or doubled."""
        return int(self.people_by_row().min())

    def people_by_row(self) -> NDArray[np.int64]:
        """Return how many people each row heard from, (rows,), or say where shares are missing or doubled."""
        parameters = self.parameters
        shares = max(parameters.shares, 1)
        people = self.messages[:, :1] // shares
        wrong = self.messages != people * shares
        if not parameters.by_column:
            wrong |= self.messages != self.messages[0, 0]
        if wrong.any():
            row, coordinate = (int(place) for place in np.argwhere(wrong)[0])
            raise DecodeError(
                f"row {row}, coordinate {coordinate} has {self.messages[row, coordinate]} messages; every "
                f"person sends {shares} to each coordinate of a row: messages are missing or doubled, and "
                "the sums mean nothing. Add every message of a batch once"
            )
        return people[:, 0]
