"""Report files cut into parts by the start of the id, so that cores can work side by side.

An id lies in one part, so parts can be freed of repeated ids and added up one apart from the other. Files are
read once: each stretch is checked, hashed in its turn for the file's digest, sorted into parts and written to
a temporary file. Nothing is handed on before every digest has matched.

    files ─> stretches of 32 MiB ─> the same, in the order of parts ─> part p of every stretch ─> each id once

Memory is a few stretches per thread; the temporary files are as large as the reports. A part that somebody
made too large, by ids that begin alike, goes through `Deduplicator`, which cuts it further.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie.collect.deduplicate import Deduplicator
from coterie.collect.intake import IntakeCounts, place_in
from coterie.collect.skips import Skips
from coterie.errors import ReportError
from coterie.plain.files import naming
from coterie.plan import Plan
from coterie.wire.forms import report_form
from coterie.wire.kernels import kernels_of
from coterie.wire.report_file import Reading, ReportFile
from coterie.wire.workers import default_workers

STRETCH_BYTES: Final = 1 << 25
PART_REPORTS: Final = 1 << 20  # that a part should have: their hash table stays near the core
MOST_BITS: Final = 16
_TOO_LARGE: Final = 4  # times what a part should have

Tell = Callable[[int], None]  # called with a number of reports when they are through


class _Run(NamedTuple):
    """A stretch on disk, in the order of parts."""

    offset: int  # in reports
    starts: NDArray[np.int32]  # (parts + 1,)


class Partitions:
    """Takes report files in and gives the reports of each part back, each id once.

    Parameters
    ----------
    plan : Plan
        The plan that they answer.
    workers : int, optional
        Threads; by default one for each core.
    folder : Path, optional
        Where the temporary file goes; the system's place by default. It has no name there, and is gone at the
        end, whatever happens.
    part_reports : int, optional
        Reports that a part should have; `PART_REPORTS` by default.
    beside : int
        Ids from elsewhere that are to lie beside those of each part, in all parts together.

    Examples
    --------
    >>> from coterie.wire.report_file import writing_reports
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> with writing_reports("parts.coterie", plan) as writer:
    ...     writer.append(bytes(2 * plan.report_width))
    >>> with Partitions(plan) as parts:
    ...     parts.add_files(["parts.coterie"])
    ...     [len(rows) for part in parts.parts for rows in parts.reports_of(part)], parts.counts.duplicates
    ([1], 1)
    """

    def __init__(
        self,
        plan: Plan,
        *,
        workers: int | None = None,
        folder: Path | None = None,
        part_reports: int | None = None,
        beside: int = 0,
    ) -> None:
        self._plan = plan
        self._form = report_form(plan)
        self._workers = default_workers() if workers is None else max(1, workers)
        self._parent = Path(tempfile.gettempdir()) if folder is None else folder
        self._beside = beside
        self._part_reports = PART_REPORTS if part_reports is None else part_reports
        self._file = tempfile.TemporaryFile(prefix="coterie-", dir=self._parent)  # noqa: SIM115
        self._lock = threading.Lock()
        self._runs: list[_Run] = []
        self._written = 0  # reports in the temporary file
        self._bits = 0
        self._kernels: ModuleType = kernels_of("coterie.collect.kernels", None, 0)
        self._skips = Skips()
        self._files = self._read = self._duplicates = self._conflicting = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add_files(self, paths: Iterable[str | os.PathLike[str]], tell: Tell | None = None) -> None:
        """Take report files in, all of them or nothing; to be called once.

        Raises
        ------
        FileError
            If a file is truncated, foreign, of another version or corrupt.
        """
        if self._files:
            raise ReportError("these partitions have their files already; make new ones")
        files = [ReportFile.open(path, self._plan) for path in paths]
        total = sum(file.count for file in files)
        self._bits = min(MOST_BITS, max(0, (total + self._beside - 1) // self._part_reports).bit_length())
        self._kernels = kernels_of("coterie.collect.kernels", None, total)
        stretch = max(1, STRETCH_BYTES // self._plan.report_width)
        for file in files:
            with contextlib.closing(file.reading()) as reading:
                work = partial(self._sort, file, reading, stretch, tell)
                _in_threads(work, min(self._workers, -(-file.count // stretch)))
                reading.finish()
        self._files = len(files)

    def _sort(self, file: ReportFile, reading: Reading, stretch: int, tell: Tell | None) -> None:
        """Take stretches of a file, until there are none, into the temporary file."""
        size = min(stretch, file.count)
        rows = np.empty((size, file.width), dtype=np.uint8)
        ordered = np.empty_like(rows)
        place = place_in(file)
        while True:
            start, count = reading.next_into(rows)
            if not count:
                return
            good = rows[:count]
            wrong = self._form.foreign(good)
            if wrong.any():
                good = good[~wrong]
            out = ordered[: len(good)]
            starts = self._kernels.split(good, self._bits, out) if len(good) else None
            with self._lock:
                self._skips.note(self._form.reason, start + np.flatnonzero(wrong), place)
                self._read += count
                if starts is not None:
                    offset = self._written
                    self._written += len(good)
                    self._runs.append(_Run(offset, starts.astype(np.int32)))
            if starts is not None:
                self._write(out, offset)
            if tell is not None:
                tell(count)

    def _write(self, rows: NDArray[np.uint8], offset: int) -> None:
        left, place = rows.reshape(-1).data, offset * rows.shape[1]
        with naming(self._parent):
            while left:
                done = os.pwrite(self._file.fileno(), left, place)
                left, place = left[done:], place + done

    @property
    def parts(self) -> range:
        """The numbers of the parts."""
        return range(1 << self._bits)

    def reports_of(self, part: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports of a part, each id once, (m, width) at a time; threads may ask side by side."""
        pieces = [
            (run.offset + int(run.starts[part]), int(run.starts[part + 1] - run.starts[part]))
            for run in self._runs
        ]
        total = sum(count for _, count in pieces)
        width = self._plan.report_width
        if total > max(_TOO_LARGE * self._part_reports, 1 << 12):
            with Deduplicator(width, folder=self._parent) as reports:
                for offset, count in pieces:
                    step = self._part_reports
                    for start in range(0, count, step):
                        rows = np.empty((min(step, count - start), width), dtype=np.uint8)
                        self._fetch(rows, offset + start)
                        reports.add(rows)
                yield from reports.chunks()
                self._removed(reports.duplicates, reports.conflicting)
            return
        rows, place = np.empty((total, width), dtype=np.uint8), 0
        for offset, count in pieces:
            self._fetch(rows[place : place + count], offset)
            place += count
        found = self._kernels.each_once(rows)
        self._removed(found.duplicates, found.conflicting)
        if len(found.rows):
            yield found.rows

    def _fetch(self, rows: NDArray[np.uint8], offset: int) -> None:
        left, place = rows.reshape(-1).data, offset * self._plan.report_width
        with naming(self._parent):
            while left:
                done = os.preadv(self._file.fileno(), [left], place)
                if not done:
                    raise OSError(f"the temporary file in {self._parent} was cut short")
                left, place = left[done:], place + done

    def _removed(self, duplicates: int, conflicting: int) -> None:
        with self._lock:
            self._duplicates += duplicates
            self._conflicting += conflicting

    @property
    def counts(self) -> IntakeCounts:
        """How many were read and removed; complete when every part was given back."""
        return IntakeCounts(self._files, self._read, self._duplicates, self._conflicting, self._skips.all)


def _in_threads(work: Callable[[], None], threads: int) -> None:
    """Do the same work in several threads; the first error of one is raised when all have ended."""
    if threads <= 1:
        work()
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work) for _ in range(threads)]:
            done.result()
