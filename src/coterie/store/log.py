"""The log of an embedded store: which segments there are, what each holds, how far the last was acknowledged.

    FOLDER/log/00000001.segment   what came in since the last compaction, of all plans (`segments`)
           segments               which of them there are, and how many reports of which plans each holds
           tail                   the segment that grows, and up to which byte it was acknowledged

A segment is there, whole, as the list says, or the log is refused: that one is gone, or is one too many, does
not go unnoticed. The list is written after a segment is begun and before one is removed, so that a crash
leaves a segment too many and never one too few: it holds nothing that was acknowledged, or nothing that is
not in the files of its studies.

The tail is written after the disk has confirmed a commit, and not flushed: it survives the death of a process
and may be old after a loss of power. What lies beyond it and is no whole frame was being written and is cut
off; that is counted and said. What lies before it and is no whole frame was acknowledged, and is damage.
"""

from __future__ import annotations

import logging
import os
import re
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from coterie.errors import FileError, PlanError, StoreUnavailableError
from coterie.plain.canonical import canonical_bytes, parse_object
from coterie.plain.checks import SHA256_HEX, checked_fields, checked_integer, checked_list, checked_match
from coterie.plain.files import sync_folder, write_whole
from coterie.store.segments import Entry, SegmentWriter, extent, read_segment, was_begun, write_segment
from coterie.store.state import MOST, read_checked, write_checked

SEGMENT_BYTES: Final = 1 << 28  # a segment that is larger is completed

_SEGMENT: Final = re.compile(r"([0-9]{8,18})\.segment")
_TAIL: Final = struct.Struct(">QQ")
_CRC: Final = struct.Struct(">I")

Reports = dict[str, int]  # by plan
CountReports = Callable[[Entry], int]
Damaged = Callable[[int, FileError], object]
Through = Mapping[str, int]  # by plan, up to which segment its reports are in its own files

log = logging.getLogger("coterie.store")


