"""Segments: the embedded store's log, a file of frames that only grows.

    header   "COTERIE-SEGMENT" and a newline, version (2), zero (6), number (8), marker (8), CRC-32 (4)
    frame    marker (8), length of the payload (4), CRC-32 of offset, length and payload (4), payload
    payload  entries back to back: kind (1), plan id (32), length (4), body

One commit is one frame, one write and one `fdatasync`. A segment that is complete ends with a frame of one
entry of kind END. Only the last one may lack it; a tail of it that is no whole frame was never acknowledged
and is cut off. Since a frame is written only when the one before it is on the disk, a broken frame with a
whole one after it is damage, and damage is refused. The marker is drawn for each segment and never leaves the
machine, so nobody can send reports that look like a frame.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import secrets
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from coterie.errors import FileError, StoreFullError, StoreUnavailableError
from coterie.plain.files import replacing, sync_folder
from coterie.store.sets import REPORTS, WITHDRAWN

MAGIC: Final = b"COTERIE-SEGMENT\n"
VERSION: Final = 1
MOST_PAYLOAD: Final = 1 << 30  # bytes of one commit

_END: Final = 3  # no body, no plan; of the other kinds: reports or withdrawn ids, back to back

_HEADER: Final = struct.Struct(">16sH6xQ8s")
_CRC: Final = struct.Struct(">I")
_HEADER_BYTES: Final = _HEADER.size + _CRC.size
_FRAME: Final = struct.Struct(">8sII")
_PLACE: Final = struct.Struct(">QI")
_ENTRY: Final = struct.Struct(">B32sI")
_MARKER_BYTES: Final = 8
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Entry(NamedTuple):
    """Reports or withdrawn ids of one plan."""

    kind: int
    plan_id: bytes
    body: bytes | memoryview


@contextlib.contextmanager
def room_on_disk() -> Iterator[None]:
    """Raise that the disk is full where an error of the operating system in the block says so."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise StoreFullError(f"the disk is full; nothing was taken in ({error.strerror})") from error


