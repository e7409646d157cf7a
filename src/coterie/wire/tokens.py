"""Ids that nobody can choose: they follow from tokens that the collector issued.

A report's id decides its row and its codewords, so whoever tries many ids can pick one whose codewords suit
them. Where a plan says `"ids": "token"`, each person gets one random token, and

    id     = first 12 bytes of SHA-256("coterie/1/token-id"    ‖ plan id ‖ token)
    mark   =                   SHA-256("coterie/1/token-spent" ‖ plan id ‖ token)
    upload = token (16 bytes) ‖ report

The collector knows the tokens it issued, checks that each is spent once and that the report carries its id,
and keeps the report and the mark. ε holds for every id, chosen or not; but whoever issued the tokens can tell
whose report it is.
"""

from __future__ import annotations

import hashlib
from typing import Final

from coterie.errors import ReportError
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES, TOKEN_BYTES

MARK_BYTES: Final = 32


def token_id(plan: Plan, token: bytes) -> bytes:
    """Return the id, 12 bytes, of the report that a token stands for.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100, ids="token")
    >>> len(token_id(plan, bytes(16)))
    12
    """
    return _hash(b"coterie/1/token-id", plan, token)[:ID_BYTES]


def token_mark(plan: Plan, token: bytes) -> bytes:
    """Return what a collector keeps of a spent token, 32 bytes: no token and no id follows from it."""
    return _hash(b"coterie/1/token-spent", plan, token)


def checked_token(token: object) -> bytes:
    """Return `token` if it is 16 bytes."""
    if not isinstance(token, bytes) or len(token) != TOKEN_BYTES:
        raise ReportError(f"a token has {TOKEN_BYTES} bytes: take it as the collector issued it")
    return token


def _hash(label: bytes, plan: Plan, token: bytes) -> bytes:
    return hashlib.sha256(label + plan.id_bytes + checked_token(token)).digest()
