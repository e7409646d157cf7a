"""The table's heavy step compiled by numba; the same integers as `table_numpy`.

Signs are added sixteen at a time (`coterie.wire.lanes`), to sums in the order of lanes.

The second moment by counting bits: with column i of the signs as a bit string over the reports, Σ v_i·v_j =
n - 2·popcount(column_i XOR column_j), 64 reports an instruction and eight times that where the processor
counts bits in vectors. Getting columns out of rows is a transposition of bits, done in squares of 64 × 64,
eight of them at a time.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.wire.kernels import compiled
from coterie.wire.lanes import add_signs, lane_order
from coterie.wire.layout import ID_BYTES
from coterie.wire.rows import Rows
from coterie.wire.stream import BLOCK_BITS, BLOCK_BYTES, PublicStream

_REPORTS_AT_A_TIME: Final = 4096  # 64 words a column: all columns together stay in a core's cache
_SQUARES: Final = 8  # transposed at a time: as many words as the widest vectors hold


class Accumulator:
    """Adds reports up, piece by piece, in memory of its own; see `table_numpy.Accumulator`."""

    def __init__(self, reports: int, stream: PublicStream, rows: Rows, embedding: int, second: bool) -> None:
        self._rows = rows
        self._text = stream.text(reports, 1 + embedding // BLOCK_BITS)
        self._sums = np.zeros((rows.count, embedding), dtype=np.int32)  # in the order of lanes
        self._counts = np.zeros(rows.count, dtype=np.int64)
        self._moment = SecondMoment(embedding) if second else None

    def add(self, reports: NDArray[np.uint8]) -> None:
        """Add reports: (n, width)."""
        rows = self._rows
        # Writeable, at the cost of a copy: for arrays that are not, numba would compile everything once more.
        write_text(np.require(reports, requirements=["C", "W"]), self._text.plain.view(np.uint64))
        blocks = self._text.encrypted(len(reports))
        blocks = blocks.reshape(len(reports), -1)
        add_to_rows(blocks, rows.tickets, rows.masks, rows.firsts, self._sums, self._counts)
        if self._moment is not None:
            self._moment.add(blocks.view(np.uint64)[:, BLOCK_BYTES // 8 :])

    def hand_over(
        self, sums: NDArray[np.int64], counts: NDArray[np.int64], second: NDArray[np.int64] | None
    ) -> None:
        """Add what was added up to a table's arrays, and begin anew."""
        sums += self._sums[:, lane_order(self._sums.shape[1])]
        counts += self._counts
        self._sums[:] = self._counts[:] = 0
        if self._moment is not None and second is not None:
            self._moment.hand_over(second)


