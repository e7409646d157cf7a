"""Report files: a header of 64 bytes, the reports back to back, a digest.

    bytes 0-15   "COTERIE-REPORTS" and a newline
          16-17  version, 1               18-19  bytes of one report (width)      20-23  zero
          24-31  number of reports        32-63  id of the plan they answer
          64-    the reports, width bytes each
          then   SHA-256 of everything before it

Integers are big-endian (docs/wire-format.md). The reports start at a fixed place, so `numpy.frombuffer` reads
them where they lie. A file is written under a temporary name and renamed when complete. A reader checks
header, length and digest; until the digest has matched, nothing it returned may count.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import BinaryIO, ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError, PlanError, ReportError
from coterie.plain.files import DIGEST_BYTES, AnyPath, check_digest, replacing
from coterie.plan import Plan
from coterie.wire.layout import Reports, as_rows

MAGIC: Final = b"COTERIE-REPORTS\n"
VERSION: Final = 1
HEADER: Final = struct.Struct(">16sHHIQ32s")
CHUNK_BYTES: Final = 1 << 21  # reports of so many bytes are read at a time unless told otherwise

_OFFSETS: Final = {"magic": 0, "version": 16, "width": 18, "reserved": 20, "count": 24, "plan": 32}


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report file whose header and length were checked.

    Attributes
    ----------
    path : Path
        The file.
    width : int
        Bytes of one report.
    count : int
        Reports in the file.
    plan_id : bytes
        32 bytes: the plan that the reports answer.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> with writing_reports("reports.coterie", plan) as writer:
    ...     writer.append(bytes(3 * plan.report_width))
    >>> ReportFile.open("reports.coterie", plan).read_all().shape
    (3, 13)
    """

    path: Path
    width: int
    count: int
    plan_id: bytes

    magic: ClassVar[bytes] = MAGIC
    kind: ClassVar[str] = "a report file"
    layout: ClassVar[struct.Struct] = HEADER

    @classmethod
    def width_of(cls, plan: Plan) -> int:
        """Return the bytes of one row of such a file of a plan."""
        return plan.report_width

    @classmethod
    def open(cls, path: AnyPath, plan: Plan | None = None) -> Self:
        """Check a file's header and length, and that it answers `plan` if one is given.

        Raises
        ------
        FileError
            With the file, the offset and what was expected there.
        """
        with Path(path).open("rb") as file:
            header = file.read(cls.layout.size)
            size = file.seek(0, os.SEEK_END)
        return cls._of_header(Path(path), header, size, plan)

    @classmethod
    def rows_of(cls, data: bytes, plan: Plan, name: str) -> NDArray[np.uint8]:
        """Return the rows, (count, width), of a whole file that came as bytes, once its digest has matched.

        Parameters
        ----------
        data : bytes
            The file.
        plan : Plan
            The plan that it must answer.
        name : str
            What errors call it.

        Raises
        ------
        FileError
            With the offset and what was expected there.
        """
        file = cls._of_header(Path(name), data[: cls.layout.size], len(data), plan)
        view = memoryview(data)
        file._check_digest(hashlib.sha256(view[:-DIGEST_BYTES]).digest(), data[-DIGEST_BYTES:])
        rows = np.frombuffer(view[cls.layout.size : -DIGEST_BYTES], dtype=np.uint8)
        return rows.reshape(file.count, file.width)

    @classmethod
    def _of_header(cls, path: Path, header: bytes, size: int, plan: Plan | None) -> Self:
        """Check the first bytes of a file, and how many it has."""
        if header[: len(cls.magic)] != cls.magic[: len(header)]:
            raise FileError(path, _OFFSETS["magic"], f"{cls.magic!r}, the start of {cls.kind}")
        if len(header) < cls.layout.size:
            raise FileError(path, len(header), f"a header of {cls.layout.size} bytes", "the end of the file")
        version, width, reserved, count, plan_id = cls._unpacked(header)
        if version != VERSION:
            raise FileError(path, _OFFSETS["version"], f"version {VERSION}", f"version {version}")
        if reserved != 0:
            raise FileError(path, _OFFSETS["reserved"], "four zero bytes", f"{reserved:#010x}")
        if plan is not None and plan_id != plan.id_bytes:
            raise FileError(path, _OFFSETS["plan"], f"reports of plan {plan.id}", f"plan {plan_id.hex()}")
        if width == 0 or (plan is not None and width != cls.width_of(plan)):
            wanted = "1 or more" if plan is None else cls.width_of(plan)
            raise FileError(path, _OFFSETS["width"], f"a report width of {wanted}", str(width))
        expected = cls.layout.size + count * width + DIGEST_BYTES
        if size != expected:
            wanted = f"{expected} bytes in all ({count} reports of {width} bytes)"
            found = f"{size}: the file was cut short or added to"
            raise FileError(path, min(size, expected), wanted, found)
        return cls(path, width, count, plan_id)

    @property
    def header(self) -> bytes:
        """The 64 bytes that open the file."""
        return self.packed(self.width, self.count, self.plan_id)

    @classmethod
    def packed(cls, width: int, count: int, plan_id: bytes) -> bytes:
        """Return the header of a file of so many reports."""
        return cls.layout.pack(cls.magic, VERSION, width, 0, count, plan_id)

    @classmethod
    def _unpacked(cls, header: bytes) -> tuple[int, int, int, int, bytes]:
        """Return version, width, what must be zero, count and plan id of a header."""
        _, version, width, reserved, count, plan_id = cls.layout.unpack(header)
        return version, width, reserved, count, plan_id

    def chunks(self, reports_per_chunk: int | None = None) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports, (m, width) at a time, and check the digest after the last.

        If this ends in a FileError, nothing of what it yielded may count: `verify` first, or collect into
        something that can be thrown away.
        """
        if reports_per_chunk is None:  # by bytes: a foreign header may claim a width of 65,535
            reports_per_chunk = max(1, CHUNK_BYTES // self.width)
        if reports_per_chunk < 1:
            raise ValueError(f"reports_per_chunk must be at least 1, got {reports_per_chunk}")
        with self.reading() as reading:
            for start in range(0, self.count, reports_per_chunk):
                rows = np.empty((min(reports_per_chunk, self.count - start), self.width), dtype=np.uint8)
                reading.next_into(rows)
                yield rows
            reading.finish()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Reading]:
        """Open the file, in the block, for threads that read it side by side, each the next stretch."""
        with self.path.open("rb", buffering=0) as file:
            yield Reading(self, file)

    def verify(self) -> bytes:
        """Read the whole file in constant memory and return its digest, 32 bytes, once it has matched."""
        for _ in self.chunks():
            pass
        return self.stated_digest()

    def stated_digest(self) -> bytes:
        """Return the 32 bytes that end the file; whether they are its digest, `chunks` finds out."""
        with self.path.open("rb") as file:
            file.seek(-DIGEST_BYTES, os.SEEK_END)
            return file.read()

    def read_all(self) -> NDArray[np.uint8]:
        """Return all reports, (count, width), after the digest has matched."""
        return np.concatenate([np.empty((0, self.width), dtype=np.uint8), *self.chunks()])

    def _read(self, file: FileIO, size: int) -> bytes:
        data = file.read(size)
        if len(data) < size:
            raise FileError(self.path, file.tell(), f"{size - len(data)} more bytes", "the end of the file")
        return data

    def _check_digest(self, computed: bytes, stored: bytes) -> None:
        check_digest(computed, stored, self.path, self.layout.size + self.count * self.width)


class Reading:
    """A report file that threads read side by side; what they read counts once `finish` has returned."""

    def __init__(self, report_file: ReportFile, file: FileIO) -> None:
        header = report_file._read(file, report_file.layout.size)
        if header != report_file.header:
            was = "the header it had when it was opened"
            raise FileError(report_file.path, 0, was, "another file in its place")
        self._report_file = report_file
        self._file = file
        self._digest = hashlib.sha256(header)
        self._lock = threading.Lock()
        self._next = 0

    def next_into(self, rows: NDArray[np.uint8]) -> tuple[int, int]:
        """Fill the start of `rows`, (m, width), with the next reports.

        Returns
        -------
        start, count : int
            The number of the first one, and how many there are: 0 when none are left.
        """
        with self._lock:  # a digest has an order
            start = self._next
            count = min(len(rows), self._report_file.count - start)
            left = rows[:count].reshape(-1).data
            while left:
                done = self._file.readinto(left)
                if not done:
                    path, at = self._report_file.path, self._file.tell()
                    raise FileError(path, at, f"{len(left)} more bytes", "the end of the file")
                left = left[done:]
            self._digest.update(rows[:count].data)
            self._next += count
        return start, count

    def finish(self) -> None:
        """Raise FileError unless everything was read and the digest matches."""
        stored = self._report_file._read(self._file, DIGEST_BYTES)
        self._report_file._check_digest(self._digest.digest(), stored)


class ReportWriter:
    """Appends reports to a file that is being written; made by `writing_reports`."""

    def __init__(self, file: BinaryIO, plan: Plan, kind: type[ReportFile] = ReportFile) -> None:
        self._file = file
        self._kind, self._width = kind, kind.width_of(plan)
        self._plan = plan
        self.count = 0  # reports appended so far
        self.digest = b""  # of the file, once it is finished
        file.write(bytes(kind.layout.size))  # the place of the header, which needs the count

    def append(self, reports: Reports) -> None:
        """Append reports of the plan, back to back: bytes or an (n, width) array of uint8."""
        rows = as_rows(reports, self._width)
        self._file.write(np.ascontiguousarray(rows).data)
        self.count += len(rows)

    def finish(self) -> None:
        """Fill in the header, then the digest of all that was written."""
        self._file.seek(0)
        self._file.write(self._kind.packed(self._width, self.count, self._plan.id_bytes))
        self._file.seek(0)
        self.digest = hashlib.file_digest(self._file, "sha256").digest()  # type: ignore[arg-type]
        self._file.seek(0, os.SEEK_END)
        self._file.write(self.digest)


@contextlib.contextmanager
def writing_reports(
    path: AnyPath,
    plan: Plan,
    kind: type[ReportFile] = ReportFile,
    *,
    overwrite: bool = False,
    private: bool = False,
) -> Iterator[ReportWriter]:
    """Write a report file in pieces; it appears under its name, complete, when the block ends well.

    A file of reports that are still to be mixed, or that is `private`, can be read by its owner only. One
    that exists is replaced only with `overwrite`.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> with writing_reports("written.coterie", plan) as writer:
    ...     writer.append(bytes(plan.report_width))
    >>> ReportFile.open("written.coterie").count
    1
    """
    # What is not mixed yet is for the shuffler's eyes alone.
    private |= plan.mixed and kind is ReportFile
    with replacing(path, 0o600 if private else 0o666, overwrite=overwrite) as file:
        writer = ReportWriter(file, plan, kind)
        yield writer
        writer.finish()


def write_reports(
    path: AnyPath, plan: Plan, reports: Iterable[bytes] | Reports, *, overwrite: bool = False
) -> int:
    """Write reports, as they came from devices, to a report file: all of them or, if one is wrong, no file.

    Parameters
    ----------
    path : str or os.PathLike
        The file. `coterie aggregate`, `coterie shuffle` and `coterie.collect` read it.
    plan : Plan
        The plan that the reports answer.
    reports : iterable of bytes; or bytes or an (n, width) array of uint8, reports back to back
        What `Client.encode` returned, one item a device (or several reports of `plan.report_width` bytes an
        item). Where ids follow from tokens an upload is the token and the report: `coterie.collect.Intake`
        admits those by their tokens.
    overwrite : bool
        Replace a file that exists.

    Returns
    -------
    int
        Reports written.

    Raises
    ------
    ReportError
        If an item is no whole number of reports. Whether a device can have sent a report, and whether its id
        came before, is looked at when the file is read.
    FileExistsError
        If the file exists and must not be overwritten.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> received = [bytes(12) + b"a", bytes(12) + b"b"]  # in real life: Client(plan).encode(point)
    >>> write_reports("received.coterie", plan, received)
    2
    """
    if not isinstance(plan, Plan):
        raise PlanError(f"a report file needs a Plan, got {type(plan).__name__}; Plan.load reads one")
    batch = isinstance(reports, bytes | bytearray | memoryview | np.ndarray)
    items = cast("Iterable[Reports]", (reports,) if batch else reports)
    with writing_reports(path, plan, overwrite=overwrite) as writer:
        for number, item in enumerate(items):
            try:
                writer.append(item)
            except ReportError as error:
                raise error if batch else ReportError(f"item {number} of the reports: {error}") from None
    return writer.count
