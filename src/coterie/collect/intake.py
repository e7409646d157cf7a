"""The one intake: reports from files and streams come in here, bounded, and each counts once.

- *Files* are whole or nothing: header, plan and length of all are checked before the first is read, and every
  digest before the first report is handed on.
- A *stream* is bytes in any pieces, as they come over a network: reports back to back or, where ids follow
  from tokens, uploads (`coterie.wire.tokens`).

A report without the plan's form (`coterie.wire.forms`) is left out and counted, with its place; it stops
nobody else's. Repeated ids count once, in bounded memory (`deduplicate`).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.collect.deduplicate import Deduplicator, Rows
from coterie.collect.skips import Skipped, Skips
from coterie.collect.uploads import Issued, Marks, Note, admitted, let_in
from coterie.errors import PlanError, ReportError
from coterie.plain.files import AnyPath
from coterie.plan import Plan
from coterie.wire.admission import ADMISSION_BYTES
from coterie.wire.forms import report_form
from coterie.wire.layout import ID_BYTES, whole_rows
from coterie.wire.report_file import HEADER, Reading, ReportFile
from coterie.wire.workers import in_shares

MOST_REPORTS: Final = 1 << 36  # of one intake, unless told otherwise
STRETCH_BYTES: Final = 1 << 25  # of a file that a thread takes in at a time


@dataclass(frozen=True, slots=True)
class IntakeCounts:
    """What became of the reports: read = unique + duplicates + conflicting + malformed."""

    files: int
    read: int
    duplicates: int  # exact repetitions
    conflicting: int  # same id, other contents
    skipped: tuple[Skipped, ...] = ()  # by reason, with the place as it was sent

    @property
    def malformed(self) -> int:
        """Reports without the plan's form, or without a token that is good."""
        return sum(each.count for each in self.skipped)

    @property
    def unique(self) -> int:
        """Reports that count."""
        return self.read - self.duplicates - self.conflicting - self.malformed


class Sink(Protocol):
    """What takes reports."""

    def add(self, reports: Rows, /) -> None:
        """Take reports, (n, width)."""