class SegmentWriter:
    """The segment that grows. Not for several threads at once.

    Parameters
    ----------
    path : Path
        Its file; made if `size` is None.
    number : int
        Its place among the segments.
    size : int, optional
        Bytes that are whole, of a segment that is there: what `recover` returned.
    """

    def __init__(self, path: Path, number: int, *, size: int | None = None) -> None:
        self.path = path
        self.number = number
        self.broken = False  # the disk failed: what it holds beyond `size` is unknown
        if size is None:
            header, self._marker = _new_header(number)
            with room_on_disk():
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                try:
                    _write_all(self._file, header)
                    os.fsync(self._file)
                    sync_folder(path.parent)
                except BaseException:
                    os.close(self._file)
                    path.unlink(missing_ok=True)
                    raise
            self.size = len(header)
        else:
            self._marker = _read_marker(path, number)
            self._file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            os.lseek(self._file, size, os.SEEK_SET)
            self.size = size

    def append(self, entries: Iterable[Entry]) -> None:
        """Write entries and flush them to the disk: all of them or, if it is full, none.

        Raises
        ------
        StoreFullError
            If the disk is full; the segment is as it was.
        StoreUnavailableError
            If the disk failed. Nothing more is taken in until the store is opened again.
        """
        if self.broken:
            raise StoreUnavailableError(
                "the disk failed before; stop the service, check the disk, start again"
            )
        frame = _frame(self._marker, self.size, entries)
        try:
            _write_all(self._file, frame)
            os.fdatasync(self._file)
        except OSError as error:
            self._cut_back()
            if error.errno in _FULL:
                raise StoreFullError(f"the disk is full; nothing was taken in ({error.strerror})") from error
            self.broken = True  # after a failed flush nobody knows what the disk holds
            raise StoreUnavailableError(f"the disk failed: {error.strerror}") from error
        self.size += len(frame)

    def seal(self) -> None:
        """Mark the segment as complete, and close it."""
        self.append([Entry(_END, bytes(32), b"")])
        os.utime(self._file, (0, 0))  # a copy of the folder does not tell when the last report came
        self.close()

    def close(self) -> None:
        """Close the file as it is."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _cut_back(self) -> None:
        """Take a frame that was not acknowledged off the end."""
        try:
            os.ftruncate(self._file, self.size)
            os.lseek(self._file, self.size, os.SEEK_SET)
            os.fdatasync(self._file)
        except OSError:
            self.broken = True


def write_segment(path: Path, number: int, entries: Iterable[Entry]) -> None:
    """Write a complete segment, whole or not at all, in the place of the one that is there."""
    header, marker = _new_header(number)
    with room_on_disk(), replacing(path, 0o600) as file:
        size = file.write(header)
        for entry in entries:
            size += file.write(_frame(marker, size, [entry]))
        file.write(_frame(marker, size, [Entry(_END, bytes(32), b"")]))
        file.flush()
        os.utime(file.fileno(), (0, 0))


def extent(path: Path, number: int, acknowledged: int) -> tuple[int, bool]:
    """Return how many bytes of the last segment are whole, and whether it is complete.

    Parameters
    ----------
    path : Path
        Its file.
    number : int
        Its place among the segments.
    acknowledged : int
        Bytes that were surely acknowledged.

    Raises
    ------
    FileError
        If it is damaged: a broken frame was acknowledged, or has a whole one after it.
    """
    marker = _read_marker(path, number)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        offset, ended = _HEADER_BYTES, False
        while not ended and (payload := _payload(data, len(data), offset, marker)) is not None:
            ended = payload == _ENTRY.pack(_END, bytes(32), 0)
            offset += _FRAME.size + len(payload)
        if offset < acknowledged:
            found = f"damage: it was acknowledged to byte {acknowledged}"
            raise FileError(path, offset, "a whole frame", found)
        if offset < len(data):
            if ended or len(data) - offset > _FRAME.size + MOST_PAYLOAD:
                raise FileError(path, offset, "the end of the segment", "more bytes: it is damaged")
            if (place := _next_frame(data, offset, marker)) >= 0:
                raise FileError(path, offset, "a whole frame", f"damage: a whole one is at byte {place}")
    return offset, ended


def was_begun(path: Path, number: int) -> bool:
    """Return whether a segment has a whole header: it reaches the disk before anything else does."""
    try:
        _read_marker(path, number)
    except FileError:
        return path.stat().st_size > _HEADER_BYTES
    return True


def salvage(path: Path, number: int) -> Iterator[Entry]:
    """Yield the entries of all whole frames of a damaged segment; none if its header is damaged."""
    try:
        marker = _read_marker(path, number)
    except FileError:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        offset = _HEADER_BYTES
        while offset >= 0:
            payload = _payload(data, len(data), offset, marker)
            if payload is None:
                offset = _next_frame(data, offset, marker)
                continue
            with contextlib.suppress(FileError):
                yield from [entry for entry in _entries(path, offset, payload) if entry.kind != _END]
            offset += _FRAME.size + len(payload)


def read_segment(path: Path, number: int, size: int | None = None) -> Iterator[Entry]:
    """Yield the entries of a segment, a frame in memory at a time.

    Parameters
    ----------
    path : Path
        Its file.
    number : int
        Its place among the segments.
    size : int, optional
        Bytes that are whole, if it is not complete.

    Raises
    ------
    FileError
        If it is damaged.
    """
    marker = _read_marker(path, number)
    offset = _HEADER_BYTES
    with path.open("rb") as file:
        end = os.fstat(file.fileno()).st_size if size is None else size
        while size is None or offset < size:
            if (payload := _payload(file, end, offset, marker)) is None:
                raise FileError(path, offset, "a whole frame", "a damaged segment")
            for entry in _entries(path, offset, payload):
                if entry.kind == _END:
                    if size is not None or file.read(1):
                        raise FileError(path, offset, "the end of the segment", "a damaged segment")
                    return
                yield entry
            offset += _FRAME.size + len(payload)


def _new_header(number: int) -> tuple[bytes, bytes]:
    marker = secrets.token_bytes(_MARKER_BYTES)
    head = _HEADER.pack(MAGIC, VERSION, number, marker)
    return head + _CRC.pack(zlib.crc32(head)), marker


def _read_marker(path: Path, number: int) -> bytes:
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
    if len(head) < _HEADER_BYTES or zlib.crc32(head[: _HEADER.size]) != _CRC.unpack(head[_HEADER.size :])[0]:
        raise FileError(path, 0, "the header of a segment", "a damaged one")
    magic, version, found, marker = _HEADER.unpack_from(head)
    if magic != MAGIC or version != VERSION:
        raise FileError(path, 0, f"a segment of version {VERSION}", f"version {version}")
    if found != number:
        raise FileError(path, 24, f"segment {number}, as its name says", f"segment {found}")
    return bytes(marker)


def _frame(marker: bytes, offset: int, entries: Iterable[Entry]) -> bytes:
    pieces: list[bytes | memoryview] = []
    for kind, plan_id, body in entries:
        pieces += [_ENTRY.pack(kind, plan_id, len(body)), body]
    payload = b"".join(pieces)
    if len(payload) > MOST_PAYLOAD:
        raise ValueError(f"one commit holds at most {MOST_PAYLOAD} bytes, got {len(payload)}")
    return _FRAME.pack(marker, len(payload), _crc(offset, payload)) + payload


def _crc(offset: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(_PLACE.pack(offset, len(payload))))


def _payload(data: mmap.mmap | BinaryIO, end: int, offset: int, marker: bytes) -> bytes | None:
    """Return the payload of the frame at an offset, or None if no whole frame is there before the end."""
    start = offset + _FRAME.size
    if start > end:
        return None
    data.seek(offset)
    found, length, crc = _FRAME.unpack(data.read(_FRAME.size).ljust(_FRAME.size))
    if found != marker or length > min(MOST_PAYLOAD, end - start):
        return None
    payload = data.read(length)
    return payload if crc == _crc(offset, payload) else None


def _next_frame(data: mmap.mmap, offset: int, marker: bytes) -> int:
    """Return where the next whole frame after an offset begins, -1 if there is none."""
    place = data.find(marker, offset + 1)
    while place >= 0 and _payload(data, len(data), place, marker) is None:
        place = data.find(marker, place + 1)
    return place


def _entries(path: Path, offset: int, payload: bytes) -> Iterator[Entry]:
    view, place = memoryview(payload), 0
    while place < len(view):
        kind, plan_id, length = _ENTRY.unpack(view[place : place + _ENTRY.size].tobytes().ljust(_ENTRY.size))
        place += _ENTRY.size
        if kind not in (REPORTS, WITHDRAWN, _END) or place + length > len(view):
            raise FileError(path, offset, "whole entries of a known kind", "others")
        yield Entry(kind, plan_id, view[place : place + length])
        place += length


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
