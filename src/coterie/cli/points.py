"""Files of points, one row a person, read a chunk at a time: NPY, CSV, Parquet.

Nothing in a file is ever executed (no pickle), at most a chunk of it is in memory, and no message quotes a
value: where something is wrong, the place is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from coterie.cli.points_csv import csv_chunks
from coterie.errors import FileError, PointError

ROWS: Final = 1 << 14  # read at a time

_ARCHIVE: Final = b"PK\x03\x04"  # the start of a zip file, which .npz is

_T = TypeVar("_T")
Chunk = tuple[NDArray[Any], int]  # rows (m, d), and how far they advance `total`


@dataclass(frozen=True, slots=True)
class PointSource:
    """Points to come."""

    total: int  # size of the whole in the unit of the chunks' second part: rows, or bytes of text
    chunks: Callable[[], Iterator[Chunk]]


def open_points(path: Path, dimension: int, header: bool | None = None) -> PointSource:
    """Open a file of points by its suffix.

    Parameters
    ----------
    path : Path
        A file named .npy, .csv, .parquet or .pq.
    dimension : int
        Columns that it must have.
    header : bool, optional
        For CSV: whether the first line names columns; None looks.

    Examples
    --------
    >>> np.save("points.npy", np.zeros((3, 2)))
    >>> [rows.shape for rows, _ in open_points(Path("points.npy"), dimension=2).chunks()]
    [(3, 2)]
    """
    match path.suffix.lower():
        case ".npy":
            return _open_npy(path, dimension)
        case ".csv":
            return PointSource(path.stat().st_size, lambda: csv_chunks(path, dimension, header, ROWS))
        case ".parquet" | ".pq":
            return _open_parquet(path, dimension)
    raise PointError(f"{path}: points are read from files named .npy, .csv, .parquet, .pq")


def _open_npy(path: Path, dimension: int) -> PointSource:
    array = mapped_array(path)
    if array.ndim != 2 or array.shape[1] != dimension:
        raise PointError(
            f"{path}: points must have shape (n, {dimension}), one row a person, got shape {array.shape}"
        )

    def chunks() -> Iterator[Chunk]:
        for start in range(0, len(array), ROWS):
            rows = np.asarray(array[start : start + ROWS])
            yield rows, len(rows)

    return PointSource(len(array), chunks)


def mapped_array(path: Path) -> NDArray[Any]:
    """Return the array in a .npy file, mapped into memory and never unpickled."""
    with path.open("rb") as file:
        if file.read(len(_ARCHIVE)) == _ARCHIVE:
            raise FileError(path, 0, "one array (.npy)", "an archive of several (.npz)")
    try:
        with np.errstate(over="ignore"):  # of the size that a header claims
            return open_memmap(path, mode="r")
    except OSError:
        raise
    except Exception:  # a hostile header makes numpy's parser raise MemoryError, TokenError, nearly anything
        expected = "a whole NumPy array file (.npy) of plain numbers"
        raise FileError(path, 0, expected, "something else, or a file cut short") from None


def parquet_rows(
    path: Path, file: Any, read: Callable[[Any], _T], columns: list[str] | None = None
) -> Iterator[tuple[_T, int]]:
    """Yield what is read of a Parquet file, a batch of rows at a time, and how many rows it was."""
    from coterie.engines.pieces import whole_parquet

    batches = file.iter_batches(batch_size=ROWS, columns=columns)
    while True:
        with whole_parquet(path):
            if (batch := next(batches, None)) is None:
                return
            found = read(batch)
        yield found, batch.num_rows


def _open_parquet(path: Path, dimension: int) -> PointSource:
    from coterie.engines.pieces import open_parquet

    file = open_parquet(path)
    import pyarrow as arrow

    names, types = file.schema_arrow.names, file.schema_arrow.types
    if len(names) != dimension:
        raise PointError(f"{path}: expected {dimension} columns of numbers, found {len(names)} columns")
    for name, kind in zip(names, types, strict=True):
        if not (arrow.types.is_integer(kind) or arrow.types.is_floating(kind)):
            raise PointError(f"{path}: column {name!r} must hold numbers, it holds {kind}")

    def chunks() -> Iterator[Chunk]:
        for columns, count in parquet_rows(path, file, lambda batch: batch.columns):
            if any(column.null_count for column in columns):
                raise PointError(f"{path}: values are missing; drop or repair those rows first")
            rows = [column.to_numpy(zero_copy_only=False) for column in columns]
            yield np.stack(rows, axis=1, dtype=np.float64), count

    return PointSource(file.metadata.num_rows, chunks)
