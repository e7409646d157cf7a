"""The encoder's heavy step compiled by numba; the same integers as `kernels_numpy`.

A person's score is a sum over bytes of the codeword: a table of 256 partial sums for each of the P/8 byte
positions turns P additions into P/8 look-ups. The index at a given place is found without sorting: halve
the range of keys and count those below, which is a fixed number of vector instructions whatever the scores
are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.wire.kernels import compiled

_Keys = NDArray[np.int32] | NDArray[np.int64]


class Chooser:
    """Chooses indices, piece by piece, in memory of its own; see `kernels_numpy.Chooser`."""

    def __init__(self, people: int, codewords: int, embedding: int) -> None:
        self._bits = (codewords - 1).bit_length()
        self._table = np.empty((embedding // 8, 256), dtype=np.int32)
        # Scores are below 2^23: with up to eight bits of index a key fits 32 bits. Beyond that keys wrap, but
        # stay different: their last bits are the index.
        narrow = self._bits <= 8
        self._keys: _Keys = (
            np.empty(codewords, dtype=np.int32) if narrow else np.empty(codewords, dtype=np.int64)
        )
        self._limit = np.empty_like(self._keys[:1])

    def __call__(
        self, codewords: NDArray[np.uint8], vectors: NDArray[np.float64], ranks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the index at place `ranks` of each person's order of scores."""
        chosen = np.empty(len(ranks), dtype=np.int64)
        integers = vectors.astype(np.int32)
        # Eight bytes a load; the first byte lowest.
        words = np.ascontiguousarray(codewords).view("<u8").astype(np.uint64, copy=False)
        _choose(words, integers, ranks, self._bits, self._table, self._keys, self._limit, chosen)
        return chosen


@compiled
def _choose(
    words: NDArray[np.uint64],  # (n, N, P/64)
    vectors: NDArray[np.int32],  # (n, P)
    ranks: NDArray[np.int64],  # (n,)
    index_bits: int,
    table: NDArray[np.int32],  # (P/8, 256), scratch
    keys: _Keys,  # (N,), scratch
    limit: _Keys,  # (1,), scratch of the keys' type
    chosen: NDArray[np.int64],  # (n,), out
) -> None:
    people, count, width = words.shape
    for person in range(people):
        _fill_table(vectors[person], table)
        for index in range(count):
            cost = 0  # the score negated, halved and shifted: the order is the same, the smallest first
            for part in range(width):
                word = words[person, index, part]
                for byte in range(8):
                    cost += table[8 * part + byte, (word >> np.uint64(8 * byte)) & np.uint64(255)]
            keys[index] = (cost << index_bits) + index
        # All that a key can be, whatever the scores are (2^12 entries of 2^31, twelve bits of index): places
        # then always name N different indices, on which the privacy of the draw rests.
        reach = 31 if index_bits <= 8 else 56
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
def _fill_table(vector: NDArray[np.int32], table: NDArray[np.int32]) -> None:
    """Fill table[g, byte] = -Σ of the vector's entries 8g..8g+7 where the byte has a 1, by doubling."""
    for position in range(table.shape[0]):
        row = table[position]
        row[0] = 0
        for bit in range(8):
            entry = vector[8 * position + 7 - bit]
            size = 1 << bit
            for byte in range(size):
                row[size + byte] = row[byte] - entry


@compiled
def _count_up_to(keys: _Keys, limit: _Keys) -> np.int32:
    bound = limit[0]
    total = np.int32(0)
    for index in range(keys.shape[0]):
        total += np.int32(keys[index] <= bound)
    return total