class Intake(contextlib.AbstractContextManager["Intake"]):
    """Takes reports of one plan in and gives each id back once.

    Parameters
    ----------
    plan : Plan
        The plan that they answer.
    memory_reports, folder
        As for `Deduplicator`.
    most_reports : int
        Reports to take at most; more are an error, whoever sends them.
    workers : int
        Threads that read files side by side.
    into : Sink, optional
        What takes the reports as they come, such as a store's writer, and counts each id once; then nothing
        is given back here.
    skips : Skips, optional
        What is told of those left out.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> with Intake(plan) as intake:
    ...     intake.add_stream([bytes(20), bytes(6), bytes(5)])  # two reports and a piece of a third
    ...     sum(len(chunk) for chunk in intake.chunks()), intake.counts.duplicates
    (1, 1)
    >>> print(intake.counts.skipped[0])
    1 left out, it was cut short: report 2
    """

    def __init__(
        self,
        plan: Plan,
        *,
        memory_reports: int | None = None,
        folder: Path | None = None,
        most_reports: int = MOST_REPORTS,
        workers: int = 1,
        into: Sink | None = None,
        skips: Skips | None = None,
    ) -> None:
        self._plan = plan
        self._form = report_form(plan)
        self._stretch = memory_reports or max(1, STRETCH_BYTES // plan.report_width)
        self._workers = workers
        self._lock = threading.Lock()
        self._once = Deduplicator(
            plan.report_width, memory_reports=self._stretch if workers > 1 else memory_reports, folder=folder
        )
        self._reports: Sink = into or self._once
        self._skips = skips or Skips()
        self._files: list[ReportFile] = []
        self._read = 0
        self._most = most_reports
        self._whole = True

    def __exit__(self, *_: object) -> None:
        self._once.__exit__()

    def add_files(self, paths: Iterable[AnyPath]) -> None:
        """Take report files in: all of them or, if one is not whole, nothing at all.

        Raises
        ------
        FileError
            If a file is truncated, foreign, of another version or corrupt; then this intake hands nothing on.
        """
        files = [ReportFile.open(path, self._plan) for path in paths]
        self._whole = False
        self._once.expected += sum(file.count for file in files)
        for file in files:
            with file.reading() as reading:
                stretches = range(-(-file.count // self._stretch))
                in_shares(partial(self._read_in, file, reading), stretches, self._workers)
                reading.finish()
        self._whole = True
        self._files += files

    def _read_in(self, file: ReportFile, reading: Reading, stretches: Iterable[int]) -> None:
        """Take as many stretches of a file in as are dealt to this thread."""
        rows = np.empty((min(self._stretch, file.count), file.width), dtype=np.uint8)
        for _ in stretches:
            start, count = reading.next_into(rows)
            self._take(rows[:count], self._noting(start, place_in(file)))

    def add_stream(self, pieces: Iterable[bytes]) -> None:
        """Take a stream of reports in, back to back, in pieces of any length."""
        if self._plan.ids == "token":
            raise PlanError("this plan's ids follow from tokens: its reports come as uploads (add_uploads)")
        for rows, note in self._rows(pieces, self._plan.report_width, "report"):
            self._take(rows, note)

    def add_uploads(self, pieces: Iterable[bytes], *, issued: Issued, spent: Marks | None = None) -> None:
        """Take a stream of uploads in, token ‖ report each, and spend their tokens.

        Parameters
        ----------
        pieces : iterable of bytes
            Uploads, back to back, in pieces of any length.
        issued : container of bytes, or callable
            The tokens that were issued for this plan, each to one person; or who knows them by their marks,
            (n, 32) -> (n,).
        spent : set of bytes, or alike
            Marks of tokens that were spent; those of the admitted uploads are added. None: whoever takes the
            reports counts each id once over all time, as a store does, and a token has one id.
        """
        if self._plan.ids != "token":
            raise PlanError("this plan's ids are drawn on the device: its reports come without tokens")
        for rows, note in self._rows(pieces, self._plan.upload_width, "upload"):
            self._count(len(rows))
            self._reports.add(admitted(self._plan, self._form, rows, issued, spent, note))

    def add_admitted(self, pieces: Iterable[bytes], issuers: Collection[bytes]) -> None:
        """Take a stream of uploads in, admission ‖ report each, of those whom these public keys admit."""
        for rows, note in self._rows(pieces, ADMISSION_BYTES + self._plan.report_width, "upload"):
            self._count(len(rows))
            self._reports.add(let_in(self._plan, self._form, rows, issuers, note))

    def chunks(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports, each id once, (m, width) at a time, sorted by id. To be called once."""
        return self.once().chunks()

    def once(self) -> Deduplicator:
        """Return what gives the reports back, each id once, also in parts; nothing is added from here on."""
        if not self._whole:
            raise ReportError("a file was not whole: nothing of this intake may count")
        return self._once

    @property
    def counts(self) -> IntakeCounts:
        """How many were read and removed; complete when `chunks` is exhausted."""
        once = self._once
        return IntakeCounts(len(self._files), self._read, once.duplicates, once.conflicting, self._skips.all)

    def places_of(self, ids: NDArray[np.uint8], reason: str) -> tuple[Skipped, ...]:
        """Find the reports with these ids, (n, 12), in the files as they were sent."""
        skips, wanted = Skips(), {identity.tobytes() for identity in ids}
        for file in self._files:
            start = 0
            for chunk in file.chunks():
                found = [number for number, row in enumerate(chunk) if row[:ID_BYTES].tobytes() in wanted]
                skips.note(reason, start + np.array(found, dtype=np.int64), place_in(file))
                start += len(chunk)
        return skips.all

    def _noting(self, start: int, place: Callable[[int], str]) -> Note:
        """Return who is told of reports that are left out, by their numbers after `start`."""
        return lambda reason, numbers: self._skips.note(reason, start + numbers, place)

    def _take(self, rows: Rows, note: Note) -> None:
        wrong = self._form.foreign(rows)
        with self._lock:
            self._count(len(rows))
            note(self._form.reason, np.flatnonzero(wrong))
        self._reports.add(rows[~wrong] if wrong.any() else rows)

    def _count(self, more: int) -> None:
        self._read += more
        if self._read > self._most:
            self._whole = False
            raise ReportError(f"more than {self._most} reports came in; none of them counts")

    def _rows(self, pieces: Iterable[bytes], width: int, name: str) -> Iterator[tuple[Rows, Note]]:
        """Yield whole rows and who is told of them; what is left at the end was cut short."""
        start = 0

        def cut_short() -> None:
            self._read += 1
            self._skips.note("it was cut short", np.array([start]), place)

        def place(number: int) -> str:
            return f"{name} {number}"

        for rows in whole_rows(pieces, width, cut_short):
            yield rows, self._noting(start, place)
            start += len(rows)


@contextlib.contextmanager
def take_in(
    paths: Iterable[AnyPath],
    plan: Plan,
    *,
    memory_reports: int | None = None,
    folder: Path | None = None,
    workers: int = 1,
) -> Iterator[Intake]:
    """Read report files of a plan; the block starts when all of them have proved whole.

    Parameters
    ----------
    paths : iterable of str or os.PathLike
        The files.
    plan : Plan
        The plan that they must answer.
    memory_reports, folder, workers
        As for `Intake`.

    Raises
    ------
    FileError
        If a file is truncated, foreign, of another version or corrupt; then nothing was handed on.

    Examples
    --------
    >>> from coterie.wire.report_file import writing_reports
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> with writing_reports("reports.coterie", plan) as writer:
    ...     writer.append(bytes(2 * plan.report_width))
    >>> with take_in(["reports.coterie"], plan) as intake:
    ...     sum(len(chunk) for chunk in intake.chunks()), intake.counts.duplicates
    (1, 1)
    """
    with Intake(plan, memory_reports=memory_reports, folder=folder, workers=workers) as intake:
        intake.add_files(paths)
        yield intake


def place_in(file: ReportFile) -> Callable[[int], str]:
    """Return a function that says where in a file a report stands, by its number from 0."""
    return lambda number: f"{file.path}, report {number} (byte {HEADER.size + number * file.width})"
