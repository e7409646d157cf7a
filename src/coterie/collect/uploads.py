"""Uploads under a plan whose ids follow from tokens: the collector's check before a report counts.

An upload is token ‖ report (`coterie.wire.tokens`). It counts if the collector issued the token, the token
was not spent, and the report has the plan's form and the token's id. What is kept is the report and the
token's mark; the token itself is forgotten. Anything else is left out and counted by reason.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.collect.skips import Skips
from coterie.plan import Plan
from coterie.wire.forms import Form
from coterie.wire.layout import ID_BYTES, TOKEN_BYTES
from coterie.wire.tokens import token_id, token_mark


class Marks(Protocol):
    """The marks of spent tokens: a set, or something that keeps one."""

    def __contains__(self, mark: object, /) -> bool: ...

    def add(self, mark: bytes, /) -> None:
        """Keep a mark."""


def admitted(
    plan: Plan,
    form: Form,
    uploads: NDArray[np.uint8],
    issued: Container[bytes],
    spent: Marks,
    skips: Skips,
    start: int,
    place: Callable[[int], str],
) -> NDArray[np.uint8]:
    """Return the reports that count, and spend their tokens: (n, upload width) -> (m, report width).

    The others are noted in `skips`; `start` is the number of the first upload.
    """
    malformed = form.foreign(uploads[:, TOKEN_BYTES:])
    kept = []
    for number, row in enumerate(uploads):
        token = row[:TOKEN_BYTES].tobytes()
        mark = token_mark(plan, token)
        if token not in issued:
            wrong = "the token was not issued"
        elif row[TOKEN_BYTES : TOKEN_BYTES + ID_BYTES].tobytes() != token_id(plan, token):
            wrong = "the id is not the token's"
        elif malformed[number]:
            wrong = form.reason
        elif mark in spent:
            wrong = "the token was spent before"
        else:
            spent.add(mark)
            kept.append(number)
            continue
        skips.note(wrong, np.array([start + number]), place)
    return uploads[kept, TOKEN_BYTES:]
