"""The `net-tree` server's table: the reports themselves, in one canonical order.

Which buckets matter is known only while the tree is built, and a bucket's estimate is a sum over all reports
with signs of its own, so there is no small table to add into: the reports are kept (15 bytes a person at T =
12). They are private already. Sorted by their bytes, the same reports give the same table whatever the order
of adding and merging. In a file a report is padded with zeros to whole 64-bit words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie.errors import AggregateError
from coterie.plan import Plan
from coterie.protocols.paper.net_tree.parameters import LocalTreeParameters
from coterie.protocols.table import Table, check_same_plan
from coterie.wire.forms import report_form

_WORD = 8


class NetTreeTable(Table):
    """All reports so far.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=2.0, expected_users=10**5, protocol="net-tree")
    >>> table = NetTreeTable.zero(plan)
    >>> table.add(np.zeros((3, plan.report_width), dtype=np.uint8))
    >>> table.count, table.reports.shape == (3, plan.report_width)
    (3, True)
    """

    keeps_reports: ClassVar[bool] = True

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._pieces: list[NDArray[np.uint8]] = [np.empty((0, plan.report_width), dtype=np.uint8)]

    @classmethod
    def zero(cls, plan: Plan) -> Self:
        """Return the table of no reports."""
        LocalTreeParameters.of(plan)
        return cls(plan)

    @property
    def count(self) -> int:
        """Number of reports added."""
        return sum(len(piece) for piece in self._pieces)

    @property
    def reports(self) -> NDArray[np.uint8]:  # (n, width)
        """The reports, sorted by their bytes."""
        if len(self._pieces) > 1:
            rows = np.concatenate(self._pieces)
            self._pieces = [
                np.sort(rows.view(f"S{rows.shape[1]}"), axis=0).view(np.uint8).reshape(rows.shape)
            ]
        return self._pieces[0]

    def add(self, reports: NDArray[np.uint8]) -> None:
        """Add reports, (n, width), which have the plan's form (`Aggregate.add` sees to it)."""
        self._pieces.append(reports.copy())

    def merge(self, other: NetTreeTable) -> None:
        """Add another table of the same plan."""
        check_same_plan(self.plan, other.plan)
        self._pieces.append(other.reports)

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the reports as words, (n, ⌈width/8⌉)."""
        rows = self.reports
        padded = np.zeros((len(rows), _words_of(self.plan) * _WORD), dtype=np.uint8)
        padded[:, : rows.shape[1]] = rows
        return {"reports": padded.view("<i8").astype(np.int64, copy=False)}

    @classmethod
    def shapes(cls, plan: Plan, size: int) -> dict[str, tuple[int, ...]]:
        """Return the arrays' shapes when they take about `size` bytes in a file."""
        words = _words_of(plan)
        return {"reports": (max(size, 0) // (_WORD * words), words)}

    @classmethod
    def from_arrays(cls, plan: Plan, arrays: Mapping[str, NDArray[np.int64]]) -> Self:
        """Return the table with these reports; AggregateError if they are malformed or not sorted."""
        words, width = _words_of(plan), plan.report_width
        if arrays.keys() != {"reports"}:
            raise AggregateError(f"a table of this plan has the array reports, got {', '.join(arrays)}")
        given = arrays["reports"]
        if given.ndim != 2 or given.shape[1] != words or given.dtype != np.int64:
            raise AggregateError(f"array reports must be int64 of shape (n, {words}), got {given.shape}")
        rows = np.ascontiguousarray(given.astype("<i8", copy=False)).view(np.uint8)  # (n, 8·words)
        table = cls.zero(plan)
        form = report_form(plan)
        if form.foreign(rows[:, :width]).any():
            raise AggregateError(f"it holds a report that is none: {form.reason}")
        table.add(rows[:, :width])
        if rows[:, width:].any() or not np.array_equal(table.reports, rows[:, :width]):
            raise AggregateError("the reports are not in their canonical order or not padded with zeros")
        return table


def _words_of(plan: Plan) -> int:
    return -(-plan.report_width // _WORD)
