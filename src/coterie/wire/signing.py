"""Signatures (Ed25519, RFC 8032) under what a collector publishes, so that others can tell who said it.

    signature = Ed25519(key, label ‖ 0x00 ‖ data)

The label says what is signed: a signature of one kind of document is none of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from coterie.plain.canonical import canonical_bytes

KEY_BYTES = 32
SIGNATURE_BYTES = 64


def new_key() -> bytes:
    """Return a new secret key, 32 bytes from the operating system's CSPRNG."""
    return Ed25519PrivateKey.generate().private_bytes_raw()


def public_key(key: bytes) -> bytes:
    """Return the public key, 32 bytes, of a secret one.

    Examples
    --------
    >>> public_key(bytes(32)).hex()[:16]
    '3b6a27bcceb6a42d'
    """
    return Ed25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw()


def sign(key: bytes, label: str, data: bytes) -> bytes:
    """Return the signature, 64 bytes, of `data` as a document of the kind `label`."""
    return Ed25519PrivateKey.from_private_bytes(key).sign(label.encode("ascii") + b"\x00" + data)


def signed_document(document: Mapping[str, Any], key: bytes, label: str) -> bytes:
    """Return canonical JSON of a document with the key's public half and its signature of all the rest."""
    said = {**document, "public_key": public_key(key).hex()}
    return canonical_bytes({**said, "signature": sign(key, label, canonical_bytes(said)).hex()})


def is_signed(public: bytes, signature: bytes, label: str, data: bytes) -> bool:
    """Return whether a signature is that of the public key under `data`.

    Examples
    --------
    >>> signature = sign(bytes(32), "note", b"hello")
    >>> is_signed(public_key(bytes(32)), signature, "note", b"hello")
    True
    >>> is_signed(public_key(bytes(32)), signature, "letter", b"hello")
    False
    """
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, label.encode("ascii") + b"\x00" + data)
    except (InvalidSignature, ValueError):  # or no public key
        return False
    return True
