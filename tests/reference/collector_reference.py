"""What a collector signs, straight from docs/wire-format.md; independent of the package.

Ed25519 and SHA-256 are taken from elsewhere.
"""

import hashlib
import json

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def canonical(value: object) -> str:
    """RFC 8785 for what occurs here: ASCII, integers, and doubles that Python prints as ECMAScript does."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def public_key(key: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw()


def signature(key: bytes, label: str, data: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(key).sign(label.encode("ascii") + b"\0" + data)


def decoding_seed(plan_id: bytes) -> int:
    return int.from_bytes(hashlib.sha256(b"coterie/1/decoding" + plan_id).digest()[:4], "big")


def signed(document: dict, key: bytes, label: str = "coterie/1/manifest") -> tuple[bytes, str]:
    """The bytes that are signed, and the whole manifest."""
    unsigned = canonical({**document, "public_key": public_key(key).hex()})
    full = {**json.loads(unsigned), "signature": signature(key, label, unsigned.encode()).hex()}
    return label.encode("ascii") + b"\0" + unsigned.encode(), canonical(full)


def put_batch(key: bytes, plan_id: bytes, digest: bytes) -> str:
    """The header with which a shuffler puts a batch."""
    return f"Ed25519 {signature(key, 'coterie/1/put-batch', plan_id + digest).hex()}"
