"""Stores of version 1, brought forward when they are opened: their sorted files were Parquet."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from coterie.errors import FileError, bringing
from coterie.plan import Plan
from coterie.store.base import Chunks
from coterie.store.sorted_file import IdFile, SortedFile, write_sorted
from coterie.store.state import State
from coterie.wire.report_file import ReportFile


def brought_forward(folder: Path, plan: Plan, state: State) -> State:
    """Write the sorted files of a study again, as this version has them; return the state that names them."""

    def again(file: SortedFile, kind: type[ReportFile]) -> SortedFile:
        name = file.name.removesuffix(".parquet") + ".coterie"
        rows = _parquet(folder / file.name, file, kind.width_of(plan))
        written = write_sorted(folder, name, plan, kind, rows)
        if written is None or written.rows != file.rows:
            raise FileError(folder / file.name, 0, f"{file.rows} rows", "others")
        return written

    return replace(
        state,
        reports=None if state.reports is None else again(state.reports, ReportFile),
        withdrawn=tuple(again(file, IdFile) for file in state.withdrawn),
        released=tuple(again(file, IdFile) for file in state.released),
    )


def _parquet(path: Path, found: SortedFile, width: int) -> Chunks:
    """Yield the rows of a Parquet file, (n, width) at a time, once all of it has proved whole."""
    with bringing("parquet"):
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    try:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != found.sha256:
                raise FileError(path, 0, f"a file with SHA-256 {found.sha256}", "another: it is damaged")
            for batch in parquet.ParquetFile(file).iter_batches():
                column = batch.column(0)
                if column.type != arrow.binary(width) or column.null_count:
                    raise FileError(path, 0, f"rows of {width} bytes", f"{column.type}")
                data = np.frombuffer(column.buffers()[1], dtype=np.uint8)[column.offset * width :]
                yield data[: len(column) * width].reshape(-1, width)
    except FileNotFoundError:
        raise FileError(path, 0, f"{found.rows} rows of the store", "no file: restore it") from None
    except (arrow.ArrowException, OSError, IndexError, TypeError):  # whatever its parser says of damage
        raise FileError(path, 0, "a Parquet file of the store", "something else") from None
