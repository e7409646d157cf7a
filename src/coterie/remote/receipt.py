"""Receipts: what a person keeps of a report, to withdraw it before the study closes.

    coterie-receipt-1.<plan id>.<what was sent, in hex>

Whoever holds the bytes that were sent may withdraw them: the id in them is 96 random bits that only the
device and the collector have seen. So a receipt is kept as the report is, and says no more than it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from coterie.errors import ReportError
from coterie.plan import Plan

_TEXT: Final = re.compile(r"coterie-receipt-1\.([0-9a-f]{64})\.((?:[0-9a-f]{2}){13,100000})")


@dataclass(frozen=True, slots=True)
class Receipt:
    """One person's receipt.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> receipt = Receipt.of(plan, bytes(13))
    >>> Receipt.read(str(receipt)) == receipt
    True
    """

    plan_id: str
    upload: bytes  # what was sent: the report, after its token if there is one

    @classmethod
    def of(cls, plan: Plan, upload: bytes) -> Self:
        """Return the receipt of what was sent for a plan."""
        if len(upload) != plan.upload_width:
            raise ReportError(f"what is sent for this plan has {plan.upload_width} bytes, got {len(upload)}")
        return cls(plan.id, upload)

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a receipt.

        Raises
        ------
        ReportError
            If it is none; it is not quoted.
        """
        found = _TEXT.fullmatch(text.strip())
        if not found:
            raise ReportError("this is no receipt: it starts with coterie-receipt-1. and has three parts")
        return cls(found[1], bytes.fromhex(found[2]))

    def __str__(self) -> str:
        return f"coterie-receipt-1.{self.plan_id}.{self.upload.hex()}"
