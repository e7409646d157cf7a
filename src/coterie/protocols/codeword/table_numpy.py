"""The table's heavy step in numpy and scipy: add signs to rows, and their products to the second moment.

Both are products with the matrix V of signs: one from the left with a sparse matrix that has a single ±1 a
report (its row and flip), one with V itself. float32 holds them exactly for up to 2^24 reports at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from coterie.wire.layout import ID_BYTES
from coterie.wire.rows import Rows
from coterie.wire.stream import PublicStream, SignReader


class Accumulator:
    """Adds reports up, piece by piece, in memory of its own; each thread has one.

    Sums are held in 32 bits, for half the memory traffic: hand them over before 2^31 reports.

    Parameters
    ----------
    reports : int
        The most reports in a piece, 2^24 at most.
    stream : PublicStream
        Tells the codewords.
    rows : Rows
        The rows of the table.
    embedding : int
        P.
    second : bool
        Whether the second moment is kept.
    """

    def __init__(self, reports: int, stream: PublicStream, rows: Rows, embedding: int, second: bool) -> None:
        self._stream, self._rows = stream, rows
        self._read = SignReader(reports * embedding // 8)
        self._sums = np.zeros((rows.count, embedding), dtype=np.int32)
        self._counts = np.zeros(rows.count, dtype=np.int64)
        self._second = np.zeros((embedding, embedding), dtype=np.int64) if second else None

    def add(self, reports: NDArray[np.uint8]) -> None:
        """Add (-1)^flip·v to each report's row and v·vᵀ to the second moment: (n, width)."""
        count, (height, embedding) = len(reports), self._sums.shape
        ids, written = np.split(reports, [ID_BYTES], axis=1)
        indices = written @ 256 ** np.arange(written.shape[1])[::-1]  # of one byte, or two
        rows, flips, packed = self._stream.chosen(ids, indices, self._rows, embedding)
        signs = self._read(packed)  # (n, P)
        turns = 1 - 2 * flips.astype(np.float32)
        one_a_column = csc_array((turns, rows, np.arange(count + 1)), shape=(height, count))
        self._sums += (one_a_column @ signs).astype(np.int32)
        self._counts += np.bincount(rows, minlength=height)
        if self._second is not None:
            self._second += (signs.T @ signs).astype(np.int64)

    def hand_over(
        self, sums: NDArray[np.int64], counts: NDArray[np.int64], second: NDArray[np.int64] | None
    ) -> None:
        """Add what was added up to a table's arrays, (rows, P), (rows,) and (P, P), and begin anew."""
        for mine, theirs in ((self._sums, sums), (self._counts, counts), (self._second, second)):
            if mine is not None and theirs is not None:
                theirs += mine
                mine[:] = 0
