"""The `codeword` table: what all reports together say, in integers of a size that the plan fixes.

For each report, regenerate its row, flip and codeword v ∈ {±1}^P from id and index; then

    sums[row] += (-1)^flip · v        counts[row] += 1        second += v·vᵀ   (where P ≤ 1024)

Integer addition has no order, so any split of the reports over machines and any order of merging give the
same bits. Tables are post-processing of private reports: nothing in them needs protecting from the analyst.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import AggregateError
from coterie.plan.plan import Plan
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.protocols.table import MAX_COUNT, SumTable
from coterie.wire.kernels import Kernels, kernels_of
from coterie.wire.rows import Rows
from coterie.wire.stream import PublicStream
from coterie.wire.workers import default_workers, in_shares

SECOND_MOMENT_LIMIT: Final = 1024  # P up to which the second moment is kept

_SIGNS_AT_A_TIME: Final = 1 << 19  # of codewords, a thread: 4,096 reports at P = 128
_HELD: Final = 1 << 30  # reports whose sums are held in 32 bits before they go to 64
_SHARE: Final = 1 << 15  # reports below which a further thread is not worth its own table


@dataclass(slots=True, eq=False)
class CodewordTable(SumTable):
    """Sums of codewords by row, counts by row and the second moment.

    Examples
    --------
    >>> plan = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=1000)
    >>> table = CodewordTable.zero(plan)
    >>> table.add(np.arange(39, dtype=np.uint8).reshape(3, 13))
    >>> table.count
    3
    """

    plan: Plan
    sums: NDArray[np.int64]  # (rows, P)
    counts: NDArray[np.int64]  # (rows,)
    second: NDArray[np.int64] | None = None  # (P, P); None where P > 1024

    limit: ClassVar[int] = MAX_COUNT

    @classmethod
    def sizes(cls, plan: Plan) -> dict[str, tuple[int, ...]]:
        """Return the arrays' shapes by name, in the order of the file format."""
        rows, size = CodewordParameters.of(plan).rows, CodewordParameters.of(plan).embedding
        second = {"second": (size, size)} if size <= SECOND_MOMENT_LIMIT else {}
        return {"sums": (rows, size), "counts": (rows,), **second}

    @property
    def parameters(self) -> CodewordParameters:
        """The parameters of the table's plan."""
        return CodewordParameters.of(self.plan)

    @property
    def count(self) -> int:
        """Number of reports added."""
        return int(self.counts.sum())

    def add(self, reports: NDArray[np.uint8], *, kernels: Kernels | None = None) -> None:
        """Add reports, which have the plan's form (`Aggregate.add` sees to it).

        Parameters
        ----------
        reports : ndarray of uint8, shape (n, width)
            One report a row.
        kernels : {"numpy", "numba", "auto"}, optional
            As for `codeword.encode.CodewordEncoder`; the table is the same either way.
        """
        parameters = self.parameters
        heavy = kernels_of("coterie.protocols.codeword.table", kernels, len(reports))
        stream, layout = PublicStream(self.plan.randomness_key()), Rows.of(parameters)
        # A piece has as many reports as the table has rows: adding its sums to them is then a small part.
        step = max(1, min(max(_SIGNS_AT_A_TIME // parameters.embedding, parameters.rows), len(reports)))

        def table_of(starts: Iterable[int]) -> CodewordTable:
            table = CodewordTable.zero(self.plan)
            kept = table.second is not None
            accumulator = heavy.Accumulator(step, stream, layout, parameters.embedding, kept)
            held = 0
            for start in starts:
                piece = reports[start : start + step]
                accumulator.add(piece)
                held += len(piece)
                if held >= _HELD:
                    accumulator.hand_over(table.sums, table.counts, table.second)
                    held = 0
            accumulator.hand_over(table.sums, table.counts, table.second)
            return table

        workers = min(default_workers(), len(reports) // _SHARE)
        for table in in_shares(table_of, range(0, len(reports), step), workers):
            self.merge(table)

    def check_possible(self) -> None:
        """Raise AggregateError for arrays that no set of reports can sum to."""
        bounds = self.counts[:, None]
        if (self.counts < 0).any() or (np.abs(self.sums) > bounds).any() or ((self.sums - bounds) & 1).any():
            raise AggregateError("sums and counts contradict each other: no reports make such a table")
        square, total = self.second, self.count
        if square is not None and (
            (np.diagonal(square) != total).any()
            or (square != square.T).any()
            or (np.abs(square) > total).any()
        ):
            raise AggregateError("the second moment contradicts the counts: no reports make such a table")
