"""Each id once: repeated reports are removed in bounded memory, with a result that no order can change.

A client that retries sends the same bytes again: an exact duplicate, kept once. The same id with different
contents comes from a hostile or broken client: the smaller contents are kept, so that the outcome does not
depend on who came first.

Reports are sorted, and of each id the first is kept. What does not fit into memory is spread over 256 bucket
files by the first byte of the report, each bucket that is still too large by the next byte, and so on; one
bucket after the other then holds the reports in order. Many ids that begin alike cost only further rounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.collect.kernels_numpy import each_once_sorted
from coterie.plain.files import naming
from coterie.wire.layout import Reports, as_rows

MEMORY_BYTES: Final = 1 << 27  # for all of the work, unless told otherwise

_COPIES: Final = 8  # of a report while it is sorted: held, joined, padded, as keys, in order, compared


class Deduplicator:
    """Takes reports in any order and gives back each id once, sorted by id.

    Parameters
    ----------
    width : int
        Bytes of one report; the first 12 are its id.
    memory_reports : int, optional
        Reports to hold in memory; more go to temporary files. By default as many as 128 MiB can sort.
    folder : Path, optional
        Where the temporary files go; the system's place by default. They are removed at the end.

    Attributes
    ----------
    duplicates : int
        Exact repetitions removed. Complete when `chunks` is exhausted.
    conflicting : int
        Reports removed because their id had other contents, too. Complete when `chunks` is exhausted.

    Examples
    --------
    >>> rows = np.array([[7] * 13, [5] * 13, [7] * 13], dtype=np.uint8)
    >>> with Deduplicator(width=13) as reports:
    ...     reports.add(rows)
    ...     [chunk[:, 0].tolist() for chunk in reports.chunks()], reports.duplicates
    ([[5, 7]], 1)
    """

    def __init__(self, width: int, *, memory_reports: int | None = None, folder: Path | None = None) -> None:
        if memory_reports is None:
            memory_reports = max(1, MEMORY_BYTES // (_COPIES * width))
        if memory_reports < 1:
            raise ValueError(f"memory_reports must be at least 1, got {memory_reports}")
        self.duplicates = 0
        self.conflicting = 0
        self._width = width
        self._memory_reports = memory_reports
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._parent = folder
        self._held: list[NDArray[np.uint8]] = []  # reports not yet in a file
        self._held_count = 0
        self._last: NDArray[np.uint8] | None = None  # the last report given back

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held = []
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def add(self, reports: Reports) -> None:
        """Take reports, back to back: bytes or an (n, width) array of uint8."""
        rows = as_rows(reports, self._width)
        for start in range(0, len(rows), self._memory_reports):
            piece = rows[start : start + self._memory_reports].copy()  # the caller may reuse its buffer
            if self._held_count + len(piece) > self._memory_reports:
                self._spill()
            self._held.append(piece)
            self._held_count += len(piece)

    def chunks(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports, each id once, (m, width) at a time, sorted by id. To be called once."""
        if self._temporary is None:
            yield from self._in_memory(self._held)
            return
        self._spill()
        yield from self._buckets(Path(self._temporary.name), depth=0)

    def _spill(self) -> None:
        """Move what is held into the bucket files of the first byte."""
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="coterie-", dir=self._parent)
        self._partition(self._held, Path(self._temporary.name), depth=0)
        self._held = []
        self._held_count = 0

    def _partition(self, pieces: Iterable[NDArray[np.uint8]], folder: Path, depth: int) -> None:
        """Append reports to the file of their byte number `depth` in `folder`."""
        for rows in pieces:
            keys = rows[:, depth]
            order = np.argsort(keys, kind="stable")  # a radix sort for bytes
            ends = np.cumsum(np.bincount(keys, minlength=256))
            sorted_rows = rows[order]
            for byte in np.unique(keys).tolist():
                bucket = folder / f"{byte:02x}"
                with naming(bucket), bucket.open("ab") as file:
                    file.write(sorted_rows[ends[byte - 1] if byte else 0 : ends[byte]].data)

    def _buckets(self, folder: Path, depth: int) -> Iterator[NDArray[np.uint8]]:
        """Yield from the bucket files of `folder` in order; all of a bucket agree up to byte `depth`."""
        for bucket in sorted(folder.iterdir()):
            count = bucket.stat().st_size // self._width
            if count <= self._memory_reports:
                yield from self._in_memory([*self._pieces(bucket)])
            elif depth == self._width - 1:  # all the same report
                yield from self._in_memory([next(self._pieces(bucket))[:1]])
                self.duplicates += count - 1
            else:
                finer = bucket.with_suffix(".finer")
                finer.mkdir()
                self._partition(self._pieces(bucket), finer, depth + 1)
                bucket.unlink()
                yield from self._buckets(finer, depth + 1)
                finer.rmdir()
                continue
            bucket.unlink()

    def _pieces(self, bucket: Path) -> Iterator[NDArray[np.uint8]]:
        """Yield a bucket's reports, as many at a time as memory may hold."""
        with bucket.open("rb") as file:
            while data := file.read(self._memory_reports * self._width):
                yield np.frombuffer(data, dtype=np.uint8).reshape(-1, self._width)

    def _in_memory(self, pieces: list[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
        """Yield the first report of each id, in order, after those that were given back before."""
        if not pieces:
            return
        rows = np.concatenate(pieces)
        found = each_once_sorted(rows, self._last)
        self.duplicates += found.duplicates
        self.conflicting += found.conflicting
        if len(found.rows):
            self._last = found.rows[-1].copy()
            yield found.rows