class SecondMoment:
    """Sums v·vᵀ over codewords of P = `embedding` signs."""

    def __init__(self, embedding: int) -> None:
        self._columns = np.empty((embedding, _REPORTS_AT_A_TIME // 64), dtype=np.uint64)
        self._squares = np.empty((64, _SQUARES), dtype=np.uint64)
        self._differing = np.zeros((embedding, embedding), dtype=np.int64)  # pairs of signs, j < i
        self._reports = 0

    def add(self, words: NDArray[np.uint64]) -> None:
        """Add v·vᵀ of every row of `words`, (n, P/64), the bits as the stream has them."""
        for start in range(0, len(words), _REPORTS_AT_A_TIME):
            _transpose(words[start : start + _REPORTS_AT_A_TIME], self._squares, self._columns)
            _count_differing(self._columns, self._differing)
        self._reports += len(words)

    def hand_over(self, second: NDArray[np.int64]) -> None:
        """Add what was added up to `second`, (P, P), and begin anew."""
        second += self._reports - 2 * (self._differing + self._differing.T)
        self._differing[:] = self._reports = 0


@compiled
def write_text(
    reports: NDArray[np.uint8],  # (n, width)
    plain: NDArray[np.uint64],  # (at least n, blocks, 2), out: id ‖ j for j = 0 and the codeword's blocks
) -> None:
    """Write what is encrypted to the blocks that reports ask for: block 0 and those of their codewords."""
    blocks = plain.shape[1]
    for number in range(reports.shape[0]):
        report = reports[number]
        head = np.uint64(0)
        for byte in range(8):
            head |= np.uint64(report[byte]) << np.uint64(8 * byte)
        tail = np.uint64(0)
        for byte in range(4):
            tail |= np.uint64(report[8 + byte]) << np.uint64(8 * byte)
        index = np.uint64(0)
        for byte in range(ID_BYTES, report.shape[0]):
            index = (index << np.uint64(8)) | np.uint64(report[byte])
        plain[number, 0, 0] = head
        plain[number, 0, 1] = tail
        for block in range(1, blocks):
            counter = index * np.uint64(blocks - 1) + np.uint64(block)
            plain[number, block, 0] = head
            plain[number, block, 1] = tail | (_big_endian(counter) << np.uint64(32))


@compiled
def _big_endian(number: np.uint64) -> np.uint64:
    """Return a number below 2^32 with its four bytes turned round."""
    low = np.uint64(0xFF)
    return (
        (number >> np.uint64(24))
        | ((number >> np.uint64(8)) & (low << np.uint64(8)))
        | ((number << np.uint64(8)) & (low << np.uint64(16)))
        | ((number & low) << np.uint64(24))
    )


@compiled
def add_to_rows(
    blocks: NDArray[np.uint8],  # (n, 16 + P/8): block 0 and the codeword
    tickets: NDArray[np.int64],  # of `Rows`
    masks: NDArray[np.int64],
    firsts: NDArray[np.int64],
    sums: NDArray[np.int32],  # (rows, P), in the order of lanes
    counts: NDArray[np.int64],  # (rows,)
) -> None:
    """Read row and flip of every report (`Rows.read`), and add (-1)^flip·v to the row."""
    width = blocks.shape[1]
    packed = blocks.reshape(-1)
    for report in range(blocks.shape[0]):
        start = width * report
        view = tickets[packed[start + 5] & (tickets.shape[0] - 1)]
        mask = np.int64(0)
        for byte in range(4):
            mask = (mask << 8) | np.int64(packed[start + byte])
        row = firsts[view] + (mask & masks[view])
        counts[row] += 1
        add_signs(packed, start + BLOCK_BYTES, sums[row], np.int64(packed[start + 4] & 1))


@compiled
def _transpose(
    words: NDArray[np.uint64],  # (n, P/64)
    squares: NDArray[np.uint64],  # (64, _SQUARES), scratch
    columns: NDArray[np.uint64],  # (P, _REPORTS_AT_A_TIME / 64), out; 0 beyond the n-th report
) -> None:
    reports = words.shape[0]
    for first in range(0, columns.shape[1], _SQUARES):
        together = min(_SQUARES, columns.shape[1] - first)
        for part in range(words.shape[1]):
            for group in range(together):
                for report in range(64):
                    place = 64 * (first + group) + report
                    squares[report, group] = words[place, part] if place < reports else np.uint64(0)
            _transpose_squares(squares)
            for bit in range(64):
                for group in range(together):
                    # The highest bit is transposed to the front, and is coordinate 56 (`lane_order`).
                    columns[64 * part + (bit ^ 56), first + group] = squares[bit, group]


@compiled
def _transpose_squares(squares: NDArray[np.uint64]) -> None:
    """Transpose 64 × 64 bits in place: swap off-diagonal quarters, then quarters of quarters, and so on."""
    width = np.uint64(32)
    mask = np.uint64(0x00000000FFFFFFFF)
    while width:
        for low in range(64):
            if low & np.int64(width) == 0:
                high = low + np.int64(width)
                for group in range(_SQUARES):
                    swap = (squares[low, group] ^ (squares[high, group] >> width)) & mask
                    squares[low, group] ^= swap
                    squares[high, group] ^= swap << width
        width >>= np.uint64(1)
        mask ^= mask << width


@compiled
def _count_differing(columns: NDArray[np.uint64], differing: NDArray[np.int64]) -> None:
    """Add to differing[i, j], j < i, in how many reports columns i and j differ."""
    size, groups = columns.shape
    for i in range(size):
        for j in range(i):
            found = np.uint64(0)
            for group in range(groups):
                found += _count_bits(columns[i, group] ^ columns[j, group])
            differing[i, j] += np.int64(found)


@compiled
def _count_bits(word: np.uint64) -> np.uint64:
    """Count the ones of a word; the compiler knows this pattern and uses the processor's own instruction."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
