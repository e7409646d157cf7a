"""Uploads under a plan whose ids follow from tokens: the collector's check before a report counts.

An upload is token ‖ report (`coterie.wire.tokens`). It counts if the collector issued the token, the token
was not spent, and the report has the plan's form and the token's id. What is kept is the report and the
token's mark; the token itself is forgotten. Anything else is left out and counted by reason.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.collect.forms import Skipped, Skips, form_of
from coterie.errors import PlanError
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES, TOKEN_BYTES, Reports, as_rows
from coterie.wire.tokens import token_id, token_mark


class Marks(Protocol):
    """The marks of spent tokens: a set, or something that keeps one."""

    def __contains__(self, mark: object, /) -> bool: ...

    def add(self, mark: bytes, /) -> None:
        """Keep a mark."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a batch of uploads came to."""

    reports: NDArray[np.uint8]  # (m, report width), in the order of the uploads
    skipped: tuple[Skipped, ...]


def take_uploads(plan: Plan, uploads: Reports, *, issued: Container[bytes], spent: Marks) -> Accepted:
    """Check uploads and spend their tokens.

    Parameters
    ----------
    plan : Plan
        A plan with `ids="token"`.
    uploads : bytes, or ndarray of uint8 of shape (n, plan.upload_width)
        Uploads, back to back.
    issued : container of bytes
        The tokens that were issued for this plan, each to one person.
    spent : set of bytes, or alike
        Marks of tokens that were spent; those of the accepted uploads are added.

    Examples
    --------
    >>> from coterie.wire.tokens import token_id
    >>> plan = Plan.design(2, 2, 1.0, 100, ids="token")
    >>> upload = bytes(16) + token_id(plan, bytes(16)) + bytes(1)
    >>> spent = set()
    >>> take_uploads(plan, upload, issued={bytes(16)}, spent=spent).reports.shape, len(spent)
    ((1, 13), 1)
    >>> print(take_uploads(plan, upload, issued={bytes(16)}, spent=spent).skipped[0])
    1 left out, the token was spent before: upload 0
    """
    if plan.ids != "token":
        raise PlanError("this plan's ids are drawn on the device: its reports come without tokens")
    rows = as_rows(uploads, plan.upload_width)
    foreign, reason = form_of(plan)
    malformed = foreign(rows[:, TOKEN_BYTES:])
    skips, kept = Skips(), []
    for number, row in enumerate(rows):
        token = row[:TOKEN_BYTES].tobytes()
        mark = token_mark(plan, token)
        if token not in issued:
            wrong = "the token was not issued"
        elif row[TOKEN_BYTES : TOKEN_BYTES + ID_BYTES].tobytes() != token_id(plan, token):
            wrong = "the id is not the token's"
        elif malformed[number]:
            wrong = reason
        elif mark in spent:
            wrong = "the token was spent before"
        else:
            spent.add(mark)
            kept.append(number)
            continue
        skips.note(wrong, np.array([number]), "upload {}".format)
    return Accepted(rows[kept, TOKEN_BYTES:], skips.all)
