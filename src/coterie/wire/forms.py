"""The form of a report: its bytes alone tell what no client of the plan can have sent.

Anyone can send anything. An index beyond the codewords, a bit after the last answer, a share outside the
field: such a report is left out by whoever takes reports in (`coterie.collect`), and refused by a table
(`Aggregate.add`). What a shuffler releases has a form of its own where reports are made of shares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError, ReportError
from coterie.plan import Plan
from coterie.protocols import protocol_of
from coterie.wire.layout import ID_BYTES


@dataclass(frozen=True, slots=True)
class Form:
    """Which reports, or messages, a plan's clients, or its shuffler, can have made."""

    reason: str  # what is wrong with the others
    foreign: Callable[[NDArray[np.uint8]], NDArray[np.bool_]]  # (n, width) -> (n,): which are none

    def check(self, rows: NDArray[np.uint8]) -> None:
        """Raise ReportError unless every row has the form: (n, width)."""
        wrong = self.foreign(rows)
        if wrong.any():
            raise ReportError(
                f"report {int(wrong.argmax())} of {len(rows)}: {self.reason}; none of these reports was added"
            )


def report_form(plan: Plan) -> Form:
    """Return the form of the plan's reports: that of their answers, unless the protocol has another.

    Examples
    --------
    >>> form = report_form(Plan.design(2, 2, 1.0, 100, protocol="net-tree", levels=2))
    >>> form.foreign(np.array([[0] * 12 + [16], [0] * 12 + [1]], dtype=np.uint8)).tolist(), form.reason
    ([False, True], 'a bit is set after the last answer')
    """
    protocol = protocol_of(plan)
    return cast("Form", protocol.load(protocol.form or _of_answers)(plan))


def message_form(plan: Plan) -> Form:
    """Return the form of what the plan's table adds up: the reports or, of shares, what is left of them."""
    protocol = protocol_of(plan)
    return cast("Form", protocol.load(protocol.message_form or report_form)(plan))


def _of_answers(plan: Plan) -> Form:
    """Return the form of independent answers: each has one of its values, and all other bits are 0."""
    parts = plan.parameters.parts()
    if not parts:
        raise PlanError(f"nobody knows the form of a report of protocol {plan.protocol}")
    unused = np.ones(8 * plan.parameters.answer_bytes, dtype=np.uint8)
    for part in parts:
        unused[part.first_bit : part.first_bit + part.bits] = 0
    mask = np.packbits(unused)  # of each byte
    spare = np.flatnonzero(mask)
    short = [part for part in parts if part.values < 1 << part.bits]

    def foreign(rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        answers = rows[:, ID_BYTES:]
        wrong = np.zeros(len(rows), dtype=np.bool_)
        if len(spare):
            wrong |= (answers[:, spare] & mask[spare]).any(axis=1)
        for part in short:
            wrong |= part.read(answers) >= part.values
        return wrong

    if short:
        return Form(f"the index is not below {short[0].values}", foreign)
    return Form("a bit is set after the last answer", foreign)
