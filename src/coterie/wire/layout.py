"""Reports back to back: fixed-width rows of bytes, an id first.

A batch of reports is `bytes` or a (n, width) array of uint8; both hold the same bytes, and nothing is copied.
A list of bytes, as reports come from devices, is joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ReportError
from coterie.protocols.base import ID_BYTES, TOKEN_BYTES

__all__ = ["ID_BYTES", "TOKEN_BYTES", "Reports", "as_keys", "as_rows", "in_pieces", "regrouped", "whole_rows"]

_PIECE_BYTES: Final = 1 << 22

Reports = bytes | bytearray | memoryview | NDArray[np.uint8] | list[bytes] | tuple[bytes, ...]


def as_rows(reports: Reports, width: int) -> NDArray[np.uint8]:
    """Return a batch of reports as rows: n·width bytes -> (n, width), without a copy.

    Parameters
    ----------
    reports : bytes, bytearray, memoryview, ndarray of uint8 of shape (n, width), or list of bytes
        Any number of reports, back to back; each item of a list holds whole reports.
    width : int
        Bytes of one report.

    Examples
    --------
    >>> as_rows(bytes(26), width=13).shape
    (2, 13)
    """
    if isinstance(reports, np.ndarray):
        if reports.dtype != np.uint8 or reports.ndim != 2 or reports.shape[1] != width:
            shape = f"{reports.dtype} of shape {reports.shape}"
            raise ReportError(f"an array of reports must be uint8 of shape (n, {width}), got {shape}")
        return reports
    if isinstance(reports, list | tuple):
        reports = _joined(reports, width)
    if not isinstance(reports, bytes | bytearray | memoryview):
        raise ReportError(
            f"reports must be bytes, a list of bytes or an array of uint8, got {type(reports).__name__}"
        )
    if isinstance(reports, memoryview) and not reports.c_contiguous:
        raise ReportError("reports must lie back to back in memory, got a memoryview with gaps")
    flat = np.frombuffer(reports, dtype=np.uint8)
    if len(flat) % width:
        raise ReportError(
            f"reports of this plan have {width} bytes each; {len(flat)} bytes are no whole number of them"
        )
    return flat.reshape(-1, width)


def as_keys(rows: NDArray[np.uint8]) -> NDArray[np.bytes_]:  # (n, width) -> (n,)
    """Return rows as values that compare like their bytes."""
    return np.ascontiguousarray(rows).view(f"S{rows.shape[1]}")[:, 0]


def in_order(chunks: Iterable[NDArray[np.uint8]], *, strictly: bool = False) -> bool:
    """Return whether rows, (m, width) at a time, are in the order of their bytes; strictly: none twice.

    Examples
    --------
    >>> rows = np.array([[7] * 13, [7] * 13], dtype=np.uint8)
    >>> in_order([rows]), in_order([rows], strictly=True)
    (True, False)
    """
    before = np.less if strictly else np.less_equal
    last = None
    for keys in map(as_keys, filter(len, chunks)):
        if (last is not None and not before(last, keys[0])) or not before(keys[:-1], keys[1:]).all():
            return False
        last = keys[-1]
    return True


def regrouped(chunks: Iterable[NDArray[np.uint8]], least: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the same rows, (m, width), at least so many at a time but for the last; no chunk is cut.

    Examples
    --------
    >>> [len(rows) for rows in regrouped((np.zeros((3, 13), dtype=np.uint8) for _ in range(5)), 4)]
    [6, 6, 3]
    """
    held: list[NDArray[np.uint8]] = []
    count = 0
    for chunk in chunks:
        held.append(chunk)
        count += len(chunk)
        if count >= least:
            yield chunk if len(held) == 1 else np.concatenate(held)
            held, count = [], 0
    if count:
        yield np.concatenate(held)


def in_pieces(rows: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """Yield the same rows, (n, width), some megabytes at a time."""
    size = max(1, _PIECE_BYTES // rows.shape[1])
    return (rows[start : start + size] for start in range(0, len(rows), size))


def whole_rows(
    pieces: Iterable[bytes], width: int, cut_short: Callable[[], None]
) -> Iterator[NDArray[np.uint8]]:
    """Yield whole rows, (m, width), of a stream in pieces of any length; `cut_short` is told of a rest.

    Examples
    --------
    >>> [len(rows) for rows in whole_rows([bytes(20), bytes(6), bytes(5)], 13, lambda: print("a rest"))]
    a rest
    [1, 1]
    """
    rest = b""
    for piece in pieces:
        data = rest + piece
        whole = len(data) - len(data) % width
        rest = data[whole:]
        if whole:
            yield as_rows(data[:whole], width)
    if rest:
        cut_short()


def _joined(reports: list[bytes] | tuple[bytes, ...], width: int) -> bytes:
    """Join the items of a list; one of another length would shift all after it, so each is looked at."""
    for number, item in enumerate(reports):
        if not isinstance(item, bytes | bytearray | memoryview):
            raise ReportError(f"a list of reports holds bytes; item {number} is {type(item).__name__}")
        if (size := memoryview(item).nbytes) % width:
            raise ReportError(f"reports of this plan have {width} bytes each; item {number} has {size}")
    return b"".join(reports)
