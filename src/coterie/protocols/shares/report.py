"""Reports of shares, what a shuffler makes of them, and the form of both.

A shuffler turns reports into messages and forgets their ids: everybody's shares of one entry of the table, in
the order of their bytes. A sort hides the order of arrival as well as a random permutation does, needs no
coins, and gives the same bytes again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ReportError
from coterie.plan import Plan
from coterie.protocols.base import Leverage
from coterie.protocols.shares.parameters import ShareParameters
from coterie.randomizers.vector_sums import VectorSums, from_big_endian
from coterie.wire.forms import Form
from coterie.wire.layout import ID_BYTES
from coterie.wire.rows import Rows
from coterie.wire.stream import PublicStream


def form(plan: Plan) -> Form:
    """Return the form of reports: every share is an element of the field."""
    parameters = ShareParameters.of(plan)
    size = parameters.sums().mixer.share_bytes

    def foreign(rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        shares = from_big_endian(np.ascontiguousarray(rows[:, ID_BYTES:]).reshape(-1, size))
        return np.asarray((shares >= parameters.modulus).reshape(len(rows), -1).any(axis=1))

    return Form(f"a share is not below {parameters.modulus}", foreign)


def leverage(plan: Plan) -> Leverage | None:
    """Return what one forged report may weigh: anything, since no share is held to a range."""
    return Leverage(math.inf, math.inf) if plan.mixed else None


def message_form(plan: Plan) -> Form:
    """Return the form of mixed messages: an address in the table, and an element of the field."""
    parameters = ShareParameters.of(plan)
    if parameters.noise == "curator":  # there are none, and the table says so
        return Form("a curator takes no messages", lambda rows: np.zeros(len(rows), dtype=np.bool_))
    sums, entries = parameters.sums(), parameters.rows * parameters.coordinates

    def foreign(rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        addresses, shares = sums.read(rows)
        return np.asarray((addresses >= entries) | (shares >= parameters.modulus))

    return Form(f"the table has {entries} entries, and a share is below {parameters.modulus}", foreign)


def mixed(plan: Plan, reports: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """Yield the messages of all reports, row by row, in the order of their bytes: (n, width) -> (k, width).

    ReportError if a row has too few people to mix.
    """
    parameters = ShareParameters.of(plan)
    sums = parameters.sums()
    size = sums.mixer.share_bytes
    if parameters.by_column:
        views: Any = parameters
        rows, _ = PublicStream(plan.randomness_key()).choices(reports[:, :ID_BYTES], Rows.of(views))
        _check_groups(rows, parameters)
        for row in np.unique(rows).tolist():
            yield _sorted_messages(sums, row, reports[rows == row, ID_BYTES:], size)
        return
    width = parameters.coordinates * parameters.shares * size
    for row in range(parameters.rows):
        start = ID_BYTES + row * width
        yield _sorted_messages(sums, row, reports[:, start : start + width], size)


def _sorted_messages(sums: VectorSums, row: int, written: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return everybody's messages of one row, sorted: (n, D·m·size) -> (n·D·m, message width)."""
    people = len(written)
    shares = from_big_endian(np.ascontiguousarray(written).reshape(-1, size))
    by_coordinate = shares.reshape(people, sums.width, sums.mixer.shares).transpose(1, 0, 2)
    in_order = np.sort(by_coordinate.reshape(sums.width, -1), axis=1)  # (D, n·m)
    return sums.messages(np.array([row]), in_order[None])


def _check_groups(rows: NDArray[np.int64], parameters: ShareParameters) -> None:
    smallest = int(np.bincount(rows, minlength=parameters.rows).min())
    if smallest < parameters.group:
        raise ReportError(
            f"a row of this batch has {smallest} people, the plan needs {parameters.group} in each to mix "
            "and to add noise; nothing was released. Wait for more reports"
        )
