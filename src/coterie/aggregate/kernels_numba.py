"""The table's heavy step compiled by numba; the same integers as `kernels_numpy`.

The second moment by counting bits: with column i of the signs as a bit string over the reports, Σ v_i·v_j =
n - 2·popcount(column_i XOR column_j), 64 reports an instruction and eight times that where the processor
counts bits in vectors. Getting columns out of rows is a transposition of bits, done in squares of 64 × 64.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.wire.kernels import compiled

_REPORTS_AT_A_TIME: Final = 4096  # 64 words a column: all columns together stay in a core's cache


class Accumulator:
    """Adds reports to a table, piece by piece, in memory of its own; see `kernels_numpy.Accumulator`."""

    def __init__(self, reports: int, embedding: int) -> None:
        self._moment = SecondMoment(embedding)

    def __call__(
        self,
        rows: NDArray[np.int64],
        flips: NDArray[np.uint8],
        packed: NDArray[np.uint8],
        sums: NDArray[np.int32],
        second: NDArray[np.int64] | None,
    ) -> None:
        """Add (-1)^flip·v to sums[row] and v·vᵀ to second, for every report's codeword v."""
        words = np.ascontiguousarray(packed).view(">u8").astype(np.uint64)  # (n, P/64), the first bit highest
        add_signs(rows, flips, words, sums)
        if second is not None:
            self._moment.add(words, second)


class SecondMoment:
    """Sums v·vᵀ over codewords of P = `embedding` signs."""

    def __init__(self, embedding: int) -> None:
        self._columns = np.empty((embedding, _REPORTS_AT_A_TIME // 64), dtype=np.uint64)
        self._square = np.empty(64, dtype=np.uint64)

    def add(self, words: NDArray[np.uint64], second: NDArray[np.int64]) -> None:
        """Add v·vᵀ of every row of `words`, (n, P/64), to `second`, (P, P)."""
        for start in range(0, len(words), _REPORTS_AT_A_TIME):
            piece = words[start : start + _REPORTS_AT_A_TIME]
            _transpose(piece, self._square, self._columns)
            _add_products(self._columns, len(piece), second)


@compiled
def add_signs(
    rows: NDArray[np.int64],  # (n,)
    flips: NDArray[np.uint8],  # (n,)
    words: NDArray[np.uint64],  # (n, P/64)
    sums: NDArray[np.int32],  # (rows, P)
) -> None:
    """Add (-1)^flip·v to sums[row] for every report."""
    for report in range(words.shape[0]):
        row = sums[rows[report]]
        turn = np.uint64(0) - np.uint64(flips[report])  # all ones where the signs are turned
        for part in range(words.shape[1]):
            word = words[report, part] ^ turn
            for bit in range(64):
                row[64 * part + bit] += np.int32(
                    np.int64(((word >> np.uint64(63 - bit)) & np.uint64(1)) << np.uint64(1)) - 1
                )


@compiled
def _transpose(
    words: NDArray[np.uint64],  # (n, P/64)
    square: NDArray[np.uint64],  # (64,), scratch
    columns: NDArray[np.uint64],  # (P, _REPORTS_AT_A_TIME / 64), out; 0 beyond the n-th report
) -> None:
    reports = words.shape[0]
    for group in range(columns.shape[1]):
        for part in range(words.shape[1]):
            for report in range(64):
                place = 64 * group + report
                square[report] = words[place, part] if place < reports else np.uint64(0)
            _transpose_square(square)
            for bit in range(64):
                columns[64 * part + bit, group] = square[bit]


@compiled
def _transpose_square(square: NDArray[np.uint64]) -> None:
    """Transpose 64 × 64 bits in place: swap off-diagonal quarters, then quarters of quarters, and so on."""
    width = np.uint64(32)
    mask = np.uint64(0x00000000FFFFFFFF)
    while width:
        for low in range(64):
            if low & np.int64(width) == 0:
                high = low + np.int64(width)
                swap = (square[low] ^ (square[high] >> width)) & mask
                square[low] ^= swap
                square[high] ^= swap << width
        width >>= np.uint64(1)
        mask ^= mask << width


@compiled
def _add_products(columns: NDArray[np.uint64], reports: int, second: NDArray[np.int64]) -> None:
    size, groups = columns.shape
    for i in range(size):
        second[i, i] += reports
        for j in range(i):
            differing = np.uint64(0)
            for group in range(groups):
                differing += _count_bits(columns[i, group] ^ columns[j, group])
            product = reports - 2 * np.int64(differing)
            second[i, j] += product
            second[j, i] += product


@compiled
def _count_bits(word: np.uint64) -> np.uint64:
    """Count the ones of a word; the compiler knows this pattern and uses the processor's own instruction."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