class Log:
    """The segments of a store. Not for several threads at once; the store has the locks.

    Parameters
    ----------
    folder : Path
        The store's.
    count : callable
        Returns how many reports an entry holds; FileError if it is none of the store's.

    Attributes
    ----------
    held : dict
        By number, how many reports of which plans a segment holds; 0 where it has withdrawn ids only.
    listed : dict
        The same as the list said when the log was loaded; None for the one that grew.
    cut : int
        Bytes that were cut off so far: being written when a process or the machine stopped.
    """

    def __init__(self, folder: Path, count: CountReports) -> None:
        self.held: dict[int, Counter[str]] = {}
        self.listed: dict[int, Reports | None] = {}
        self.cut = 0
        self._folder, self._count = folder, count
        self._last = 0  # the highest number of a segment so far
        self._writer: SegmentWriter | None = None
        self._tail = -1

    def path(self, number: int) -> Path:
        """Return the file of a segment."""
        return self._folder / "log" / f"{number:08}.segment"

    # ------------------------------------------------------------ opening

    def create(self) -> None:
        """Make the list and the tail of a new log."""
        (self._folder / "log").mkdir(mode=0o700, exist_ok=True)
        write_list(self._folder, dict.fromkeys(segments_in(self._folder)), 0)
        reset_tail(self._folder)

    def load(self, through: Through, damaged: Damaged | None = None) -> None:
        """Read all segments to their last byte, and finish what a crash left to do.

        Parameters
        ----------
        through : mapping of str to int
            For each plan, up to which segment its reports are in its own files.
        damaged : callable, optional
            Called with the number of a segment that is not as it should be, and why; then nothing is changed,
            and nothing can be written.

        Raises
        ------
        FileError
            If a segment is damaged, missing or one too many, and `damaged` is None.
        """
        self.listed, self.cut = read_list(self._folder)
        found = segments_in(self._folder)
        self._last = max([0, *self.listed, *found, *through.values()])
        for number in sorted({*self.listed, *found}):
            try:
                self._load(number, number in found, through, looking=damaged is not None)
            except FileError as error:
                if damaged is None:
                    raise
                damaged(number, error)
        if damaged is None:
            try:
                read_tail(self._folder)
            except FileError:
                if self._writer is not None:
                    raise
                reset_tail(self._folder)  # nothing grows: it says nothing
            self._tail = os.open(self._folder / "tail", os.O_WRONLY | os.O_CLOEXEC)

    def _load(self, number: int, is_there: bool, through: Through, *, looking: bool) -> None:
        """Read one segment, or see to it that one may be missing, or is not needed."""
        path, stated = self.path(number), self.listed.get(number, {})
        needed = {plan for plan in (through if stated is None else stated) if through.get(plan, 0) < number}
        if not is_there:
            if needed:
                raise FileError(path, 0, _words(stated), "no file: restore it")
            return
        if number not in self.listed:
            self._remove_stray(path, number, through, looking=looking)
            return
        grew = max((each for each, reports in self.listed.items() if reports is None), default=0)
        size = self._recover(path, number, looking=looking) if number == grew else None
        self.held[number] = Counter()
        for entry in read_segment(path, number, size):
            self.held[number][entry.plan_id.hex()] += self._count(entry)
        if size is not None and not looking:
            self._writer = SegmentWriter(path, number, size=size)
        if stated is not None and any(self.held[number].get(plan) != stated[plan] for plan in needed):
            raise FileError(path, 0, _words(stated), "another number of reports")

    def _recover(self, path: Path, number: int, *, looking: bool) -> int | None:
        """Cut off what was being written; return how many bytes are whole, None if it was completed."""
        tail, size = read_tail(self._folder)
        whole, ended = extent(path, number, size if tail == number else 0)
        cut = path.stat().st_size - whole
        if cut and not looking:
            os.truncate(path, whole)
            with path.open("rb") as file:
                os.fsync(file.fileno())
            self.cut += cut
            self._write_list(growing=number)
            log.warning(
                "%s: cut %d bytes off its end: they were being written when the store stopped, and nobody "
                "was told that they were taken in",
                *(path.name, cut),
            )
        return None if ended else whole

    @staticmethod
    def _remove_stray(path: Path, number: int, through: Through, *, looking: bool) -> None:
        """Remove a segment that the list does not name, if it holds nothing that is needed."""
        if was_begun(path, number):
            whole, ended = extent(path, number, 0)
            entries = read_segment(path, number, None if ended else whole)
            if any(through.get(entry.plan_id.hex(), 0) < number for entry in entries):
                raise FileError(path, 0, "a segment that the store knows", "another: it is one too many")
        if not looking:
            path.unlink()
            sync_folder(path.parent)

    # ------------------------------------------------------------ writing

    def commit(self, entries: list[Entry]) -> None:
        """Write one frame and flush it."""
        if self._writer is not None and self._writer.size >= SEGMENT_BYTES:
            self.complete()
        if self._writer is None:
            number = self._last + 1
            self._writer = SegmentWriter(self.path(number), number)
            self._last = number
            self.held[number] = Counter()
            self._write_list(growing=number)
        self._writer.append(entries)
        try:
            os.pwrite(self._tail, _sealed_tail(self._writer.number, self._writer.size), 0)
        except OSError as error:  # it is on the disk; whoever hears of this sends it again
            raise StoreUnavailableError(f"the disk failed: {error.strerror}") from error
        for entry in entries:
            self.held[self._writer.number][entry.plan_id.hex()] += self._count(entry)

    def complete(self) -> None:
        """Seal the segment that grows."""
        if self._writer is not None:
            self._writer.seal()
            self._writer = None
            os.utime(self._tail, (0, 0))  # as the segment's: a copy does not tell when the last report came
            self._write_list()

    def entries(self, number: int) -> Iterator[Entry]:
        """Yield what a completed segment holds."""
        return read_segment(self.path(number), number)

    def forget(self, needed: Mapping[int, set[str]], lock: threading.Lock) -> None:
        """Keep in these segments the entries of these plans only; remove those of which nothing is needed.

        The lock is the store's, and held only while the list is written.
        """
        for number, plans in needed.items():
            if plans:
                kept = (entry for entry in self.entries(number) if entry.plan_id.hex() in plans)
                write_segment(self.path(number), number, kept)
        with lock:
            for number, plans in needed.items():
                held = self.held.pop(number)
                if plans:
                    self.held[number] = Counter({plan: held[plan] for plan in plans})
            if needed:
                self._write_list(growing=self.growing)
        for number in needed.keys() - self.held.keys():
            self.path(number).unlink()
            sync_folder(self.path(number).parent)

    def close(self) -> None:
        """Let go of the files."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._tail >= 0:
            os.close(self._tail)
            self._tail = -1

    @property
    def growing(self) -> int | None:
        """The number of the segment that grows."""
        return None if self._writer is None else self._writer.number

    def _write_list(self, growing: int | None = None) -> None:
        listed: dict[int, Reports | None] = dict(self.held)
        write_list(self._folder, listed if growing is None else {**listed, growing: None}, self.cut)


# ---------------------------------------------------------------- the list and the tail


def segments_in(folder: Path) -> list[int]:
    """Return the numbers of the segments that lie in a store's folder, sorted."""
    numbers = []
    for path in (folder / "log").iterdir():
        if not (match := _SEGMENT.fullmatch(path.name)):
            raise FileError(path, 0, "a segment", "something else")
        numbers.append(int(match[1]))
    return sorted(numbers)


