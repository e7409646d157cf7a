"""Making the manifest of a closed study (`wire/manifest.py` says what it holds, and reads it).

The seed of decoding follows from the plan id: nobody chose it after looking.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from coterie import __version__
from coterie.plan import Plan
from coterie.wire.manifest import FORMAT, LABEL, VERSION, WAVES, read_manifest, waves_of
from coterie.wire.signing import signed_document

IN_WORDS: Final = ("groups", "everybody", "words")  # of a result: what follows from its other fields


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
    plan: Plan,
    table: bytes,
    result: bytes,
    counts: Mapping[str, int],
    closed: int,
    key: bytes,
    *,
    before: bytes | None = None,
) -> bytes:
    """Return the signed manifest of a table and the result that was decoded from it, canonical JSON.

    Where the result was decoded together with earlier waves of the study, `before` is the last one's.
    """
    stated = json.loads(result)
    wave = {
        "plan_id": plan.id,
        "table": hashlib.sha256(table).hexdigest(),
        "result": hashlib.sha256(result).hexdigest(),
        "counts": dict(counts),
        "closed": closed,
    }
    waves = [] if before is None else waves_of(read_manifest(before))
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": WAVES if waves else VERSION,
        **({"study_id": plan.study_id, "waves": [*waves, wave]} if waves else wave),
        "stated": {name: value for name, value in stated.items() if name not in IN_WORDS},
        "decoding": {"random_state": decoding_seed(plan), **environment()},
    }
    return signed_document(document, key, LABEL)
