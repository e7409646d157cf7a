"""The form of a report, for every protocol: its bytes alone tell what no client of the plan can have sent.

Anyone can send anything. An index beyond the codewords, a bit after the last answer, a share outside the
field: such a report is left out by whoever takes reports in (`coterie.collect`), and refused by a table
(`Aggregate.add`). A protocol without a form is refused, too: its reports could not be told from noise.

What a shuffler releases has a form of its own where reports are made of shares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError, ReportError
from coterie.plan import Plan
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.protocols.paper.lsh_tree.parameters import LshTreeParameters
from coterie.protocols.paper.net_tree.parameters import CodewordTreeParameters, NetTreeParameters
from coterie.protocols.shares.parameters import ShareParameters
from coterie.randomizers.vector_sums import from_big_endian
from coterie.wire.layout import ID_BYTES

_P = TypeVar("_P")


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
    """Return the form of the plan's reports.

    Examples
    --------
    >>> form = report_form(Plan.design(2, 2, 1.0, 100, protocol="net-tree", levels=2))
    >>> form.foreign(np.array([[0] * 12 + [16], [0] * 12 + [1]], dtype=np.uint8)).tolist(), form.reason
    ([False, True], 'a bit is set after the last answer')
    """
    return _of(REPORT_FORMS, plan)


def message_form(plan: Plan) -> Form:
    """Return the form of what the plan's table adds up: the reports or, of shares, what is left of them."""
    return _of(MESSAGE_FORMS if plan.protocol in MESSAGE_FORMS else REPORT_FORMS, plan)


def anything(plan: Plan) -> Form:
    """Return the form of reports that may be any bytes of their width."""
    del plan
    return Form("it has another form", lambda rows: np.zeros(len(rows), dtype=np.bool_))


def _of(forms: dict[str, Callable[[Plan], Form]], plan: Plan) -> Form:
    if plan.protocol not in forms:
        raise PlanError(
            f"nobody knows the form of a report of protocol {plan.protocol}; known: {', '.join(forms)}"
        )
    return forms[plan.protocol](plan)


def _codeword(plan: Plan) -> Form:
    parameters = _of_kind(plan, CodewordParameters)

    def foreign(rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.asarray(from_big_endian(rows[:, ID_BYTES:]) >= parameters.codewords)

    if parameters.codewords == 1 << (8 * parameters.index_bytes):
        return anything(plan)
    return Form(f"the index is not below {parameters.codewords}", foreign)


def _net_tree(plan: Plan) -> Form:
    if isinstance(plan.parameters, CodewordTreeParameters):
        return anything(plan)  # every byte is an index
    parameters = _of_kind(plan, NetTreeParameters)
    return _padded(parameters.answer_bytes, 2 * parameters.levels)


def _lsh_tree(plan: Plan) -> Form:
    parameters = _of_kind(plan, LshTreeParameters)
    return _padded(parameters.bit_bytes, parameters.bits) if parameters.bits else anything(plan)


def _padded(size: int, bits: int) -> Form:
    """Return the form of `size` bytes after the id whose first `bits` are answers, and zeros the others."""
    unused = np.uint8((1 << (8 * size - bits)) - 1)
    return Form(
        "a bit is set after the last answer",
        lambda rows: np.asarray((rows[:, ID_BYTES + size - 1] & unused) != 0),
    )


def _shares(plan: Plan) -> Form:
    parameters = _share_parameters(plan)
    size = parameters.sums().mixer.share_bytes

    def foreign(rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        shares = from_big_endian(np.ascontiguousarray(rows[:, ID_BYTES:]).reshape(-1, size))
        return np.asarray((shares >= parameters.modulus).reshape(len(rows), -1).any(axis=1))

    return Form(f"a share is not below {parameters.modulus}", foreign)


def _share_messages(plan: Plan) -> Form:
    parameters = _share_parameters(plan)
    if parameters.noise == "curator":
        return anything(plan)  # there are none, and the table says so
    sums, entries = parameters.sums(), parameters.rows * parameters.coordinates

    def foreign(rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        addresses, shares = sums.read(rows)
        return np.asarray((addresses >= entries) | (shares >= parameters.modulus))

    return Form(f"the table has {entries} entries, and a share is below {parameters.modulus}", foreign)


def _share_parameters(plan: Plan) -> ShareParameters:
    parameters: object = plan.parameters
    if not isinstance(parameters, ShareParameters):
        raise PlanError(f"this needs a plan of vector sums, got protocol {plan.protocol}")
    return parameters


def _of_kind(plan: Plan, kind: type[_P]) -> _P:
    parameters: object = plan.parameters
    if not isinstance(parameters, kind):
        raise PlanError(f"a plan of protocol {plan.protocol} has parameters of another one")
    return parameters


REPORT_FORMS: Final[dict[str, Callable[[Plan], Form]]] = {
    "codeword": _codeword,
    "net-tree": _net_tree,
    "vector-sums": _shares,
    "lsh-tree": _lsh_tree,
    "net-tree-sums": _shares,
}
MESSAGE_FORMS: Final[dict[str, Callable[[Plan], Form]]] = {  # where they are not the reports
    "vector-sums": _share_messages,
    "net-tree-sums": _share_messages,
}
