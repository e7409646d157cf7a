"""The `net-tree` report of layout 2, one codeword for one level, and the public choices that its id makes.

    report = id (12 bytes) ‖ index of a codeword (1 byte)

Public choices come from the report's stream (`coterie.wire.stream`). Blocks 0, 1, … give, bit by bit,

    32 bits of ticket: level = 1 + ticket mod T        1 bit of flip        4d' bits of root mask
    T digit masks of ⌈d'·log₂ q⌉ bits each             (a mask's first bit is its most significant)

From the next whole block on come 2P bits of signs (1 is -1), S₁ and S₂ of the report's own rotation
H·S₂·H·S₁ (`coterie.geometry.rotation`), and from the next whole block on 256 codewords of P bits (1 is +1).

A hostile sender can choose an index and an id: like an honest one, it adds one codeword to the estimates of
one level.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.hadamard import fwht
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.geometry.rotation import Rotation
from coterie.plan import Plan
from coterie.protocols.base import numbers_of_bits
from coterie.protocols.paper.net_tree.parameters import CodewordTreeParameters
from coterie.protocols.paper.net_tree.report import MaskStream
from coterie.randomizers.codeword import CODEWORDS
from coterie.wire.stream import BLOCK_BITS, BlockReader, signs_of

_TICKET_BITS: Final = 32


class LevelChoices(NamedTuple):
    """What the ids of n reports choose, besides rotations and codewords."""

    levels: NDArray[np.int64]  # (n,), 1..T
    signs: NDArray[np.int8]  # (n,) of ±1
    root_masks: NDArray[np.int64]  # (n,)
    digit_masks: NDArray[np.int64]  # (n, T)


class CodewordTreeStream(MaskStream):
    """The public choices under one plan. Holds no secret and no state; threads may share it.

    Examples
    --------
    >>> plan = Plan.design(2, 2, 2.0, 10**5, protocol="net-tree", randomizer="codeword")
    >>> stream = CodewordTreeStream(plan)
    >>> ids = np.zeros((5, 12), dtype=np.uint8)
    >>> stream.choices(ids).levels.shape, stream.codeword_blocks(5)(ids).shape
    ((5,), (5, 256, 16))
    """

    def __init__(self, plan: Plan) -> None:
        parameters = CodewordTreeParameters.of(plan)
        super().__init__(plan, parameters, _TICKET_BITS + 1)
        self.size = parameters.embedding  # P
        self.lifted = plan.dimension + EXTRA_COORDINATES  # D
        self._first_word = self._head + -(-2 * self.size // BLOCK_BITS)  # where codewords begin

    def choices(self, ids: NDArray[np.uint8]) -> LevelChoices:
        """Return level, sign and masks: ids (n, 12)."""
        bits, *masks = self._read(ids)
        levels = 1 + numbers_of_bits(bits[:, :_TICKET_BITS]) % self._levels
        return LevelChoices(levels, 1 - 2 * bits[:, _TICKET_BITS].astype(np.int8), *masks)

    def rotated(self, ids: NDArray[np.uint8], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn each vector by its report's own rotation, times P: (n, 12), (n, D) -> (n, P)."""
        return Rotation(*self._rotation_signs(ids)).apply(vectors)

    def turned_back(self, ids: NDArray[np.uint8], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return Rᵀv of the codeword v that each report names, RᵀR = 1: (n, 12), (n,) -> (n, D)."""
        first, second = self._rotation_signs(ids)
        named = signs_of(self._stream.named(ids, indices, self._first_word, self.size)).astype(np.float64)
        turned = fwht(fwht(named) * second)[:, : self.lifted]
        return np.asarray(turned * first[:, : self.lifted] / self.size)

    def codeword_blocks(self, people: int) -> BlockReader:
        """Return what reads all codewords of up to so many reports at a time, one after the other."""
        return self._stream.reader(people, self._first_word, CODEWORDS * self.size // BLOCK_BITS)

    def _rotation_signs(self, ids: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return S₁ and S₂ of each report: (n, P) of ±1 each."""
        blocks = self._stream.blocks(ids, self._head, self._first_word - self._head)
        signs = 1.0 - 2.0 * np.unpackbits(blocks.reshape(len(ids), -1), axis=1).astype(np.float64)
        return signs[:, : self.size], signs[:, self.size : 2 * self.size]
