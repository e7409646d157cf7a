"""Each id once: which of the reports with one id counts is decided here, for files, streams and stores alike.

A client that retries sends the same bytes again: an exact duplicate, kept once. The same id with different
contents comes from a hostile or broken client: the smallest contents are kept, so that the outcome does not
depend on who came first, on pieces or on threads.

    reports ─> runs, in the order of parts of the ids ─> part p of every run ─> sorted, each id once

An id lies in one part, so parts are freed of repeated ids one apart from the other, by one thread or several.
Runs that do not fit into memory lie in a temporary file. A part that is still too large, because somebody
chose ids that begin alike, is cut into sorted pieces, and these are merged: `merged` takes any sources that
are sorted already, as what a store holds is.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.plain.files import naming
from coterie.wire.kernels import kernels_of
from coterie.wire.layout import ID_BYTES, Reports, as_keys, as_rows

MEMORY_BYTES: Final = 1 << 27  # for all of the work, unless told otherwise
PART_REPORTS: Final = 1 << 17  # that a part should have: it is sorted near the core
MOST_BITS: Final = 16

_COPIES: Final = 8  # of a report while it is sorted, at most: held, joined, as keys, in order, compared
_COMPILING_PAYS: Final = 9  # bits: splitting is compiled for 500 times as many reports as what is heavier
_BITS_UNKNOWN: Final = 8  # where nobody said how many reports to expect
_LEAST_READ: Final = 1 << 4  # reports of a sorted piece at a time

Rows = NDArray[np.uint8]  # (n, width)
Chunks = Iterator[Rows]


class _Run(NamedTuple):
    """Reports in the order of parts, in memory or at a place of the temporary file."""

    rows: Rows | None
    offset: int  # in reports
    starts: NDArray[np.int32]  # (parts + 1,)


class Deduplicator(AbstractContextManager["Deduplicator"]):
    """Takes reports in any order and gives back each id once, sorted by id.

    Parameters
    ----------
    width : int
        Bytes of one report; the first 12 are its id.
    memory_reports : int, optional
        Reports to hold in memory; more go to a temporary file. By default as many as 128 MiB can sort.
    folder : Path, optional
        Where the temporary file goes; the system's place by default. It has no name there, and is gone at
        the end, whatever happens.
    kept : sequence of iterators
        Reports from before, each source sorted and each id once in it, (m, width) at a time: `chunks` merges
        them with those that are added, without sorting them again.
    without : sequence of iterators
        Ids that do not count, each source sorted, (m, 12) at a time.

    Attributes
    ----------
    expected : int
        How many reports will come, if somebody knows; to be set before the first.
    duplicates : int
        Exact repetitions removed. Complete when every part, or `chunks`, is exhausted.
    conflicting : int
        Reports removed because their id had other contents, too. Complete when `duplicates` is.

    Examples
    --------
    >>> rows = np.array([[7] * 13, [5] * 13, [7] * 13], dtype=np.uint8)
    >>> with Deduplicator(width=13) as reports:
    ...     reports.add(rows)
    ...     [chunk[:, 0].tolist() for chunk in reports.chunks()], reports.duplicates
    ([[5, 7]], 1)
    """

    def __init__(
        self,
        width: int,
        *,
        memory_reports: int | None = None,
        folder: Path | None = None,
        kept: Sequence[Chunks] = (),
        without: Sequence[Chunks] = (),
    ) -> None:
        if memory_reports is None:
            memory_reports = max(1, MEMORY_BYTES // (_COPIES * width))
        if memory_reports < 1:
            raise ValueError(f"memory_reports must be at least 1, got {memory_reports}")
        self.expected = 0
        self.duplicates = 0
        self.conflicting = 0
        self._width = width
        self._memory_reports = memory_reports
        self._folder = Path(tempfile.gettempdir()) if folder is None else folder
        self._kept = kept
        self._without = without
        self._lock = threading.Lock()
        self._held: list[Rows] = []  # reports that are in no run yet
        self._held_count = 0
        self._runs: list[_Run] = []
        self._bits: int | None = None  # of an id, that say its part; known when the first run is made
        self._file: BinaryIO
        self._written = 0  # reports in the temporary file

    def __exit__(self, *_: object) -> None:
        self._held, self._runs = [], []
        if self._written:
            self._file.close()

    def add(self, reports: Reports) -> None:
        """Take reports, back to back: bytes or an (n, width) array of uint8; threads may add side by side."""
        rows = as_rows(reports, self._width)
        for start in range(0, len(rows), self._memory_reports):
            piece = rows[start : start + self._memory_reports]
            alone = 2 * len(piece) > self._memory_reports  # enough for a run of its own
            with self._lock:
                fits = self._held_count + len(piece) <= self._memory_reports
                if fits and not (alone and self.expected > self._memory_reports):
                    self._held.append(piece.copy())  # the caller may reuse its buffer
                    self._held_count += len(piece)
                    continue
                if self._bits is None:
                    self._bits = self._bits_for(self.expected) if self.expected else _BITS_UNKNOWN
                    self._file = self._temporary()
                held = [piece]
                if not alone:
                    held, self._held, self._held_count = [*self._held, piece], [], 0
            self._spill(held[0] if len(held) == 1 else np.concatenate(held), self._bits)

    @property
    def parts(self) -> range:
        """The numbers of the parts, in the order of ids; nothing is added from here on."""
        with self._lock:
            if self._bits is None:
                self._bits = self._bits_for(self._held_count)
            if self._held:
                rows, starts = self._split(np.concatenate(self._held), self._bits)
                self._runs.append(_Run(rows, 0, starts))
                self._held = []
        return range(1 << self._bits)

    def reports_of(self, part: int, *, exactly: bool = False) -> Chunks:
        """Yield the reports of a part, each id once, sorted; threads may ask for parts side by side.

        With `exactly`, reports that only share an id stay.
        """
        pieces = [(run, int(run.starts[part]), int(run.starts[part + 1])) for run in self._runs]
        total = sum(stop - start for _, start, stop in pieces)
        if total > self._memory_reports:
            yield from self._from_disk(pieces, exactly=exactly)
        elif total:
            rows, place = self._empty(total), 0
            for run, start, stop in pieces:
                self._fetch(rows[place : (place := place + stop - start)], run, start)
            yield self._first_of_each(sort(rows), exactly=exactly)

    def chunks(self) -> Chunks:
        """Yield the reports, each id once, (m, width) at a time, sorted by id. To be called once."""
        # Beside what was kept, reports that only share an id stay until the smallest of all is known.
        exactly = bool(self._kept)
        chunks: Chunks = (rows for part in self.parts for rows in self.reports_of(part, exactly=exactly))
        if self._kept:
            chunks = self._merged([*self._kept, chunks])
        for ids in self._without:
            chunks = without(chunks, ids)
        return chunks

    # ------------------------------------------------------------ runs

    def _bits_for(self, count: int) -> int:
        size = min(PART_REPORTS, self._memory_reports)
        return min(MOST_BITS, max(0, (count - 1) // size).bit_length())

    def _split(self, rows: Rows, bits: int) -> tuple[Rows, NDArray[np.int32]]:
        """Return rows in the order of parts, and where each part starts."""
        ordered = np.empty_like(rows)
        kernels = kernels_of("coterie.collect.kernels", None, self.expected >> _COMPILING_PAYS)
        return ordered, kernels.split(rows, bits, ordered).astype(np.int32)

    def _spill(self, rows: Rows, bits: int) -> None:
        ordered, starts = self._split(rows, bits)
        with self._lock:
            offset = self._written
            self._written += len(ordered)
            self._runs.append(_Run(None, offset, starts))
        self._write(self._file, ordered, offset)

    def _fetch(self, rows: Rows, run: _Run, start: int) -> None:
        if run.rows is not None:
            rows[:] = run.rows[start : start + len(rows)]
        else:
            self._read(rows, self._file, run.offset + start)

    # ------------------------------------------------------------ what is sorted

    def _from_disk(self, pieces: Iterable[tuple[_Run, int, int]], *, exactly: bool) -> Chunks:
        """Yield a part that memory does not hold: it is sorted in pieces, and these are merged."""
        with self._temporary() as file:
            ends = [0]
            for run, start, stop in pieces:
                for place in range(start, stop, self._memory_reports):
                    rows = self._empty(min(stop - place, self._memory_reports))
                    self._fetch(rows, run, place)
                    rows = self._first_of_each(sort(rows), exactly=True)
                    self._write(file, rows, ends[-1])
                    ends.append(ends[-1] + len(rows))
            step = max(_LEAST_READ, self._memory_reports // len(ends))
            sources = [self._sorted(file, *each, step) for each in itertools.pairwise(ends)]
            yield from self._merged(sources, exactly=exactly)

    def _sorted(self, file: BinaryIO, start: int, stop: int, step: int) -> Chunks:
        for place in range(start, stop, step):
            rows = self._empty(min(stop - place, step))
            self._read(rows, file, place)
            yield rows

    def _merged(self, sources: Iterable[Chunks], *, exactly: bool = False) -> Chunks:
        """Yield the reports of sources that are sorted, no report twice in one, each id once."""
        held = [(rows, source) for source in sources if (rows := _next(source)) is not None]
        last: Rows | None = None
        while held:
            bound = min(as_keys(rows)[-1] for rows, _ in held)  # up to here everything is in memory
            ready, rest = [], []
            for rows, source in held:
                cut = int(np.searchsorted(as_keys(rows), bound, side="right"))
                ready.append(rows[:cut])
                left = rows[cut:] if cut < len(rows) else _next(source)
                if left is not None:
                    rest.append((left, source))
            held = rest
            rows = ready[0] if len(ready) == 1 else sort(np.concatenate(ready))
            found = self._first_of_each(rows, last, exactly=exactly)
            if len(found):
                last = found[-1:]
                yield found

    def _first_of_each(self, rows: Rows, last: Rows | None = None, *, exactly: bool = False) -> Rows:
        """Return the first of each id of sorted reports, without the id of `last`, (1, width), and count.

        With `exactly` the first of each report: those that only share an id stay.
        """
        if last is not None:
            rows = np.concatenate([last, rows])
        heads = np.ascontiguousarray(rows[:, :8]).view(np.uint64)[:, 0]  # nearly all differ in these
        near = np.flatnonzero(heads[1:] == heads[:-1]) + 1
        same = rows[near] == rows[near - 1]  # (few, width)
        repeats = same.all(axis=1)
        clashes = same[:, :ID_BYTES].all(axis=1) & ~repeats
        fresh = np.ones(len(rows), dtype=bool)
        fresh[near[repeats if exactly else repeats | clashes]] = False
        fresh[: 0 if last is None else 1] = False
        with self._lock:
            self.duplicates += int(repeats.sum())
            self.conflicting += 0 if exactly else int(clashes.sum())
        return rows if fresh.all() else np.compress(fresh, rows, axis=0)

    # ------------------------------------------------------------ temporary files

    def _empty(self, count: int) -> Rows:
        return np.empty((count, self._width), dtype=np.uint8)

    def _temporary(self) -> BinaryIO:
        return tempfile.TemporaryFile(prefix="coterie-", dir=self._folder)

    def _write(self, file: BinaryIO, rows: Rows, offset: int) -> None:
        left, place = rows.reshape(-1).data, offset * self._width
        with naming(self._folder):
            while left:
                done = os.pwrite(file.fileno(), left, place)
                left, place = left[done:], place + done

    def _read(self, rows: Rows, file: BinaryIO, start: int) -> None:
        left, place = rows.reshape(-1).data, start * self._width
        with naming(self._folder):
            while left:
                done = os.preadv(file.fileno(), [left], place)
                if not done:
                    raise OSError(f"the temporary file in {self._folder} was cut short")
                left, place = left[done:], place + done


def sort(rows: Rows) -> Rows:
    """Return reports in the order of their bytes: (n, width) -> (n, width).

    Examples
    --------
    >>> sort(np.array([[7] * 13, [5] * 13, [6] * 13], dtype=np.uint8))[:, 0].tolist()
    [5, 6, 7]
    """
    heads = (
        np.ascontiguousarray(rows[:, :8]).view(">u8")[:, 0].astype(np.uint64)
    )  # nearly all differ in these
    order = np.argsort(heads)
    ordered, heads = np.take(rows, order, axis=0), heads[order]
    near = np.flatnonzero(heads[1:] == heads[:-1])
    wrong = near[as_keys(ordered[near]) > as_keys(ordered[near + 1])]
    if len(wrong):
        tied = np.isin(heads, heads[wrong])
        ordered[tied] = np.sort(as_keys(ordered[tied])).view(np.uint8).reshape(-1, rows.shape[1])
    return ordered


def without(chunks: Chunks, ids: Chunks) -> Chunks:
    """Yield the rows whose id is not among `ids`, (m, 12) at a time; both sides are sorted.

    Examples
    --------
    >>> rows = np.array([[5] * 13, [6] * 13, [7] * 13], dtype=np.uint8)
    >>> [chunk[:, 0].tolist() for chunk in without(iter([rows]), iter([rows[1:2, :12]]))]
    [[5, 7]]
    """
    others = (as_keys(chunk) for chunk in ids if len(chunk))
    held = next(others, None)
    for rows in filter(len, chunks):
        keys = as_keys(rows[:, :ID_BYTES])
        kept = np.ones(len(rows), dtype=bool)
        while held is not None:
            places = np.minimum(np.searchsorted(held, keys), len(held) - 1)
            kept[held[places] == keys] = False
            if held[-1] > keys[-1]:  # it reaches into the next chunk
                break
            held = next(others, None)
        if kept.any():
            yield rows if kept.all() else np.compress(kept, rows, axis=0)
    for _ in others:  # a source finds out at its end whether it was whole
        pass


def _next(source: Chunks) -> Rows | None:
    return next((rows for rows in source if len(rows)), None)
