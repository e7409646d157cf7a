"""Splitting, compiled by numba; the same rows out as of `kernels_numpy`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.wire.kernels import compiled


def split(
    rows: NDArray[np.uint8], bits: int, out: NDArray[np.uint8]
) -> NDArray[np.int64]:  # (n, width), (n, width) -> (2^bits + 1,)
    """Write rows into `out` in the order of their first bits, 16 at most; return where each part starts."""
    starts = np.zeros((1 << bits) + 1, dtype=np.int64)
    _split(rows, 16 - bits, starts, np.empty(1 << bits, dtype=np.int64), out)
    return starts


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
