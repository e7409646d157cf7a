"""Intake: several report files in, each id once out, and nothing counts unless all of them are whole.

Every file's header, plan and length are checked before the first is read, and every digest before the first
report is handed on. A report without the plan's form is left out and counted; it stops nobody else's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie.collect.deduplicate import Deduplicator
from coterie.collect.forms import Skipped, Skips, form_of, place_in
from coterie.plan import Plan
from coterie.wire.report_file import HEADER, ReportFile


@dataclass(frozen=True, slots=True)
class IntakeCounts:
    """What became of the reports: read = unique + duplicates + conflicting + malformed."""

    files: int
    read: int
    duplicates: int  # exact repetitions
    conflicting: int  # same id, other contents
    skipped: tuple[Skipped, ...] = ()  # by reason, with the place in the file as it was sent

    @property
    def malformed(self) -> int:
        """Reports without the plan's form."""
        return sum(each.count for each in self.skipped)

    @property
    def unique(self) -> int:
        """Reports that count."""
        return self.read - self.duplicates - self.conflicting - self.malformed


class Intake:
    """The reports of several verified files; made by `take_in`."""

    def __init__(self, files: int, read: int, reports: Deduplicator, skips: Skips) -> None:
        self._files = files
        self._read = read
        self._reports = reports
        self._skips = skips

    def chunks(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports, each id once, (m, width) at a time, sorted by id. To be called once."""
        return self._reports.chunks()

    @property
    def counts(self) -> IntakeCounts:
        """How many were read and removed; complete when `chunks` is exhausted."""
        reports = self._reports
        return IntakeCounts(self._files, self._read, reports.duplicates, reports.conflicting, self._skips.all)


@contextlib.contextmanager
def take_in(
    paths: Iterable[str | os.PathLike[str]],
    plan: Plan,
    *,
    memory_reports: int | None = None,
    folder: Path | None = None,
) -> Iterator[Intake]:
    """Read report files of a plan; the block starts when all of them have proved whole.

    Parameters
    ----------
    paths : iterable of str or os.PathLike
        The files.
    plan : Plan
        The plan that they must answer.
    memory_reports, folder
        As for `Deduplicator`.

    Raises
    ------
    FileError
        If a file is truncated, foreign, of another version or corrupt; then nothing was handed on.

    Examples
    --------
    >>> from coterie.wire.report_file import write_reports
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> with write_reports("reports.coterie", plan) as writer:
    ...     writer.append(bytes(2 * plan.report_width))
    >>> with take_in(["reports.coterie"], plan) as intake:
    ...     sum(len(chunk) for chunk in intake.chunks()), intake.counts.duplicates
    (1, 1)
    """
    files = [ReportFile.open(path, plan) for path in paths]
    foreign, reason = form_of(plan)
    skips = Skips()
    with Deduplicator(plan.report_width, memory_reports=memory_reports, folder=folder) as reports:
        for file in files:
            place, start = place_in(file.path, HEADER.size, file.width), 0
            for chunk in file.chunks():
                wrong = foreign(chunk)
                skips.note(reason, start + np.flatnonzero(wrong), place)
                reports.add(chunk[~wrong] if wrong.any() else chunk)
                start += len(chunk)
        yield Intake(len(files), sum(file.count for file in files), reports, skips)
