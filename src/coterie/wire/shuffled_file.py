"""Shuffled files: what a shuffler releases, the messages of one batch in the order of their bytes.

The layout is that of a report file (`coterie.wire.report_file`) under its own name, "COTERIE-SHUFFLED". A
table of a shuffle plan reads these only, so that nobody adds up unmixed reports by mistake.

Between a shuffler and a collector such a file is a *batch*, named by its digest, SHA-256 of all its bytes:

    PUT /plans/{plan id}/batches/{digest}
    Authorization: Ed25519 <signature of plan id ‖ digest, 128 hex digits>

The collector knows the public keys of its shufflers. The signature says what is put where, and putting it
twice is putting it once, so there is nothing to gain from sending a request that was overheard.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Final

from coterie.plain.checks import SHA256_HEX
from coterie.plan import Plan
from coterie.wire.report_file import ReportFile
from coterie.wire.signing import is_signed, sign

MAGIC: Final = b"COTERIE-SHUFFLED"
MEDIA_TYPE: Final = "application/vnd.coterie.shuffled"
MOST_BATCH: Final = 1 << 30  # bytes of messages that a shuffler gathers for one batch

_LABEL: Final = "coterie/1/put-batch"
_AUTHORIZATION: Final = re.compile(r"[Ee][Dd]25519 ([0-9a-f]{128})")


@dataclass(frozen=True, slots=True)
class ShuffledFile(ReportFile):
    """A shuffled file whose header and length were checked."""

    magic: ClassVar[bytes] = MAGIC
    kind: ClassVar[str] = "a shuffled file (coterie shuffle writes one from report files)"

    @classmethod
    def width_of(cls, plan: Plan) -> int:
        """Return the bytes of one message."""
        return plan.message_width


def bytes_per_person(plan: Plan) -> int:
    """Return how many bytes of messages one person has in a batch.

    Examples
    --------
    >>> bytes_per_person(Plan.design(2, 2, 2.0, 60, model="shuffle", delta=1e-4))
    13
    """
    return plan.parameters.mixed_bytes


def batch_authorization(key: bytes, plan_id: str, digest: str) -> str:
    """Return the header with which the shuffler of this secret key puts a batch.

    Examples
    --------
    >>> from coterie.wire.signing import public_key
    >>> header = batch_authorization(bytes(32), "ab" * 32, "cd" * 32)
    >>> is_put_by([public_key(bytes(32))], header, "ab" * 32, "cd" * 32)
    True
    >>> is_put_by([public_key(bytes(32))], header, "ab" * 32, "ce" * 32)
    False
    """
    return f"Ed25519 {sign(key, _LABEL, _named(plan_id, digest)).hex()}"


def is_put_by(shufflers: Collection[bytes], header: str | None, plan_id: str, digest: str) -> bool:
    """Return whether a header is that of one of these public keys, for this batch of this plan."""
    found = _AUTHORIZATION.fullmatch(header or "")
    if found is None or not SHA256_HEX.fullmatch(digest):
        return False
    signature = bytes.fromhex(found[1])
    return any(is_signed(each, signature, _LABEL, _named(plan_id, digest)) for each in shufflers)


def _named(plan_id: str, digest: str) -> bytes:
    return bytes.fromhex(plan_id) + bytes.fromhex(digest)
