"""The manifest of a closed study: from it and the table anyone can recompute the result (`verify`).

    {"format": "coterie-manifest", "version": 2, "plan_id": …, "table": SHA-256 of the table file,
     "result": SHA-256 of the result, "stated": {centers, weights, errors, … as the result has them},
     "counts": {…}, "closed": rounded time,
     "decoding": {"random_state": …, "coterie": version, "numpy": version, …, "processor": …, "blas": …},
     "public_key": …, "signature": …}

The signature (`wire/signing.py`) is under the canonical JSON of all other fields. What the result says in
words follows from what is stated and is signed by its digest. Version 1 had the centers alone ("centers"),
and the software.

Version 3 is of a study of several plans that were decoded together. In the place of plan, table, result,
counts and time it has "study_id" and "waves", which has those of each plan in order; the result of the last
is what is stated, those before it are what the next plan was made from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from coterie.errors import ManifestError, PlanError
from coterie.plain.canonical import canonical_bytes, parse_object, shown
from coterie.plain.checks import checked_fields, checked_list
from coterie.wire.signing import is_signed

FORMAT: Final = "coterie-manifest"
VERSION: Final = 2
CENTERS_ALONE: Final = 1
WAVES: Final = 3  # of several plans
LABEL: Final = "coterie/1/manifest"

_WAVE: Final = ("plan_id", "table", "result", "counts", "closed")
_COMMON: Final = ("format", "version", "decoding", "public_key", "signature")
_FIELDS: Final = {
    CENTERS_ALONE: (*_COMMON, *_WAVE, "centers"),
    VERSION: (*_COMMON, *_WAVE, "stated"),
    WAVES: (*_COMMON, "study_id", "waves", "stated"),
}


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
        document = parse_object(data, "a manifest")
        fields = _FIELDS.get(document.get("version", VERSION), _FIELDS[VERSION])
        document = dict(checked_fields("manifest", document, fields))
        unsigned = canonical_bytes({name: value for name, value in document.items() if name != "signature"})
    except (TypeError, ValueError) as error:  # half a surrogate pair has no canonical form, say
        raise ManifestError(f"this is no manifest: {error}") from None
    if document["format"] != FORMAT or document["version"] not in _FIELDS:
        raise ManifestError(f"this is no manifest of version {CENTERS_ALONE} to {WAVES}")
    try:
        public, signature = bytes.fromhex(document["public_key"]), bytes.fromhex(document["signature"])
    except (TypeError, ValueError):
        raise ManifestError("public_key and signature must be hex digits") from None
    if not is_signed(public, signature, LABEL, unsigned):
        raise ManifestError("the signature does not fit: the manifest was changed")
    if key is not None and key.lower() != public.hex():
        raise ManifestError(f"signed by {public.hex()}, not by {shown(key)}")
    return document


def waves_of(manifest: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return plan, digests, counts and time of closing of each wave that a manifest is of, in order."""
    if manifest["version"] != WAVES:
        return [{name: manifest[name] for name in _WAVE}]
    try:
        waves = [checked_fields("a wave", each, _WAVE) for each in checked_list("waves", manifest["waves"])]
    except PlanError as error:
        raise ManifestError(f"this is no manifest: {error}") from None
    if len(waves) < 2:
        raise ManifestError("a manifest of version 3 is of two waves or more")
    return waves
