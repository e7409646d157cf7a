"""What counts, from any number of reports in any order: the work of a compaction, in bounded memory.

    counted = the smallest report of each id (`coterie.collect.Deduplicator`), without the ids left out

Both stores compact with this, so that they keep the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from coterie.collect import Deduplicator
from coterie.wire.layout import ID_BYTES


class Bounds(TypedDict):
    """What a merge may take; as for `coterie.collect.Deduplicator`."""

    folder: Path | None
    memory_reports: int | None


@dataclass(slots=True)
class Merged:
    """What a merge came to; complete when its chunks are exhausted."""

    counted: int = 0
    duplicates: int = 0
    conflicting: int = 0


def merged(
    pieces: Iterable[NDArray[np.uint8]],
    width: int,
    left_out: Iterable[Iterable[NDArray[np.uint8]]] = (),
    *,
    totals: Merged | None = None,
    folder: Path | None = None,
    memory_reports: int | None = None,
) -> Iterator[NDArray[np.uint8]]:
    """Yield what counts, (m, width) at a time, sorted by id.

    Parameters
    ----------
    pieces : iterable of ndarray of uint8, each of shape (n, width)
        Reports, or ids alone (a width of 12), in any order.
    width : int
        Bytes of a report.
    left_out : iterable of sets
        Sets of ids, each as chunks (n, 12), sorted, each id once in a set.
    totals : Merged, optional
        Where to count.
    folder, memory_reports
        As for `Deduplicator`.

    Examples
    --------
    >>> rows = np.array([[7] * 13, [5] * 13, [6] * 13], dtype=np.uint8)
    >>> [chunk[:, 0].tolist() for chunk in merged([rows], 13, [[rows[2:, :12]]])]
    [[5, 7]]
    """
    totals = Merged() if totals is None else totals
    with Deduplicator(width, memory_reports=memory_reports, folder=folder) as reports:
        for rows in pieces:
            reports.add(rows)
        chunks = reports.chunks()
        for ids in left_out:
            chunks = _without(chunks, ids)
        for chunk in chunks:
            totals.counted += len(chunk)
            yield chunk
        totals.duplicates, totals.conflicting = reports.duplicates, reports.conflicting


def _without(
    chunks: Iterator[NDArray[np.uint8]], ids: Iterable[NDArray[np.uint8]]
) -> Iterator[NDArray[np.uint8]]:
    """Yield the rows whose id is not among `ids`; both sides are sorted."""
    others = (_keys(chunk) for chunk in ids if len(chunk))
    held = next(others, None)
    for rows in chunks:
        keys = _keys(rows)
        kept = np.ones(len(rows), dtype=bool)
        while held is not None:
            kept[np.isin(keys, held)] = False
            if held[-1] > keys[-1]:  # it reaches into the next chunk
                break
            held = next(others, None)
        if kept.any():
            yield rows if kept.all() else rows[kept]


def _keys(rows: NDArray[np.uint8]) -> NDArray[np.bytes_]:
    """Return the ids in a form that compares as bytes do: (n, width) -> (n,)."""
    return np.ascontiguousarray(rows[:, :ID_BYTES]).view(f"S{ID_BYTES}")[:, 0]
