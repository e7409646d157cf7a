"""The `net-tree` report: its layout, and the public choices that its id makes.

Layout 1 (the plan's parameters say which):

    report = id (12 bytes) ‖ 2T bits, most significant first, padded with zeros to whole bytes
             bits 0..T-1: the histogram's answers of levels 1..T; bits T..2T-1: the vector sums'
             a bit 1 is the answer +1, a bit 0 the answer -1

    T    report        T     report
    ≤4   13 bytes      ≤12   15 bytes
    ≤8   14 bytes      ≤24   18 bytes

Public choices come from the report's stream (`coterie.wire.stream`). Blocks 0, 1, … give, bit by bit,

    T signs of the histogram, T signs of the vector sums (1 is -1), 4d' bits of root mask, T digit masks

(a mask's first bit is its most significant), and then each level has ⌈(d+1)/8⌉ blocks of big-endian 16-bit
words, d+1 of which are its direction (`coterie.randomizers.sphere.directions_of`).

A hostile sender can choose bits and an id. Each bit is ±1 whoever sent it, and an honest report may carry any
bits with any id: it moves every estimate by no more than an honest one can. (An id whose words all stand for
0 has no direction at a level; its vector bit there adds nothing.)
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.plan import Plan
from coterie.protocols.base import numbers_of_bits
from coterie.protocols.paper.net_tree.parameters import NetTreeParameters
from coterie.protocols.paper.nets.nets import ROOT_BITS
from coterie.protocols.paper.tree.parameters import TreeParameters
from coterie.randomizers.sphere import directions_of
from coterie.wire.stream import BLOCK_BITS, PublicStream

_WORDS_A_BLOCK: Final = BLOCK_BITS // 16


class PublicChoices(NamedTuple):
    """What the ids of n reports choose, besides directions."""

    count_signs: NDArray[np.int8]  # (n, T) of ±1
    vector_signs: NDArray[np.int8]  # (n, T) of ±1
    root_masks: NDArray[np.int64]  # (n,)
    digit_masks: NDArray[np.int64]  # (n, T)


class MaskStream:
    """Public choices of reports: bits of their own, then 4d' of a root mask and T digit masks of a path."""

    def __init__(self, plan: Plan, tree: TreeParameters, own: int) -> None:
        self._stream = PublicStream(plan.randomness_key())
        self._levels, self._own, self._root = tree.levels, own, own + ROOT_BITS * tree.projected
        self._digit = (tree.ratio**tree.projected - 1).bit_length()
        self._head = -(-(self._root + self._levels * self._digit) // BLOCK_BITS)  # blocks of all these bits

    def _read(self, ids: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Return the own bits, root masks and digit masks: (n, 12) -> (n, own), (n,), (n, T)."""
        blocks = self._stream.blocks(ids, 0, self._head).reshape(len(ids), -1)
        own, root, rest = np.split(np.unpackbits(blocks, axis=1), [self._own, self._root], axis=1)
        digits = rest[:, : self._levels * self._digit].reshape(len(ids), self._levels, self._digit)
        return own, numbers_of_bits(root), numbers_of_bits(digits)


class NetTreeStream(MaskStream):
    """The public choices under one plan. Holds no secret and no state; threads may share it.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=2.0, expected_users=10**5, protocol="net-tree")
    >>> stream = NetTreeStream(plan)
    >>> ids = np.zeros((5, 12), dtype=np.uint8)
    >>> stream.choices(ids).root_masks.shape, stream.directions(ids, level=1).shape
    ((5,), (5, 3))
    """

    def __init__(self, plan: Plan) -> None:
        parameters = NetTreeParameters.of(plan)
        super().__init__(plan, parameters, 2 * parameters.levels)
        self.lifted = plan.dimension + 1  # D
        self._width = -(-self.lifted // _WORDS_A_BLOCK)  # blocks of one direction

    def choices(self, ids: NDArray[np.uint8]) -> PublicChoices:
        """Return signs and masks: ids (n, 12)."""
        bits, *masks = self._read(ids)
        counts, vectors = np.hsplit(1 - 2 * bits.astype(np.int8), 2)
        return PublicChoices(counts, vectors, *masks)

    def directions(self, ids: NDArray[np.uint8], level: int) -> NDArray[np.int16]:
        """Return each report's public direction of a level: (n, 12) -> (n, D)."""
        blocks = self._stream.blocks(ids, self._head + (level - 1) * self._width, self._width)
        return directions_of(blocks.reshape(len(ids), -1), self.lifted)

    def all_directions(self, ids: NDArray[np.uint8]) -> NDArray[np.int16]:
        """Return the directions of all levels: (n, 12) -> (n, T, D)."""
        blocks = self._stream.blocks(ids, self._head, self._levels * self._width)
        return directions_of(blocks.reshape(len(ids), self._levels, -1), self.lifted)
