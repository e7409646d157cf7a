"""Admissions: what lets one report in at a shuffler that takes invited people only.

Whoever knows the people, the *issuer*, signs for each of them once, and does not see for what:

    device    blind = 16 secret bytes
              commitment = SHA-256("coterie/1/commitment" ‖ plan id ‖ report id ‖ blind)
    issuer    signature = Ed25519(key, "coterie/1/admission" ‖ 0x00 ‖ plan id ‖ commitment), once a person
    upload    signature (64 bytes) ‖ blind (16) ‖ report

An admission stands for one report id, and an id counts once: it can be sent again and lets nobody else in,
and the shuffler keeps nothing of it. The issuer knows who asked, not the id; the shuffler sees the id, not
who asked; the collector sees ids, which without the blind fit no commitment. Only issuer and shuffler
together can tell whose report it is.

It is no part of the report, which is the same with and without it, and no plan asks for it: which issuers a
shuffler heeds is its operator's matter.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ReportError
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES
from coterie.wire.signing import SIGNATURE_BYTES, is_signed, sign

BLIND_BYTES: Final = 16
COMMITMENT_BYTES: Final = 32
ADMISSION_BYTES: Final = SIGNATURE_BYTES + BLIND_BYTES

_COMMITMENT: Final = b"coterie/1/commitment"
_LABEL: Final = "coterie/1/admission"


class Asked(NamedTuple):
    """What a device sends to the issuer, and what it keeps to itself until it sends its report."""

    commitment: bytes
    blind: bytes

    def admission(self, signature: bytes) -> bytes:
        """Return what stands before the report in the upload, 80 bytes, once the issuer has signed."""
        if len(signature) != SIGNATURE_BYTES:
            raise ReportError(f"an issuer's signature has {SIGNATURE_BYTES} bytes")
        return signature + self.blind


def ask_for(plan: Plan, report: bytes) -> Asked:
    """Return what asks for the admission of one report, under a secret that the operating system draws.

    Examples
    --------
    >>> from coterie.wire.signing import public_key
    >>> plan = Plan.design(2, 2, 2.0, 60, model="shuffle", delta=1e-4)
    >>> asked = ask_for(plan, bytes(plan.report_width))
    >>> upload = asked.admission(sign_admission(bytes(32), plan, asked.commitment)) + bytes(plan.report_width)
    >>> rows = np.frombuffer(upload, dtype=np.uint8)[None]
    >>> [admitted_by([key], plan, rows).tolist() for key in (public_key(bytes(32)), bytes(32))]
    [[True], [False]]
    """
    blind = os.urandom(BLIND_BYTES)
    return Asked(_commitment(plan, report[:ID_BYTES], blind), blind)


def sign_admission(key: bytes, plan: Plan, commitment: bytes) -> bytes:
    """Return the issuer's signature, 64 bytes, under one person's commitment. Each person gets one."""
    if len(commitment) != COMMITMENT_BYTES:
        raise ReportError(f"a commitment has {COMMITMENT_BYTES} bytes")
    return sign(key, _LABEL, plan.id_bytes + commitment)


def admitted_by(issuers: Collection[bytes], plan: Plan, uploads: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which uploads one of these public keys admits: (n, 80 + report width) -> (n,)."""
    heads = [row.tobytes() for row in uploads[:, : ADMISSION_BYTES + ID_BYTES]]
    return np.array([_is_admitted(issuers, plan, head) for head in heads], dtype=np.bool_)


def _is_admitted(issuers: Collection[bytes], plan: Plan, head: bytes) -> bool:
    signature, blind, identity = head[:SIGNATURE_BYTES], head[SIGNATURE_BYTES:-ID_BYTES], head[-ID_BYTES:]
    data = plan.id_bytes + _commitment(plan, identity, blind)
    return any(is_signed(issuer, signature, _LABEL, data) for issuer in issuers)


def _commitment(plan: Plan, identity: bytes, blind: bytes) -> bytes:
    return hashlib.sha256(_COMMITMENT + plan.id_bytes + identity + blind).digest()
