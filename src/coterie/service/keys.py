"""The operator's token and the key of manifests: made once, kept in files that only the owner reads."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from coterie.errors import SettingError
from coterie.plain.files import read_bounded, write_whole
from coterie.wire.signing import KEY_BYTES, new_key

TOKEN_VARIABLE: Final = "COTERIE_OPERATOR_TOKEN"  # noqa: S105  # the name of a variable
SHORTEST_TOKEN: Final = 16  # characters
_MOST: Final = 4096


def operator_token(path: Path) -> str:
    """Return the operator's token: of the environment, of its file, or a new one that is kept there."""
    token = os.environ.get(TOKEN_VARIABLE)
    if token is None:
        token = _kept(path, lambda: secrets.token_urlsafe(32), "the operator's token")
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise SettingError(
            f"the operator's token must be {SHORTEST_TOKEN} or more ASCII characters; "
            f"take it from {TOKEN_VARIABLE} or {path}"
        )
    return token


def signing_key(path: Path) -> bytes:
    """Return the secret key of manifests, 32 bytes: of its file, in hex, or a new one that is kept there."""
    try:
        key = bytes.fromhex(_kept(path, lambda: new_key().hex(), "the key of manifests"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise SettingError(f"{path} must hold an Ed25519 key, {2 * KEY_BYTES} hex digits")
    return key


def is_operator(token: str, header: str | None) -> bool:
    """Return whether an Authorization header holds the token, in a time that does not depend on it.

    Examples
    --------
    >>> is_operator("a" * 32, "Bearer " + "a" * 32), is_operator("a" * 32, None)
    (True, False)
    """
    scheme, _, given = (header or "").partition(" ")
    same = hmac.compare_digest(_digest(given.strip()), _digest(token))
    return same and scheme.lower() == "bearer"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _kept(path: Path, make: Callable[[], str], what: str) -> str:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):  # another server was first
            write_whole(path, f"{make()}\n", 0o600, overwrite=False)
    return read_bounded(path, _MOST, what).decode("utf-8", "replace").strip()
