"""Splitting reports by the start of their ids, and keeping each id once, in numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.wire.layout import ID_BYTES


class EachOnce(NamedTuple):
    """Reports of different ids, and what was removed for that."""

    rows: NDArray[np.uint8]  # (m, width)
    duplicates: int  # exact repetitions
    conflicting: int  # same id, other contents


def split(
    rows: NDArray[np.uint8], bits: int, out: NDArray[np.uint8]
) -> NDArray[np.int64]:  # (n, width), (n, width) -> (2^bits + 1,)
    """Write rows into `out` in the order of their first bits; return where each part starts.

    Examples
    --------
    >>> rows = np.array([[200] * 13, [3] * 13], dtype=np.uint8)
    >>> split(rows, 1, out := np.empty_like(rows)).tolist(), out[:, 0].tolist()
    ([0, 1, 2], [3, 200])
    """
    parts = ((rows[:, 0].astype(np.uint16) << 8) | rows[:, 1]) >> (16 - bits)
    np.take(rows, np.argsort(parts, kind="stable"), axis=0, out=out)
    return np.concatenate([[0], np.cumsum(np.bincount(parts, minlength=1 << bits))])


def each_once(rows: NDArray[np.uint8]) -> EachOnce:
    """Return the smallest report of each id, and what was removed.

    Examples
    --------
    >>> rows = np.array([[7] * 13, [5] * 13, [7] * 13], dtype=np.uint8)
    >>> each_once(rows).rows[:, 0].tolist(), each_once(rows).duplicates
    ([5, 7], 1)
    """
    return each_once_sorted(rows)


def each_once_sorted(rows: NDArray[np.uint8], last: NDArray[np.uint8] | None = None) -> EachOnce:
    """Return the smallest report of each id in order; `last`, (width,), was given back before them."""
    if not len(rows):
        return EachOnce(rows, 0, 0)
    rows = rows[order_of(rows)]
    before = np.empty_like(rows)  # before each report stands the one that precedes it
    before[1:] = rows[:-1]
    before[0] = rows[0] ^ 255 if last is None else last
    same = rows == before  # (n, width)
    same_id = same[:, :ID_BYTES].all(axis=1)
    same_report = same.all(axis=1)
    return EachOnce(rows[~same_id], int(same_report.sum()), int((same_id & ~same_report).sum()))


def order_of(rows: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return the order that sorts reports as byte strings: (n, width) -> (n,)."""
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
    return order
