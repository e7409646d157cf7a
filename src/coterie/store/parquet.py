"""Sorted reports, or ids, in a Parquet file: what the embedded store leaves once it is compacted.

One column of fixed-size binary, `report` or `id`, in the order of its bytes; no time, no order of arrival.
Any tool that reads Parquet reads it. The SHA-256 of the file stands in the study's state, and a file is read
only if it matches.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError, MissingExtraError
from coterie.plain.files import replacing

GROUP_BYTES: Final = 1 << 22  # of a row group, so of memory

_READ_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class SortedFile:
    """A file that was written, and what it must be when it is read."""

    name: str
    rows: int
    sha256: str  # hex


def write_sorted(
    folder: Path, name: str, column: str, width: int, chunks: Iterable[NDArray[np.uint8]]
) -> SortedFile | None:
    """Write rows that come sorted, (n, width) at a time, whole or not at all; None if there are none."""
    groups = _regrouped(chunks, max(1, GROUP_BYTES // width))
    first = next(groups, None)
    if first is None:
        return None
    arrow, parquet = _pyarrow()
    kind = arrow.binary(width)
    count = 0
    with replacing(folder / name, 0o600) as file:
        with parquet.ParquetWriter(
            file,
            arrow.schema([arrow.field(column, kind, nullable=False)]),
            compression="NONE",
            use_dictionary=False,
            write_statistics=False,
        ) as writer:
            for rows in itertools.chain([first], groups):
                array = arrow.FixedSizeBinaryArray.from_buffers(
                    kind, len(rows), [None, arrow.py_buffer(rows)]
                )
                writer.write_table(arrow.table([array], schema=writer.schema), row_group_size=len(rows))
                count += len(rows)
        return SortedFile(name, count, _digest(file))


def read_sorted(folder: Path, found: SortedFile | None, width: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the rows of a file, (n, width) at a time, once all of it has proved whole.

    Raises
    ------
    FileError
        If it is not the file that was written.
    """
    if found is None:
        return
    path = folder / found.name
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise FileError(path, 0, f"{found.rows} rows of the store", "no file: restore it") from None
    with file:
        if _digest(file) != found.sha256:
            raise FileError(path, 0, f"a file with SHA-256 {found.sha256}", "another: it is damaged")
        _, parquet = _pyarrow()
        file.seek(0)
        for batch in parquet.ParquetFile(file).iter_batches(max(1, GROUP_BYTES // width)):
            column = batch.column(0)
            start = column.offset * width
            data = np.frombuffer(column.buffers()[1], dtype=np.uint8)
            yield data[start : start + len(column) * width].reshape(-1, width)


def _regrouped(chunks: Iterable[NDArray[np.uint8]], size: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the same rows, `size` at a time but for the last."""
    held: list[NDArray[np.uint8]] = []
    count = 0
    for chunk in chunks:
        rest = chunk
        while count + len(rest) >= size:
            held.append(rest[: size - count])
            rest = rest[size - count :]
            yield np.concatenate(held)
            held, count = [], 0
        if len(rest):
            held.append(rest)
            count += len(rest)
    if held:
        yield np.concatenate(held)


def _digest(file: BinaryIO) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(_READ_BYTES):
        digest.update(piece)
    return digest.hexdigest()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "service") from None
    return pyarrow, pyarrow.parquet
