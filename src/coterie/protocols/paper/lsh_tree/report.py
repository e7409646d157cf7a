"""The `lsh-tree` report: its layout, and the public choices that its id makes.

Layout 1:

    report = id (12 bytes) ‖ bits, most significant first, padded with zeros to whole bytes ‖ S index bytes
             bits: S histogram answers (none if joint), then S vector answers (djw); 1 is +1, 0 is -1
             index bytes: one codeword index an answer (privunit)

With the paper's choices that is 13 bytes, two of whose bits are the person's answer.

Public choices come from the report's stream (`coterie.wire.stream`). Block s, s = 0..S-1, is answer s's:

    bytes 0..3  ticket: level = 1 + ticket mod T where the users are split; else answer s is level s+1, or T
    bytes 4..7  mask, its last `level` bits; the sign of code c is (-1)^popcount(c & mask)
    byte 8      bit 0 flips the histogram's sign, bit 1 the vector's

so that the signs of any two codes of a level are independent fair coins, as ExplicitHist asks. Answer s's
direction (djw) is D big-endian 16-bit words from block S + s·⌈D/8⌉ on; its 256 codewords (privunit) are P
bits each from block S + s·2P on.

A hostile sender can choose answers and an id, and moves every estimate by no more than an honest one can.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.plan import Plan
from coterie.protocols.paper.lsh_tree.parameters import LshTreeParameters
from coterie.randomizers.codeword import CODEWORDS
from coterie.randomizers.sphere import directions_of
from coterie.wire.stream import BLOCK_BITS, PublicStream

_WORDS_A_BLOCK: Final = BLOCK_BITS // 16


class LshChoices(NamedTuple):
    """What the ids of n reports choose for one answer."""

    levels: NDArray[np.int64]  # (n,), 1..T
    masks: NDArray[np.int64]  # (n,), below 2^level
    count_signs: NDArray[np.int8]  # (n,) of ±1
    vector_signs: NDArray[np.int8]  # (n,) of ±1


class LshTreeStream:
    """The public choices under one plan. Holds no secret and no state; threads may share it.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=2.0, expected_users=10**5, protocol="lsh-tree")
    >>> stream = LshTreeStream(plan)
    >>> ids = np.zeros((5, 12), dtype=np.uint8)
    >>> stream.choices(ids, answer=0).masks.shape, stream.directions(ids, answer=0).shape
    ((5,), (5, 3))
    """

    def __init__(self, plan: Plan) -> None:
        self._parameters = LshTreeParameters.of(plan)
        self._stream = PublicStream(plan.randomness_key())
        self.lifted = self._parameters.lifted(plan.dimension)  # D
        self._width = -(-self.lifted // _WORDS_A_BLOCK)  # blocks of one direction

    def choices(self, ids: NDArray[np.uint8], answer: int) -> LshChoices:
        """Return level, mask and flips of one answer: ids (n, 12)."""
        block = self._stream.blocks(ids, answer, 1)[:, 0]  # (n, 16)
        words = np.ascontiguousarray(block[:, :8]).view(">u4").astype(np.int64)  # (n, 2)
        depth = self._parameters.levels
        if self._parameters.split == "users":
            levels = 1 + words[:, 0] % depth
        else:
            levels = np.full(len(ids), answer + 1 if self._parameters.split == "budget" else depth)
        signs = 1 - 2 * ((block[:, 8, None] >> np.array([0, 1], dtype=np.uint8)) & 1).astype(np.int8)
        return LshChoices(levels, words[:, 1] & ((1 << levels) - 1), signs[:, 0], signs[:, 1])

    def directions(self, ids: NDArray[np.uint8], answer: int) -> NDArray[np.int16]:
        """Return each report's public direction: (n, 12) -> (n, D)."""
        blocks = self._stream.blocks(ids, self._parameters.answers + answer * self._width, self._width)
        return directions_of(blocks.reshape(len(ids), -1), self.lifted)

    def codewords(self, ids: NDArray[np.uint8], answer: int) -> NDArray[np.uint8]:
        """Return all codewords of one answer, eight bits a byte: (n, 12) -> (n, N, P/8)."""
        size = self._parameters.embedding
        count = CODEWORDS * size // BLOCK_BITS
        blocks = self._stream.blocks(ids, self._parameters.answers + answer * count, count)
        return blocks.reshape(len(ids), CODEWORDS, size // 8)

    def chosen(self, ids: NDArray[np.uint8], answer: int, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the one codeword that each report names: (n, 12), (n,) -> (n, P/8)."""
        size = self._parameters.embedding
        first = self._parameters.answers + answer * CODEWORDS * size // BLOCK_BITS
        return self._stream.named(ids, indices, first, size)
