"""Uploads under a plan whose ids follow from tokens: the collector's check before a report counts.

An upload is token ‖ report (`coterie.wire.tokens`). It counts if the collector issued the token, the token
was not spent, and the report has the plan's form and the token's id. What is kept is the report and the
token's mark; the token itself is forgotten. Anything else is left out and counted by reason.

Where a shuffler takes invited people only, an upload is admission ‖ report (`coterie.wire.admission`), and
what is kept is the report.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.collect.deduplicate import Rows
from coterie.plan import Plan
from coterie.wire.admission import ADMISSION_BYTES, admitted_by
from coterie.wire.forms import Form
from coterie.wire.layout import ID_BYTES, TOKEN_BYTES, as_rows
from coterie.wire.tokens import MARK_BYTES, token_id, token_mark


class Marks(Protocol):
    """The marks of spent tokens: a set, or something that keeps one."""

    def __contains__(self, mark: object, /) -> bool: ...

    def add(self, mark: bytes, /) -> None:
        """Keep a mark."""


# The tokens that were issued, or who knows them by their marks: (n, 32) -> (n,).
Issued = Container[bytes] | Callable[[NDArray[np.uint8]], NDArray[np.bool_]]

Note = Callable[[str, NDArray[np.integer]], None]  # why some are left out, and their numbers

TOKEN_REASONS: Final = (  # why an upload is left out, besides its form
    "nobody admitted it",
    "the token was not issued",
    "the id is not the token's",
    "the token was spent before",
)
_UNADMITTED, _UNKNOWN, _FOREIGN_ID, _SPENT = TOKEN_REASONS


def admitted(
    plan: Plan, form: Form, uploads: Rows, issued: Issued, spent: Marks | None, note: Note
) -> Rows:  # (n, upload width) -> (m, report width)
    """Return the reports that count, and spend their tokens; `note` is told of the others."""
    reports = uploads[:, TOKEN_BYTES:]
    tokens = [row.tobytes() for row in uploads[:, :TOKEN_BYTES]]
    marks = [token_mark(plan, token) for token in tokens]
    ids = as_rows(b"".join(token_id(plan, token) for token in tokens), ID_BYTES)
    if callable(issued):
        known = issued(as_rows(b"".join(marks), MARK_BYTES))
    else:
        known = np.array([token in issued for token in tokens], dtype=bool)
    wrong = {  # the first reason is the one that is told
        _UNKNOWN: ~known,
        _FOREIGN_ID: (reports[:, :ID_BYTES] != ids).any(axis=1),
        form.reason: form.foreign(reports),
    }
    good = np.ones(len(uploads), dtype=bool)
    for reason, places in wrong.items():
        note(reason, np.flatnonzero(good & places))
        good &= ~places
    if spent is not None:
        for number in np.flatnonzero(good):
            if marks[number] in spent:
                note(_SPENT, np.array([number]))
                good[number] = False
            else:
                spent.add(marks[number])
    return np.ascontiguousarray(reports[good])


def let_in(plan: Plan, form: Form, uploads: Rows, issuers: Collection[bytes], note: Note) -> Rows:
    """Return the reports that an issuer admitted: (n, 80 + report width) -> (m, report width).

    `note` is told of the others.
    """
    reports = uploads[:, ADMISSION_BYTES:]
    wrong = form.foreign(reports)
    note(form.reason, np.flatnonzero(wrong))
    known = np.zeros(len(uploads), dtype=bool)
    known[~wrong] = admitted_by(issuers, plan, uploads[~wrong])
    note(_UNADMITTED, np.flatnonzero(~known & ~wrong))
    return np.ascontiguousarray(reports[known])
