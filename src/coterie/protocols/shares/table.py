"""The table of `vector-sums` and `net-tree-sums`: sums of mixed shares modulo a prime, by row and coordinate.

    sums[address] += share (mod q)        messages[address] += 1

Addition modulo q has no order, so any split and any order of merging give the same bits. What the table holds
when all messages are in is noisy already: reading it costs no privacy. A person's shares of one address are
all in one batch, so `messages` must be a multiple of the shares a person sends, the same for all coordinates
of a row; `coterie.protocols.vector_sums.oracle` refuses to read a table where shares are missing or doubled.

In the central model the curator fills in sums and people, and nothing is modulo anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate.arrays import MAX_COUNT, FixedShapes, check_same_plan, fill
from coterie.errors import AggregateError, PlanError, ReportError
from coterie.plan.plan import Plan
from coterie.protocols.shares.parameters import ShareParameters


@dataclass(slots=True, eq=False)
class VectorSumTable(FixedShapes):
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
    def zero(cls, plan: Plan) -> Self:
        """Return the table of no messages."""
        parameters = parameters_of(plan)
        shape = (parameters.rows, parameters.coordinates)
        return cls(plan, np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64))

    @property
    def parameters(self) -> ShareParameters:
        """The plan's parameters."""
        return parameters_of(self.plan)

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

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the arrays by name, in the order of the file format; not copies."""
        return {"sums": self.sums, "messages": self.messages}

    @classmethod
    def from_arrays(cls, plan: Plan, arrays: Mapping[str, NDArray[np.int64]]) -> Self:
        """Return the table with these arrays; AggregateError if no messages can have made them."""
        table = cls.zero(plan)
        fill(table.arrays(), arrays)
        modulus = table.parameters.modulus
        if (table.messages < 0).any() or (
            modulus and ((table.sums < 0).any() or (table.sums >= modulus).any())
        ):
            raise AggregateError("sums outside the field, or negative numbers of messages")
        if table.messages.max() > MAX_COUNT:  # below it, 2^16 rows of them do not wrap
            raise AggregateError("an entry has more than 2^46 messages")
        return table


def parameters_of(plan: Plan) -> ShareParameters:
    """Return the parameters of a plan of vector sums, or say that it is none."""
    if not isinstance(plan.parameters, ShareParameters):
        raise PlanError(f"this table needs a plan of vector sums, got protocol {plan.protocol}")
    return plan.parameters
