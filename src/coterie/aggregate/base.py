"""What a table is, and which one a plan's protocol names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from coterie.plan import Plan
from coterie.protocols import Registry


class Table(Protocol):
    """Integers that reports add to, shaped by the plan, and by the count where reports are kept."""

    @property
    def count(self) -> int:
        """Number of reports added."""
        ...

    @classmethod
    def zero(cls, plan: Plan) -> Self:
        """Return the table of no reports."""
        ...

    def add(self, reports: NDArray[np.uint8]) -> None:
        """Add reports, (n, width): all of them or, if one is malformed, none."""
        ...

    def merge(self, other: Self) -> None:
        """Add another table of the same plan."""
        ...

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the arrays by name, in the order of the file format; not copies."""
        ...

    @classmethod
    def shapes(cls, plan: Plan, size: int) -> dict[str, tuple[int, ...]]:
        """Return the arrays' shapes in a file that has `size` bytes of them."""
        ...

    @classmethod
    def from_arrays(cls, plan: Plan, arrays: Mapping[str, NDArray[np.int64]]) -> Self:
        """Return the table with these arrays; AggregateError if no reports can have made them."""
        ...


TABLES: Final[Registry[str, type[Any]]] = Registry(
    {
        "codeword": "coterie.protocols.codeword.table:CodewordTable",
        "net-tree": "coterie.protocols.paper.net_tree.table:NetTreeTable",
        "vector-sums": "coterie.protocols.shares.table:VectorSumTable",
        "lsh-tree": "coterie.protocols.paper.lsh_tree.table:LshTreeTable",
        "net-tree-sums": "coterie.protocols.shares.table:VectorSumTable",
    }
)
