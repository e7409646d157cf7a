"""The manifest of a closed study: from it and the table anyone can recompute the result (`verify`).

    {"format": "coterie-manifest", "version": 2, "plan_id": …, "table": SHA-256 of the table file,
     "result": SHA-256 of the result, "stated": {centers, weights, errors, … as the result has them},
     "counts": {…}, "closed": rounded time,
     "decoding": {"random_state": …, "coterie": version, "numpy": version, …, "processor": …, "blas": …},
     "public_key": …, "signature": …}

The signature (`wire/signing.py`) is under the canonical JSON of all other fields. The seed of decoding
follows from the plan id: nobody chose it after looking. What the result says in words follows from what is
stated and is signed by its digest. Version 1 had the centers alone ("centers"), and the software.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from coterie import __version__
from coterie.errors import ManifestError
from coterie.plain.canonical import canonical_bytes, parse_object, shown
from coterie.plain.checks import checked_fields
from coterie.plan import Plan
from coterie.wire.signing import is_signed, public_key, sign

FORMAT: Final = "coterie-manifest"
VERSION: Final = 2
EARLIER: Final = 1
IN_WORDS: Final = ("groups", "everybody", "words")  # of a result: what follows from its other fields

_LABEL: Final = "coterie/1/manifest"
_COMMON: Final = (
    *("format", "version", "plan_id", "table", "result", "counts", "closed", "decoding"),
    *("public_key", "signature"),
)
_FIELDS: Final = {EARLIER: (*_COMMON, "centers"), VERSION: (*_COMMON, "stated")}


def decoding_seed(plan: Plan) -> int:
    """Return the seed of decoding, 32 bits that follow from the plan id.

    Examples
    --------
    >>> 0 <= decoding_seed(Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)) < 2**32
    True
    """
    return int.from_bytes(hashlib.sha256(b"coterie/1/decoding" + plan.id_bytes).digest()[:4], "big")


def environment() -> dict[str, str]:
    """Return what the last digits of a decoding depend on besides the table: libraries and processor.

    Examples
    --------
    >>> sorted(environment())
    ['blas', 'coterie', 'libc', 'machine', 'numpy', 'processor', 'scikit-learn', 'scipy']
    """
    import numpy as np
    import scipy.linalg  # noqa: F401  # brings its own BLAS
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    found: Any = np.show_config(mode="dicts")
    blas = {
        f"{each['internal_api']} {each['architecture']}"
        for each in threadpool_info()
        if "architecture" in each
    }
    return {
        "coterie": __version__,
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        "processor": " ".join(found["SIMD Extensions"].get("found", ())),  # what numpy makes use of
        "blas": ", ".join(sorted(blas)),
    }


def make_manifest(
    plan: Plan, table: bytes, result: bytes, counts: Mapping[str, int], closed: int, key: bytes
) -> bytes:
    """Return the signed manifest of a table and the result that was decoded from it, canonical JSON."""
    stated = json.loads(result)
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "plan_id": plan.id,
        "table": hashlib.sha256(table).hexdigest(),
        "result": hashlib.sha256(result).hexdigest(),
        "stated": {name: value for name, value in stated.items() if name not in IN_WORDS},
        "counts": dict(counts),
        "closed": closed,
        "decoding": {"random_state": decoding_seed(plan), **environment()},
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
        document = parse_object(data, "a manifest")
        fields = _FIELDS.get(document.get("version", VERSION), _FIELDS[VERSION])
        document = dict(checked_fields("manifest", document, fields))
        unsigned = canonical_bytes({name: value for name, value in document.items() if name != "signature"})
    except (TypeError, ValueError) as error:  # half a surrogate pair has no canonical form, say
        raise ManifestError(f"this is no manifest: {error}") from None
    if document["format"] != FORMAT or document["version"] not in _FIELDS:
        raise ManifestError(f"this is no manifest of version {EARLIER} or {VERSION}")
    try:
        public, signature = bytes.fromhex(document["public_key"]), bytes.fromhex(document["signature"])
    except (TypeError, ValueError):
        raise ManifestError("public_key and signature must be hex digits") from None
    if not is_signed(public, signature, _LABEL, unsigned):
        raise ManifestError("the signature does not fit: the manifest was changed")
    if key is not None and key.lower() != public.hex():
        raise ManifestError(f"signed by {public.hex()}, not by {shown(key)}")
    return document
