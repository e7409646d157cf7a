"""The manifest of a closed study: from it and the table anyone can recompute the centers.

    {"format": "coterie-manifest", "version": 1, "plan_id": …, "table": SHA-256 of the table file,
     "result": SHA-256 of the result, "counts": {…}, "closed": rounded time,
     "decoding": {"random_state": …, "software": …}, "centers": [[…], …],
     "public_key": …, "signature": …}

The signature (`wire/signing.py`) is under the canonical JSON of all other fields. The seed of decoding
follows from the plan id: nobody chose it after looking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from coterie import __version__
from coterie.aggregate import Aggregate
from coterie.errors import CoterieError, PlanError
from coterie.plain.canonical import canonical_bytes, parse_object
from coterie.plain.checks import checked_fields
from coterie.plan import Plan
from coterie.wire.signing import is_signed, public_key, sign

FORMAT: Final = "coterie-manifest"
VERSION: Final = 1
TOLERANCE: Final = 1e-9  # by which recomputed centers may differ, in radii of the ball

_LABEL: Final = "coterie/1/manifest"
_FIELDS: Final = (
    *("format", "version", "plan_id", "table", "result", "counts", "closed", "decoding", "centers"),
    *("public_key", "signature"),
)


class ManifestError(CoterieError):
    """A manifest is not whole, not signed, or does not fit its table."""


def decoding_seed(plan: Plan) -> int:
    """Return the seed of decoding, 32 bits that follow from the plan id.

    Examples
    --------
    >>> 0 <= decoding_seed(Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)) < 2**32
    True
    """
    return int.from_bytes(hashlib.sha256(b"coterie/1/decoding" + plan.id_bytes).digest()[:4], "big")


def make_manifest(
    plan: Plan,
    table: bytes,
    result: bytes,
    centers: list[list[float]],
    counts: Mapping[str, int],
    closed: int,
    key: bytes,
) -> bytes:
    """Return the signed manifest, canonical JSON."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "plan_id": plan.id,
        "table": hashlib.sha256(table).hexdigest(),
        "result": hashlib.sha256(result).hexdigest(),
        "counts": dict(counts),
        "closed": closed,
        "decoding": {"random_state": decoding_seed(plan), "software": f"coterie {__version__}"},
        "centers": centers,
        "public_key": public_key(key).hex(),
    }
    signature = sign(key, _LABEL, canonical_bytes(document))
    return canonical_bytes({**document, "signature": signature.hex()})


def read_manifest(data: bytes, key: str | None = None) -> dict[str, Any]:
    """Read a manifest and check its signature.

    Parameters
    ----------
    data : bytes
        The manifest.
    key : str, optional
        The public key that must have signed it, 64 hex digits.

    Raises
    ------
    ManifestError
        If it is no manifest, or not signed by its key, or by another key than `key`.
    """
    try:
        document = dict(checked_fields("manifest", parse_object(data, "a manifest"), _FIELDS))
    except PlanError as error:
        raise ManifestError(str(error)) from None
    if (document["format"], document["version"]) != (FORMAT, VERSION):
        raise ManifestError(f"this is no manifest of version {VERSION}")
    unsigned = {name: value for name, value in document.items() if name != "signature"}
    try:
        public, signature = bytes.fromhex(document["public_key"]), bytes.fromhex(document["signature"])
    except (TypeError, ValueError):
        raise ManifestError("public_key and signature must be hex digits") from None
    if not is_signed(public, signature, _LABEL, canonical_bytes(unsigned)):
        raise ManifestError("the signature does not fit: the manifest was changed")
    if key is not None and key.lower() != public.hex():
        raise ManifestError(f"signed by {public.hex()}, not by {key}")
    return document


def verify(data: bytes, table: bytes, key: str | None = None) -> float:
    """Check a manifest against its table: signature, digest, count, and the centers, computed again.

    Returns
    -------
    float
        By how much the recomputed centers differ, in radii of the ball; at most `TOLERANCE`.

    Raises
    ------
    ManifestError
        If anything does not fit.
    """
    from coterie.centers import decode

    manifest = read_manifest(data, key)
    if hashlib.sha256(table).hexdigest() != manifest["table"]:
        raise ManifestError("this is another table: its digest is not the manifest's")
    aggregate = Aggregate.from_bytes(table)
    if aggregate.plan.id != manifest["plan_id"]:
        raise ManifestError(f"the table is of plan {aggregate.plan.id}, not of {manifest['plan_id']}")
    counts, decoding = manifest["counts"], manifest["decoding"]
    if not isinstance(counts, Mapping) or counts.get("counted") != aggregate.count:
        raise ManifestError(f"the table holds {aggregate.count} reports, and the manifest counts others")
    seed = decoding_seed(aggregate.plan)
    if not isinstance(decoding, Mapping) or decoding.get("random_state") != seed:
        raise ManifestError(f"the seed of decoding must be {seed}, as follows from the plan")
    centers = decode(aggregate, random_state=seed).centers
    try:
        claimed = np.array(manifest["centers"], dtype=np.float64)
    except (TypeError, ValueError):
        raise ManifestError("centers must be rows of numbers") from None
    if claimed.shape != centers.shape:
        raise ManifestError(f"the table gives centers of shape {centers.shape}, not {claimed.shape}")
    away = float(np.abs(claimed - centers).max()) / aggregate.plan.radius
    if not away <= TOLERANCE:
        raise ManifestError(f"recomputed centers differ by {away:.3g} radii of the ball")
    return away
