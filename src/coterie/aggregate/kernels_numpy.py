"""The table's heavy step in numpy and scipy: add signs to rows, and their products to the second moment.

Both are products with the matrix V of signs: one from the left with a sparse matrix that has a single ±1 a
report (its row and flip), one with V itself. float32 holds them exactly for up to 2^24 reports at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from coterie.wire.stream import SignReader


class Accumulator:
    """Adds reports to a table, piece by piece, in memory of its own; each thread has one.

    Parameters
    ----------
    reports : int
        The most reports in a piece, 2^24 at most.
    embedding : int
        P.
    """

    def __init__(self, reports: int, embedding: int) -> None:
        self._read = SignReader(reports * embedding // 8)

    def __call__(
        self,
        rows: NDArray[np.int64],
        flips: NDArray[np.uint8],
        packed: NDArray[np.uint8],
        sums: NDArray[np.int32],
        second: NDArray[np.int64] | None,
    ) -> None:
        """Add (-1)^flip·v to sums[row] and v·vᵀ to second, for every report's codeword v.

        Parameters
        ----------
        rows : ndarray of int64, shape (n,)
        flips : ndarray of uint8, shape (n,)
            0 or 1.
        packed : ndarray of uint8, shape (n, P/8)
            The codewords.
        sums : ndarray of int32, shape (rows, P)
            Added to in place.
        second : ndarray of int64, shape (P, P), or None
            Added to in place.
        """
        reports = len(rows)
        signs = self._read(packed)  # (n, P)
        turns = 1 - 2 * flips.astype(np.float32)
        one_a_column = csc_array((turns, rows, np.arange(reports + 1)), shape=(len(sums), reports))
        sums += (one_a_column @ signs).astype(np.int32)
        if second is not None:
            second += (signs.T @ signs).astype(np.int64)
