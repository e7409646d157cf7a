"""The public stream: what everyone who sees a report's id can regenerate.

    block j = AES-128(key, id ‖ j),   id 12 bytes, j 4 bytes big-endian

Block 0 tells the report's row of the table and its flip; blocks 1, 2, 3, … are the codewords, P bits each,
one after the other (bit 1 is +1, bit 0 is -1). AES is here a fast public function with random-looking
output, in hardware on every device and in WebCrypto; nothing is hidden by it. One ECB call serves any
number of reports, and the server decrypts nothing: it asks for the P/128 blocks of the one codeword a
report names.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from coterie.wire.layout import ID_BYTES
from coterie.wire.rows import Places, Rows

BLOCK_BYTES: Final = 16
BLOCK_BITS: Final = 128

# Row b holds the eight signs of byte b, most significant bit first.
_SIGNS_OF_BYTE: Final = (
    2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32) - 1
)


class PublicStream:
    """The stream under one plan's public key. Holds no state besides the key; threads may share it.

    Parameters
    ----------
    key : bytes
        16 bytes, from the plan.

    Examples
    --------
    >>> stream = PublicStream(bytes(16))
    >>> stream.blocks(np.zeros((1, 12), dtype=np.uint8), first=0, count=2)[0, 0].tobytes().hex()
    '66e94bd4ef8a2c3b884cfa59ca342b2e'
    """

    __slots__ = ("_cipher",)

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305 - a public stream, nothing is hidden

    def blocks(self, ids: NDArray[np.uint8], first: int, count: int) -> NDArray[np.uint8]:
        """Return blocks first, …, first + count - 1 of every id: (n, 12) -> (n, count, 16)."""
        counters = np.arange(first, first + count, dtype=">u4")
        return self._encrypt(ids, np.broadcast_to(counters, (len(ids), count)))

    def blocks_at(self, ids: NDArray[np.uint8], counters: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the blocks each report asks for: (n, 12), (n, c) -> (n, c, 16)."""
        return self._encrypt(ids, counters.astype(">u4"))

    def choices(self, ids: NDArray[np.uint8], rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return each report's public row (n,) and flip (n,) in {0, 1}, from its block 0."""
        return rows.read(self.blocks(ids, 0, 1)[:, 0])

    def places(self, ids: NDArray[np.uint8], rows: Rows) -> Places:
        """Return each report's public view (n,), its mask there (n,) and flip (n,), from its block 0."""
        return rows.places(self.blocks(ids, 0, 1)[:, 0])

    def reader(self, people: int, first: int, count: int) -> BlockReader:
        """Return `blocks` for up to so many reports at a time, into memory of its own."""
        return BlockReader(self.text(people, count), first)

    def text(self, people: int, count: int) -> BlockText:
        """Return memory for `count` blocks of up to so many reports at a time."""
        return BlockText(self._cipher, people, count)

    def chosen(
        self, ids: NDArray[np.uint8], indices: NDArray[np.int64], rows: Rows, embedding: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]:
        """Return row (n,), flip (n,) and the one codeword each report names, packed (n, P/8), by one call."""
        width = embedding // BLOCK_BITS  # blocks a codeword
        counters = np.zeros((len(ids), 1 + width), dtype=np.int64)
        counters[:, 1:] = (1 + indices * width)[:, None] + np.arange(width)
        blocks = self.blocks_at(ids, counters)
        row, flip = rows.read(blocks[:, 0])
        return row, flip, blocks[:, 1:].reshape(len(ids), embedding // 8)

    def named(
        self, ids: NDArray[np.uint8], indices: NDArray[np.int64], first: int, size: int
    ) -> NDArray[np.uint8]:
        """Return the one codeword each report names of those from block `first` on: (n,) -> (n, size/8)."""
        width = size // BLOCK_BITS  # blocks a codeword
        counters = (first + indices * width)[:, None] + np.arange(width)
        return self.blocks_at(ids, counters).reshape(len(ids), size // 8)

    def _encrypt(self, ids: NDArray[np.uint8], counters: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """Encrypt id ‖ counter for big-endian counters (n, c): -> (n, c, 16)."""
        text = self.text(*counters.shape)
        opening = np.zeros((len(ids), 1, BLOCK_BYTES), dtype=np.uint8)
        opening[:, 0, :ID_BYTES] = ids
        # As 16-byte numbers: numpy then copies a block at a time instead of byte by byte.
        text.plain.view(np.complex128)[...] = opening.view(np.complex128)
        text.plain.view(np.uint32)[:, :, -1] = counters.view(np.uint32)  # as they lie, big-endian already
        return text.encrypted(len(ids))


class BlockText:
    """Memory for what is encrypted and what comes of it, to be used again and again; each thread has one.

    Parameters
    ----------
    cipher : Cipher
        The stream's.
    people : int
        The most reports at a time.
    count : int
        Blocks of each.

    Attributes
    ----------
    plain : ndarray of uint8, shape (people, count, 16)
        To be written: id ‖ j.
    """

    __slots__ = ("_cipher_text", "_encryptor", "plain")

    def __init__(self, cipher: Cipher[modes.ECB], people: int, count: int) -> None:
        self._encryptor = cipher.encryptor()
        self.plain = np.empty((people, count, BLOCK_BYTES), dtype=np.uint8)
        # update_into asks for a spare block at the end, and spares the copy that update makes.
        self._cipher_text = np.empty(self.plain.nbytes + BLOCK_BYTES - 1, dtype=np.uint8)

    def encrypted(self, people: int) -> NDArray[np.uint8]:
        """Return the blocks of the first reports, (people, count, 16); they hold until the next call."""
        plain = self.plain[:people]
        self._encryptor.update_into(plain.reshape(-1).data, self._cipher_text.data)
        return self._cipher_text[: plain.nbytes].reshape(plain.shape)


class BlockReader:
    """`PublicStream.blocks` into memory of its own, for doing it again and again; each thread has one.

    Of the text that is encrypted only the ids change, so the counters are written once. What is returned
    holds until the next call.

    Parameters
    ----------
    text : BlockText
        The memory.
    first : int
        Blocks first, first + 1, … are read.
    """

    __slots__ = ("_text",)

    def __init__(self, text: BlockText, first: int) -> None:
        self._text = text
        text.plain.view(">u4")[:, :, -1] = np.arange(first, first + text.plain.shape[1])

    def __call__(self, ids: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the blocks of every id: (n, 12) -> (n, count, 16)."""
        plain, words = self._text.plain[: len(ids)], np.ascontiguousarray(ids).view(np.uint32)  # (n, 3)
        # Eight bytes and four: numpy copies numbers far faster than bytes.
        plain.view(np.uint64)[:, :, 0] = np.ascontiguousarray(words[:, :2]).view(np.uint64)
        plain.view(np.uint32)[:, :, 2] = words[:, 2:]
        return self._text.encrypted(len(ids))


def signs_of(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Read packed bits as signs, 1 as +1 and 0 as -1: (..., b) -> (..., 8b).

    Examples
    --------
    >>> signs_of(np.array([0b10000001], dtype=np.uint8)).tolist()
    [1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 1.0]
    """
    return SignReader(packed.size)(packed)


class SignReader:
    """`signs_of` into memory of its own, for doing it again and again.

    Megabytes asked of the system and given back for every piece of a batch cost more time than filling them
    does, most of all where several threads do so. What is returned holds until the next call.

    Parameters
    ----------
    size : int
        The most bytes to be read at a time.
    """

    __slots__ = ("_indices", "_signs")

    def __init__(self, size: int) -> None:
        self._indices = np.empty(size, dtype=np.intp)
        self._signs = np.empty((size, 8), dtype=np.float32)

    def __call__(self, packed: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Read packed bits as signs: (..., b) -> (..., 8b)."""
        indices, signs = self._indices[: packed.size], self._signs[: packed.size]
        indices[:] = packed.reshape(-1)
        np.take(_SIGNS_OF_BYTE, indices, axis=0, out=signs, mode="clip")  # clips nothing, and needs no copy
        return signs.reshape(*packed.shape[:-1], 8 * packed.shape[-1])
