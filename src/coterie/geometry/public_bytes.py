"""Public bytes from a key: block j = AES-128(key, j as 16 bytes, big-endian), one after the other.

For what a whole plan shares (a net's shift, a random subspace); a report's own stream is
`coterie.wire.stream`.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

_BLOCK = 16


def public_bytes(key: bytes, count: int, first_block: int = 0) -> NDArray[np.uint8]:
    """Return `count` bytes of the key's stream, from the start of block `first_block`.

    Examples
    --------
    >>> public_bytes(bytes(16), 4).tobytes().hex()
    '66e94bd4'
    """
    blocks = -(-count // _BLOCK)
    counters = b"".join(j.to_bytes(_BLOCK, "big") for j in range(first_block, first_block + blocks))
    stream = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(counters)  # noqa: S305 - a public stream, nothing is hidden
    return np.frombuffer(stream, dtype=np.uint8)[:count]
