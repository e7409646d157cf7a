"""What a cluster reads: pieces of files, of a store, or of memory, each by one task on any machine.

A piece names its place, and is whole or an error: report files and shuffled files by their digest, the
store's by its own, other Parquet files by the checksums of their pages where they have them.

*Parquet files of reports* have a column `report` of binary or fixed-size binary, no value missing, each of
the plan's width. Other columns are not read. If the file's metadata have a key `coterie.plan_id`, it is the
plan's id.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError, ReportError, bringing
from coterie.plain.files import AnyPath
from coterie.plan import Plan
from coterie.store.pieces import FilePiece
from coterie.wire.report_file import ReportFile
from coterie.wire.shuffled_file import ShuffledFile

COLUMN: Final = "report"
PLAN_KEY: Final = b"coterie.plan_id"

_PARQUET_MAGIC: Final = b"PAR1"
_PIECE_BYTES: Final = 1 << 28  # of reports of a Parquet file that one task reads
_CHUNK_ROWS: Final = 1 << 16


class Piece(Protocol):
    """Some reports, or messages, that one task reads."""

    @property
    def count(self) -> int:
        """How many there are."""

    @property
    def digest(self) -> str | None:
        """Of a shuffled batch: what tells it from another, known when it was read."""

    def chunks(self, plan: Plan) -> Iterator[NDArray[np.uint8]]:
        """Yield them, (m, width) at a time; nothing counts before the last."""

    def place(self, number: int) -> str:
        """Return where a report stands, by its number in the piece."""


@dataclass(frozen=True, slots=True)
class ParquetPiece:
    """Row groups of a Parquet file, one after the other."""

    path: str
    groups: tuple[int, ...]
    start: int  # number of the first report in the file
    count: int
    digest: None = None

    def chunks(self, plan: Plan) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports."""
        width, number = plan.report_width, self.start
        with open_parquet(self.path) as file, whole_parquet(self.path):
            for batch in file.iter_batches(_CHUNK_ROWS, row_groups=list(self.groups), columns=[COLUMN]):
                rows = _rows_of(batch.column(0), width)
                if rows is None:
                    found = f"others, among reports {number} to {number + len(batch)}"
                    raise FileError(self.path, 0, f"reports of {width} bytes each", found)
                number += len(rows)
                yield rows
        if number != self.start + self.count:
            stated = f"{self.count} reports from {self.start} on"
            raise FileError(self.path, 0, stated, "another file in its place")

    def place(self, number: int) -> str:
        """Return where a report stands."""
        return f"{self.path}, report {self.start + number}"


def pieces_of(plan: Plan, files: Iterable[AnyPath]) -> list[Piece]:
    """Look at every file's start and return what tasks will read.

    Raises
    ------
    FileError
        If a file is foreign, of another plan, or of another length than it says.

    Examples
    --------
    >>> from coterie.wire.report_file import write_reports
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> _ = write_reports("cut.coterie", plan, [bytes(13)], overwrite=True)
    >>> pieces_of(plan, ["cut.coterie"])[0].place(0)
    'cut.coterie, report 0 (byte 64)'
    """
    found: list[Piece] = []
    for file in files:
        path = os.fspath(file)
        if "://" in path or is_parquet(path):
            found += _parquet_pieces(plan, path)
        else:
            found.append(FilePiece(path, ReportFile.open(path, plan).count))
    return found


def batches_of(plan: Plan, files: Iterable[AnyPath]) -> list[Piece]:
    """Look at the start and end of shuffled files and return what tasks will read.

    Raises
    ------
    ReportError
        If the same batch is given twice, by the digests that they state; whoever reads one checks its own.
    """
    found: list[Piece] = []
    for file in files:
        opened = ShuffledFile.open(file, plan)
        found.append(FilePiece(os.fspath(file), opened.count, opened.stated_digest().hex()))
    if len({piece.digest for piece in found}) < len(found):
        raise ReportError("the same shuffled file is given twice; each batch counts once")
    return found


def is_parquet(path: AnyPath) -> bool:
    """Return whether a file says by its first bytes that it is Parquet."""
    with Path(path).open("rb") as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC


def _parquet_pieces(plan: Plan, path: str) -> Iterator[Piece]:
    with open_parquet(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        stated = (schema.metadata or {}).get(PLAN_KEY)
        if stated is not None and stated.decode("ascii", "replace") != plan.id:
            raise FileError(path, 0, f"reports of plan {plan.id}", "another plan's")
        import pyarrow as arrow

        kind = schema.field(COLUMN).type if COLUMN in schema.names else None
        if kind not in (arrow.binary(), arrow.large_binary(), arrow.binary(plan.report_width)):
            wanted = f"a column {COLUMN!r} of binary values of {plan.report_width} bytes"
            raise FileError(path, 0, wanted, f"{kind}")
        groups: list[int] = []
        start = count = 0
        for group in range(metadata.num_row_groups):
            groups.append(group)
            count += metadata.row_group(group).num_rows
            if count * plan.report_width >= _PIECE_BYTES or group + 1 == metadata.num_row_groups:
                yield ParquetPiece(path, tuple(groups), start, count)
                groups, start, count = [], start + count, 0


def open_parquet(path: AnyPath) -> Any:
    """Open a Parquet file on this machine or, by its address, on an object store."""
    with bringing("parquet"):
        from pyarrow import fs, parquet
    source: Any = os.fspath(path)
    if "://" in source:
        system, inside = fs.FileSystem.from_uri(source)
        source = system.open_input_file(inside)
    else:
        with Path(path).open("rb"):  # what the operating system has to say comes first
            pass
    with whole_parquet(path, "something else, or a damaged one"):
        return parquet.ParquetFile(source, page_checksum_verification=True)


@contextlib.contextmanager
def whole_parquet(path: AnyPath, found: str = "damaged pages, or the end of the file") -> Iterator[None]:
    """Raise FileError with what was found instead, whatever reading a damaged Parquet file raises."""
    import pyarrow as arrow

    try:
        yield
    except FileError:
        raise
    except (arrow.ArrowException, OSError, ValueError, MemoryError):
        raise FileError(path, 0, "a whole Parquet file", found) from None


def _rows_of(column: Any, width: int) -> NDArray[np.uint8] | None:
    """Return the bytes of an Arrow array of binary values, (n, width); None if one has another width."""
    import pyarrow as arrow

    if column.null_count:
        return None
    try:
        fixed = column.cast(arrow.binary(width))
    except arrow.ArrowInvalid:
        return None
    start, data = fixed.offset * width, fixed.buffers()[1]
    flat = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    return flat[start : start + len(fixed) * width].reshape(-1, width)
