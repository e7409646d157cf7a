"""Splitting reports by the start of their ids, and sorting them, in numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def split(
    rows: NDArray[np.uint8], bits: int, out: NDArray[np.uint8]
) -> NDArray[np.int64]:  # (n, width), (n, width) -> (2^bits + 1,)
    """Write rows into `out` in the order of their first bits, 16 at most; return where each part starts.

    Examples
    --------
    >>> rows = np.array([[200] * 13, [3] * 13], dtype=np.uint8)
    >>> split(rows, 1, out := np.empty_like(rows)).tolist(), out[:, 0].tolist()
    ([0, 1, 2], [3, 200])
    """
    parts = ((rows[:, 0].astype(np.uint16) << 8) | rows[:, 1]) >> (16 - bits)
    np.take(rows, np.argsort(parts, kind="stable"), axis=0, out=out)
    return np.concatenate([[0], np.cumsum(np.bincount(parts, minlength=1 << bits))])


def sort(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return reports in the order of their bytes: (n, width) -> (n, width).

    Examples
    --------
    >>> sort(np.array([[7] * 13, [5] * 13, [6] * 13], dtype=np.uint8))[:, 0].tolist()
    [5, 6, 7]
    """
    words = -(-rows.shape[1] // 8)
    padded = np.zeros((len(rows), 8 * words), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    keys = padded.view(">u8").astype(np.uint64)  # (n, words)
    order = np.argsort(keys[:, 0])
    # Eight bytes tell nearly all ids apart; only reports that agree in them need the rest.
    first = keys[order, 0]
    tied = np.zeros(len(rows), dtype=bool)
    tied[1:] = first[1:] == first[:-1]
    tied[:-1] |= tied[1:]
    agreeing = order[tied]
    order[tied] = agreeing[np.lexsort(keys[agreeing].T[::-1])]
    return np.take(rows, order, axis=0)
