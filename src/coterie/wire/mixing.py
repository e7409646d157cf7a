"""What a shuffler says of itself: by which key, and at which address, reports of a plan are mixed.

    {"address": "https://shuffler.example", "issuers": [], "plan_id": "…", "public_key": "…",
     "signature": "…"}

signed over the canonical JSON of the rest. A device that knows the key of a shuffler it trusts need not trust
whoever handed it the plan and an address: it sends only where that key says that it mixes, and TLS sees to it
that nobody else answers there. `issuers` are those whose admissions it wants (`coterie.wire.admission`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from coterie.errors import PlanError, ReportError
from coterie.plain.canonical import canonical_bytes, parse_object
from coterie.plain.checks import checked_fields
from coterie.wire.signing import is_signed, signed_document

_LABEL: Final = "coterie/1/mixes-at"
_FIELDS: Final = ("address", "issuers", "plan_id", "public_key", "signature")


def mixing_statement(key: bytes, plan_id: str, address: str, issuers: Collection[bytes] = ()) -> bytes:
    """Return what the shuffler of this secret key says of a plan, canonical JSON."""
    said: dict[str, Any] = {
        "address": address,
        "issuers": [each.hex() for each in issuers],
        "plan_id": plan_id,
    }
    return signed_document(said, key, _LABEL)


def check_mixing(data: bytes, shufflers: Collection[str], plan_id: str, address: str) -> None:
    """Raise ReportError unless one of these keys, 64 hex digits each, says that it mixes the plan there.

    Examples
    --------
    >>> from coterie.wire.signing import public_key
    >>> said = mixing_statement(bytes(32), "ab" * 32, "https://shuffler.example")
    >>> check_mixing(said, [public_key(bytes(32)).hex()], "ab" * 32, "https://shuffler.example")
    >>> check_mixing(said, [public_key(bytes(32)).hex()], "ab" * 32, "https://analyst.example")
    Traceback (most recent call last):
    coterie.errors.ReportError: the shuffler says that it mixes this plan elsewhere; nothing was sent
    """
    try:
        said = dict(checked_fields("the statement", parse_object(data, "a shuffler's statement"), _FIELDS))
        signature, public = bytes.fromhex(said.pop("signature")), bytes.fromhex(said["public_key"])
        signed = canonical_bytes(said)
    except (PlanError, TypeError, ValueError):
        raise ReportError("this is no statement of a shuffler; nothing was sent") from None
    if public.hex() not in {key.lower() for key in shufflers}:
        raise ReportError("the service there has not the key of a shuffler that is trusted; nothing was sent")
    if not is_signed(public, signature, _LABEL, signed):
        raise ReportError(
            "the shuffler's statement was changed: its signature does not fit; nothing was sent"
        )
    if (said["plan_id"], said["address"]) != (plan_id, address):
        raise ReportError("the shuffler says that it mixes this plan elsewhere; nothing was sent")
