"""The encoder's heavy steps compiled by numba; the same integers as `encode_numpy`.

A score is a sum over the ones of a codeword, sixteen at a time (`coterie.wire.lanes`). The index at a given
place is found without sorting: halve the range of keys and count those below, which is a fixed number of
vector instructions whatever the scores are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE_SQUARED
from coterie.geometry.lift import point_weight
from coterie.geometry.rotation import Rotation
from coterie.geometry.rounding import rounding_shift
from coterie.wire.kernels import compiled, compiled_in_any_order
from coterie.wire.lanes import sum_where

_Keys = NDArray[np.int32] | NDArray[np.int64]


class Embedder:
    """Makes of quantized points what codewords are scored against; see `encode_numpy.Embedder`."""

    def __init__(self, rotation: Rotation, dimension: int, count_weight: int) -> None:
        self._rotation = rotation
        self._count_weight = float(count_weight)
        self._point_weight = point_weight(count_weight)
        self._shift = rounding_shift(rotation.size)

    def __call__(self, quantized: NDArray[np.float64], odd: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Lift, rotate, round and, where `odd` is 1, negate: (n, d), (n,) -> (n, P)."""
        vectors = np.empty((len(quantized), self._rotation.size), dtype=np.int32)
        first, second = self._rotation.first, self._rotation.second
        _embed(quantized, odd, self._point_weight, self._count_weight, first, second, self._shift, vectors)
        return vectors


class Chooser:
    """Chooses indices, piece by piece, in memory of its own; see `encode_numpy.Chooser`."""

    def __init__(self, people: int, codewords: int, embedding: int) -> None:
        self._bits = (codewords - 1).bit_length()
        self._entries = np.empty(embedding, dtype=np.int32)
        # Scores are below 2^23: with up to eight bits of index a key fits 32 bits. Beyond that keys wrap, but
        # stay different: their last bits are the index.
        narrow = self._bits <= 8
        self._keys: _Keys = (
            np.empty(codewords, dtype=np.int32) if narrow else np.empty(codewords, dtype=np.int64)
        )
        self._limit = np.empty_like(self._keys[:1])

    def __call__(
        self,
        codewords: NDArray[np.uint8],
        vectors: NDArray[np.float64] | NDArray[np.int32],
        ranks: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return the index at place `ranks` of each person's order of scores."""
        chosen = np.empty(len(ranks), dtype=np.int64)
        integers = vectors.astype(np.int32, copy=False)
        packed = np.ascontiguousarray(codewords)
        _choose(packed, integers, ranks, self._bits, self._entries, self._keys, self._limit, chosen)
        return chosen


@compiled
def _embed(
    quantized: NDArray[np.float64],  # (n, d)
    odd: NDArray[np.uint8],  # (n,)
    weight: float,  # a
    count_weight: float,  # b
    first: NDArray[np.float64],  # (P,): S₁
    second: NDArray[np.float64],  # (P,): S₂
    shift: int,  # h
    vectors: NDArray[np.int32],  # (n, P), out
) -> None:
    dimension, size = quantized.shape[1], first.shape[0]
    lifted, scratch = np.empty(size), np.empty(size)
    half, scale = 2.0 ** (shift - 1), 0.5**shift
    for person in range(quantized.shape[0]):
        for i in range(dimension):
            lifted[i] = np.trunc(quantized[person, i] * weight)
        used = _square(lifted, dimension) + count_weight * count_weight
        lifted[dimension] = count_weight
        lifted[dimension + 1] = np.floor(np.sqrt(SCALE_SQUARED - used))
        for i in range(dimension + 2, size):
            lifted[i] = 0.0
        for i in range(size):
            lifted[i] *= first[i]
        _transform(lifted, scratch)
        for i in range(size):
            lifted[i] *= second[i]
        _transform(lifted, scratch)
        sign = 1 - 2 * np.int32(odd[person])
        for i in range(size):
            vectors[person, i] = sign * np.int32(np.floor((lifted[i] + half) * scale))


@compiled_in_any_order
def _square(values: NDArray[np.float64], count: int) -> float:
    """Return the sum of the first `count` squares: integers below 2^53, whatever the order."""
    total = 0.0
    for i in range(count):
        total += values[i] * values[i]
    return total


@compiled
def _transform(values: NDArray[np.float64], scratch: NDArray[np.float64]) -> None:
    """Transform in place (`coterie.geometry.hadamard`).

    A stage adds and subtracts neighbours, sums to the first half and differences to the second: it does the
    last bit of the index and moves it to the front. After as many stages as bits all are in place again.
    """
    stages = 0
    while 1 << stages < values.shape[0]:
        if stages & 1:
            _stage(scratch, values)
        else:
            _stage(values, scratch)
        stages += 1
    if stages & 1:
        for i in range(values.shape[0]):  # the whole at once would take two seconds to compile
            values[i] = scratch[i]


@compiled
def _stage(before: NDArray[np.float64], after: NDArray[np.float64]) -> None:
    half = before.shape[0] // 2
    for i in range(half):
        even, odd = before[2 * i], before[2 * i + 1]
        after[i] = even + odd
        after[half + i] = even - odd


@compiled
def _choose(
    packed: NDArray[np.uint8],  # (n, N, P/8)
    vectors: NDArray[np.int32],  # (n, P)
    ranks: NDArray[np.int64],  # (n,)
    index_bits: int,
    entries: NDArray[np.int32],  # (P,), scratch
    keys: _Keys,  # (N,), scratch
    limit: _Keys,  # (1,), scratch of the keys' type
    chosen: NDArray[np.int64],  # (n,), out
) -> None:
    people, count, width = packed.shape
    for person in range(people):
        for i in range(entries.shape[0]):
            entries[i] = vectors[person, i ^ 7]  # the order of lanes
        codewords = packed[person].reshape(-1)
        for index in range(count):
            # The score negated, halved and shifted: the order is the same, the smallest first.
            cost = -sum_where(codewords, index * width, entries)
            keys[index] = (cost << index_bits) + index
        # All that a key can be, whatever the scores are (32 bits, and those of the index): places then always
        # name N different indices, on which the privacy of the draw rests.
        reach = 31 if index_bits <= 8 else 31 + index_bits
        low, high = -(1 << reach), (1 << reach) - 1
        while low < high:
            middle = (low + high) >> 1
            limit[0] = middle
            if _count_up_to(keys, limit) > ranks[person]:
                high = middle
            else:
                low = middle + 1
        chosen[person] = low & ((1 << index_bits) - 1)


@compiled
def _count_up_to(keys: _Keys, limit: _Keys) -> np.int32:
    bound = limit[0]
    total = np.int32(0)
    for index in range(keys.shape[0]):
        total += np.int32(keys[index] <= bound)
    return total
