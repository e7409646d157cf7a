"""Splitting reports by the start of their ids, in numpy."""

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
