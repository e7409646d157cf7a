"""Splitting and sorting, compiled by numba; the same rows out as of `kernels_numpy`."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.collect import kernels_numpy
from coterie.wire.kernels import compiled

_MOST_IN_PLACE: Final = 64  # reports whose keys fall together; ids that somebody chose alike go to numpy


def split(
    rows: NDArray[np.uint8], bits: int, out: NDArray[np.uint8]
) -> NDArray[np.int64]:  # (n, width), (n, width) -> (2^bits + 1,)
    """Write rows into `out` in the order of their first bits, 16 at most; return where each part starts."""
    starts = np.zeros((1 << bits) + 1, dtype=np.int64)
    _split(rows, 16 - bits, starts, np.empty(1 << bits, dtype=np.int64), out)
    return starts


def sort(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return reports in the order of their bytes: (n, width) -> (n, width)."""
    places = np.zeros((1 << max(1, len(rows) // 2).bit_length()) + 1, dtype=np.int32)
    keys, order = np.empty(len(rows), dtype=np.uint64), np.empty(len(rows), dtype=np.int32)
    if not _order(rows, keys, places, _MOST_IN_PLACE, order):
        return kernels_numpy.sort(rows)
    return np.take(rows, order, axis=0)


@compiled
def _split(
    rows: NDArray[np.uint8],  # (n, width)
    shift: int,
    starts: NDArray[np.int64],  # (parts + 1,), zeros
    places: NDArray[np.int64],  # (parts,), scratch
    out: NDArray[np.uint8],  # (n, width)
) -> None:
    for report in range(rows.shape[0]):
        part = ((np.int64(rows[report, 0]) << 8) | np.int64(rows[report, 1])) >> shift
        starts[part + 1] += 1
    for number in range(places.shape[0]):
        starts[number + 1] += starts[number]
        places[number] = starts[number]
    for report in range(rows.shape[0]):
        part = ((np.int64(rows[report, 0]) << 8) | np.int64(rows[report, 1])) >> shift
        for byte in range(rows.shape[1]):
            out[places[part], byte] = rows[report, byte]
        places[part] += 1


@compiled
def _order(
    rows: NDArray[np.uint8],  # (n, width)
    keys: NDArray[np.uint64],  # (n,), scratch: the first eight bytes
    places: NDArray[np.int32],  # (parts + 1,), zeros; scratch: where each part of the keys starts
    most: int,
    order: NDArray[np.int32],  # (n,), out
) -> bool:
    """Find the order of reports by parts of equal width between the least key and the largest, then by steps.

    Returns False, and no order, if more than `most` reports fall into one part.
    """
    low, high = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0)
    for report in range(rows.shape[0]):
        key = np.uint64(0)
        for byte in range(8):
            key = (key << np.uint64(8)) | np.uint64(rows[report, byte])
        keys[report] = key
        low, high = min(low, key), max(high, key)
    shift, last = np.uint64(0), np.uint64(places.shape[0] - 2)
    while rows.shape[0] and (high - low) >> shift > last:
        shift += np.uint64(1)
    for report in range(rows.shape[0]):
        places[((keys[report] - low) >> shift) + np.uint64(1)] += 1
    for part in range(1, places.shape[0]):
        if places[part] > most:
            return False
        places[part] += places[part - 1]
    for report in range(rows.shape[0]):
        part = (keys[report] - low) >> shift
        order[places[part]] = report
        places[part] += 1
    for number in range(1, rows.shape[0]):  # reports are in the right part: each moves a few steps at most
        report, place = order[number], number
        while place > 0 and _is_less(rows, keys, report, order[place - 1]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = report
    return True


@compiled
def _is_less(rows: NDArray[np.uint8], keys: NDArray[np.uint64], one: int, other: int) -> bool:
    if keys[one] != keys[other]:
        return bool(keys[one] < keys[other])
    for byte in range(8, rows.shape[1]):
        if rows[one, byte] != rows[other, byte]:
            return bool(rows[one, byte] < rows[other, byte])
    return False
