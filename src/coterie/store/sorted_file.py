"""Sorted reports, or ids, of a study in a file: what the embedded store leaves once it is compacted.

Reports that count lie in a report file (`coterie.wire.report_file`), in the order of their bytes: whatever
reads report files reads it. There is no time in it and no order of arrival. Ids lie in files like it:

    bytes 0-15 "COTERIE-ID-RUN" and two zeros; of those of one batch "COTERIE-RELEASED"
         16-47 plan id    48-55 number of ids    then the ids, 12 bytes each    then SHA-256 of all before it

The digest that ends a file stands in the study's state, too, and a file counts only if it is that one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES
from coterie.wire.report_file import VERSION, ReportFile, writing_reports

RECORD: Final = ".released"  # ends the name of the record of a batch

Chunks = Iterator[NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class IdFile(ReportFile):
    """A file of ids whose header and length were checked."""

    magic: ClassVar[bytes] = b"COTERIE-ID-RUN\0\0"
    kind: ClassVar[str] = "a file of ids of a store"
    layout: ClassVar[struct.Struct] = struct.Struct(">16s32sQ")

    @classmethod
    def width_of(cls, plan: Plan) -> int:
        """Return the bytes of an id."""
        del plan
        return ID_BYTES

    @classmethod
    def packed(cls, width: int, count: int, plan_id: bytes) -> bytes:
        """Return the header of a file of so many ids."""
        del width
        return cls.layout.pack(cls.magic, plan_id, count)

    @classmethod
    def _unpacked(cls, header: bytes) -> tuple[int, int, int, int, bytes]:
        _, plan_id, count = cls.layout.unpack(header)
        return VERSION, ID_BYTES, 0, count, plan_id


@dataclass(frozen=True, slots=True)
class ReleasedFile(IdFile):
    """The ids of one batch."""

    magic: ClassVar[bytes] = b"COTERIE-RELEASED"
    kind: ClassVar[str] = "the record of a released batch"


@dataclass(frozen=True, slots=True)
class SortedFile:
    """A file that was written, and what it must be when it is read."""

    name: str
    rows: int
    sha256: str  # hex, as the file ends


def kind_of(name: str) -> type[ReportFile]:
    """Return what a file holds, as its name says."""
    if name.endswith(RECORD):
        return ReleasedFile
    return ReportFile if name.startswith("reports") else IdFile


def write_sorted(folder: Path, name: str, plan: Plan, chunks: Chunks) -> tuple[SortedFile, ...]:
    """Write rows that come sorted, (n, width) at a time, whole or not at all; return the file, if any.

    Only its owner reads the file. One without rows is not needed, and nobody names it.
    """
    with writing_reports(folder / name, plan, kind_of(name), overwrite=True, private=True) as writer:
        for rows in chunks:
            writer.append(rows)
    return (SortedFile(name, writer.count, writer.digest.hex()),) if writer.count else ()


def read_sorted(folder: Path, found: SortedFile, plan: Plan) -> Chunks:
    """Yield the rows of a file, (n, width) at a time; nothing of it may count before the last.

    Raises
    ------
    FileError
        If it is not the file that was written: at once, or after its last row.
    """
    path = folder / found.name
    try:
        file = kind_of(found.name).open(path, plan)
        digest = file.stated_digest()
    except FileNotFoundError:
        raise FileError(path, 0, f"{found.rows} rows of the store", "no file: restore it") from None
    if (file.count, digest.hex()) != (found.rows, found.sha256):
        raise FileError(path, 0, f"a file with SHA-256 {found.sha256}", "another: it is damaged")
    return file.chunks()
