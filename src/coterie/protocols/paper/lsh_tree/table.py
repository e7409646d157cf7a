"""The `lsh-tree` table: for every level and mask, sums of answers, in integers of a size the plan fixes.

For each answer of a report, regenerate its level, mask, flips and vector v from the id; with y the histogram
bit and t the vector's,

    counts[row] += y·(-1)^flip    sums[row] += t·(-1)^flip·v    reports[row] += 1    row = (level, mask)

v is the public direction scaled to length 2^15 - 1 and rounded (djw), or the ±1 codeword that was named
(privunit, t = 1). The masks' signs are characters of the codes' group, so these few rows are all that any
frequency or vector sum of any node can ask for: one Walsh-Hadamard transform a level answers for all nodes.
Sums are exact, order-free and mergeable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import AggregateError, bringing
from coterie.plain.pieces import pieces
from coterie.plan import Plan
from coterie.protocols.paper.answers import unpack_bits
from coterie.protocols.paper.lsh_tree.parameters import LshTreeParameters
from coterie.protocols.paper.lsh_tree.report import LshTreeStream
from coterie.protocols.table import MAX_COUNT, SumTable
from coterie.wire.layout import ID_BYTES
from coterie.wire.stream import signs_of

LENGTH: Final = (1 << 15) - 1  # of a direction, in integer steps

_REPORTS_AT_A_TIME: Final = 1 << 13


@dataclass(slots=True, eq=False)
class LshTreeTable(SumTable):
    """Sums of answers by level and mask.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=2.0, expected_users=10**5, protocol="lsh-tree")
    >>> table = LshTreeTable.zero(plan)
    >>> table.add(np.zeros((3, plan.report_width), dtype=np.uint8))
    >>> table.count, table.sums.shape  # 2 + 4 + 8 + 16 masks, d + 1 coordinates
    (3, (30, 3))
    """

    plan: Plan
    sums: NDArray[np.int64]  # (rows, D), or (rows, P) for privunit
    counts: NDArray[np.int64]  # (rows,)
    reports: NDArray[np.int64]  # (rows,)

    limit: ClassVar[int] = (LENGTH + 1) * MAX_COUNT

    @classmethod
    def sizes(cls, plan: Plan) -> dict[str, tuple[int, ...]]:
        """Return the arrays' shapes by name, in the order of the file format."""
        parameters = LshTreeParameters.of(plan)
        rows, width = parameters.rows, parameters.embedding or parameters.lifted(plan.dimension)
        return {"sums": (rows, width), "counts": (rows,), "reports": (rows,)}

    @property
    def parameters(self) -> LshTreeParameters:
        """The parameters of the table's plan."""
        return LshTreeParameters.of(self.plan)

    @property
    def count(self) -> int:
        """Number of reports added."""
        return int(self.reports.sum()) // self.parameters.answers

    def add(self, reports: NDArray[np.uint8]) -> None:
        """Add reports, (n, width), which have the plan's form (`Aggregate.add` sees to it)."""
        stream = LshTreeStream(self.plan)
        for piece in pieces(len(reports), _REPORTS_AT_A_TIME):
            self._add_piece(reports[piece], stream)

    def check_possible(self) -> None:
        """Raise AggregateError for arrays that no set of reports can sum to."""
        most, parameters = self.reports, self.parameters
        if (most < 0).any() or most.max() > MAX_COUNT:
            raise AggregateError("the array reports holds a number below 0 or beyond 2^46")
        longest = 1 if parameters.embedding else LENGTH
        counted = np.abs(self.counts) <= (0 if parameters.joint else most)
        if not counted.all() or (np.abs(self.sums) > longest * most[:, None]).any():
            raise AggregateError(
                "sums, counts and reports contradict each other: no reports make such a table"
            )
        each = {int(most[parameters.level_rows(level)].sum()) for level in parameters.answered_levels}
        if parameters.split == "budget" and len(each) > 1:
            raise AggregateError("every report answers for all levels, but the levels have unequal numbers")

    def _add_piece(self, reports: NDArray[np.uint8], stream: LshTreeStream) -> None:
        with bringing("analyst"):
            from scipy.sparse import csr_array

        parameters, people = self.parameters, len(reports)
        ids = np.ascontiguousarray(reports[:, :ID_BYTES])
        bits = unpack_bits(reports, parameters.bits)
        firsts = np.array([0, *(parameters.first_row(level) for level in range(1, parameters.levels + 1))])
        for answer in range(parameters.answers):
            choices = stream.choices(ids, answer)
            rows = firsts[choices.levels] + choices.masks
            signs = choices.vector_signs.astype(np.float64)
            if parameters.randomizer == "privunit":
                indices = reports[:, answer - parameters.answers].astype(np.int64)
                vectors = signs_of(stream.chosen(ids, answer, indices)).astype(np.float64)
            else:
                signs *= bits[:, -parameters.answers + answer]
                vectors = scaled_directions(stream.directions(ids, answer))
            # float64 holds these integer sums exactly: at most 2^13 terms of 2^15
            scatter = csr_array((signs, (rows, np.arange(people))), shape=(parameters.rows, people))
            self.sums += np.rint(np.asarray(scatter @ vectors)).astype(np.int64)
            self.reports += np.bincount(rows, minlength=parameters.rows)
            if not parameters.joint:
                told = (bits[:, answer] * choices.count_signs).astype(np.float64)
                self.counts += np.bincount(rows, weights=told, minlength=parameters.rows).astype(np.int64)


def scaled_directions(directions: NDArray[np.int16]) -> NDArray[np.float64]:
    """Return directions as integer vectors of length 2^15 - 1, rounded: (n, D) -> (n, D).

    Examples
    --------
    >>> scaled_directions(np.array([[3, 4]], dtype=np.int16)).tolist()
    [[19660.0, 26214.0]]
    """
    vectors = directions.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))  # of exact integers
    vectors *= (LENGTH / np.maximum(lengths, 1.0))[:, None]
    return np.rint(vectors, out=vectors)
