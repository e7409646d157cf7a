"""Splitting and telling apart, compiled by numba; the same reports as `kernels_numpy`, in another order.

Ids are told apart by a hash table. Whoever sends reports chooses their ids, so the hash is keyed by a secret
of the process: ids that fall into one place cannot be found without it.
"""

from __future__ import annotations

import secrets
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.collect.kernels_numpy import EachOnce, each_once_sorted
from coterie.wire.kernels import compiled

_KEYS: Final = np.array([secrets.randbits(64) | 1 for _ in range(3)], dtype=np.uint64)


def split(
    rows: NDArray[np.uint8], bits: int, out: NDArray[np.uint8]
) -> NDArray[np.int64]:  # (n, width), (n, width) -> (2^bits + 1,)
    """Write rows into `out` in the order of their first bits; return where each part starts."""
    starts = np.zeros((1 << bits) + 1, dtype=np.int64)
    _split(rows, 16 - bits, starts, np.empty(1 << bits, dtype=np.int64), out)
    return starts


def each_once(rows: NDArray[np.uint8]) -> EachOnce:
    """Return the smallest report of each id, and what was removed."""
    size = max(4, int(2 * len(rows) - 1).bit_length())
    slots = np.full(1 << size, -1, dtype=np.int32)
    first = np.empty(len(rows), dtype=np.int32)
    mixed = np.zeros(len(rows), dtype=np.bool_)
    starts = np.empty(len(rows), dtype=np.uint64)
    duplicates, odd = _tell_apart(rows, 64 - size, _KEYS, slots, first, mixed, starts)
    kept = first == np.arange(len(rows), dtype=np.int32)
    if not odd:
        return EachOnce(rows[kept] if duplicates else rows, duplicates, 0)
    # Ids with several contents are few unless somebody is hostile: those are sorted.
    belongs = mixed[first]
    alone = rows[kept & ~belongs]
    several = each_once_sorted(rows[belongs])
    removed = len(rows) - len(alone) - len(several.rows)
    return EachOnce(np.concatenate([alone, several.rows]), removed - several.conflicting, several.conflicting)


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
def _tell_apart(
    rows: NDArray[np.uint8],  # (n, width)
    shift: int,
    keys: NDArray[np.uint64],  # (3,)
    slots: NDArray[np.int32],  # (2^(64 - shift),), -1
    first: NDArray[np.int32],  # (n,), out: the first report of the same id
    mixed: NDArray[np.bool_],  # (n,), out: set at that report if contents differ
    starts: NDArray[np.uint64],  # (n,), scratch: the first eight bytes
) -> tuple[int, int]:
    """Return how many reports repeat the first one of their id, and how many differ from it."""
    duplicates, odd = 0, 0
    last = np.uint64(slots.shape[0] - 1)
    for report in range(rows.shape[0]):
        start, rest = np.uint64(0), np.uint64(0)
        for byte in range(8):
            start = (start << np.uint64(8)) | np.uint64(rows[report, byte])
        for byte in range(8, 12):
            rest = (rest << np.uint64(8)) | np.uint64(rows[report, byte])
        starts[report] = start
        hashed = (start ^ keys[0]) * keys[1]
        hashed = ((hashed ^ (hashed >> np.uint64(32))) + rest) * keys[2]
        hashed ^= hashed >> np.uint64(29)
        slot = (hashed * keys[1]) >> np.uint64(shift)
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = report
                first[report] = report
                break
            if starts[other] == start:
                same = True
                for byte in range(8, 12):
                    same &= rows[other, byte] == rows[report, byte]
                if same:
                    first[report] = other
                    for byte in range(12, rows.shape[1]):
                        same &= rows[other, byte] == rows[report, byte]
                    if same:
                        duplicates += 1
                    else:
                        odd += 1
                        mixed[other] = True
                    break
            slot = (slot + np.uint64(1)) & last
    return duplicates, odd