def write_list(folder: Path, segments: Mapping[int, Reports | None], cut: int) -> None:
    """Write which segments there are, None for the reports of the one that grows, and what was cut off."""
    listed = [{"number": number, "reports": segments[number]} for number in sorted(segments)]
    document = {"format": "coterie-segments", "version": 1, "segments": listed, "cut": cut}
    write_checked(folder / "segments", canonical_bytes(document))


def read_list(folder: Path) -> tuple[dict[int, Reports | None], int]:
    """Return which segments there should be, and how many bytes were cut off so far."""
    path = folder / "segments"
    try:
        data = parse_object(read_checked(path), "the list of segments")
        checked_fields("the list", data, ["format", "version", "segments", "cut"])
        if (data["format"], data["version"]) != ("coterie-segments", 1):
            raise PlanError("another format or version")
        listed = [_checked_segment(each) for each in checked_list("segments", data["segments"])]
        return dict(listed), checked_integer("cut", data["cut"], 0, MOST)
    except FileNotFoundError:
        raise FileError(path, 0, "the list of segments", "no file: restore it") from None
    except PlanError as error:
        raise FileError(path, 0, "the list of segments, version 1", str(error)) from None


def _checked_segment(data: Any) -> tuple[int, Reports | None]:
    each = checked_fields("a segment", data, ["number", "reports"])
    number, reports = checked_integer("number", each["number"], 1, MOST), each["reports"]
    if reports is None:
        return number, None
    if not isinstance(reports, dict):
        raise PlanError("reports must be numbers by plan")
    return number, {
        checked_match("plan", plan, SHA256_HEX): checked_integer("reports", count, 0, MOST)
        for plan, count in reports.items()
    }


def read_tail(folder: Path) -> tuple[int, int]:
    """Return the number of the segment that grew last, and up to which byte it was acknowledged."""
    path = folder / "tail"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileError(path, 0, "up to where the log was acknowledged", "no file: restore it") from None
    if len(data) == _TAIL.size + _CRC.size:
        number, size = _TAIL.unpack_from(data)
        if data == _sealed_tail(number, size):
            return number, size
    raise FileError(path, 0, "up to where the log was acknowledged", "a damaged file")


def reset_tail(folder: Path) -> None:
    """Write that nothing grows."""
    write_whole(folder / "tail", _sealed_tail(0, 0), 0o600)


def _sealed_tail(number: int, size: int) -> bytes:
    body = _TAIL.pack(number, size)
    return body + _CRC.pack(zlib.crc32(body))


def _words(reports: Reports | None) -> str:
    if reports is None:
        return "the segment that grew"
    told = ", ".join(f"{count} reports of plan {plan[:12]}…" for plan, count in sorted(reports.items()))
    return f"a segment with {told}"
