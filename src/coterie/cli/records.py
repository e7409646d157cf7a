"""Files of records, one row a person, columns by name, read a chunk at a time: CSV, Parquet.

A CSV's cells are texts; each feature says what it makes of one:

    empty                missing
    number, cycle        the number that is written there; else missing
    flag                 true, false, 1 or 0, in any case; else missing
    category, ordinal    the declared text, else the declared number that is written there, else unknown
    embedding            a JSON list of numbers; else missing

No message quotes a cell: where something is wrong, the place is named.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from coterie.cli.points import ROWS, Chunk, PointSource, parquet_rows
from coterie.errors import FileError, PointError
from coterie.features import Category, Embedding, Feature, Flag, Ordinal, Schema

LONGEST_CELL: Final = 1 << 20  # characters
_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}


def open_records(path: Path, schema: Schema) -> PointSource:
    r"""Open a file of records by its suffix; the chunks are their points.

    Examples
    --------
    >>> from coterie.features import Flag, Number
    >>> _ = Path("people.csv").write_text("member,age\ntrue,34\n,200\n")
    >>> source = open_records(Path("people.csv"), Schema([Number("age", 0, 100), Flag("member")]))
    >>> [points.tolist() for points, _ in source.chunks()]
    [[[-0.15999999999999998, 0.5], [0.5, 0.0]]]
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return PointSource(path.stat().st_size, lambda: _csv_chunks(path, schema))
    if suffix in (".parquet", ".pq"):
        return _open_parquet(path, schema)
    raise PointError(f"{path}: records are read by column name from files named .csv, .parquet, .pq")


def cell(feature: Feature, text: str) -> Any:
    """Return the value that a cell of text stands for.

    Examples
    --------
    >>> from coterie.features import Number
    >>> cell(Number("age", 0, 100), " 34 "), cell(Number("age", 0, 100), "thirty")
    (34.0, None)
    """
    if isinstance(feature, Flag):
        return _TRUTHS.get(text.strip().lower())
    if isinstance(feature, Category | Ordinal):
        declared = feature.values if isinstance(feature, Category) else feature.levels
        number = _number(text)
        return number if text not in declared and number in declared else text
    if isinstance(feature, Embedding):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None
    return _number(text)


def _number(text: str) -> float | None:
    if "_" in text:  # Python's own spelling
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _csv_chunks(path: Path, schema: Schema) -> Iterator[Chunk]:
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            names = _header(path, next(reader, None), schema)
            rows: list[list[str]] = []
            for row in reader:
                if not row:
                    continue  # an empty line
                if len(row) != len(names):
                    raise PointError(
                        f"{path}, line {reader.line_num}: expected {len(names)} cells, as in the first line, "
                        f"found {len(row)}"
                    )
                rows.append(row)
                if len(rows) == ROWS:
                    yield _points(schema, names, rows), 0
                    rows = []
            yield _points(schema, names, rows), path.stat().st_size
    except UnicodeDecodeError:
        raise FileError(path, 0, "UTF-8 text") from None
    except csv.Error:
        raise FileError(path, 0, "a CSV file with whole quotes and cells of bounded length") from None
    finally:
        csv.field_size_limit(before)


def _header(path: Path, names: list[str] | None, schema: Schema) -> list[str]:
    if names is None:
        raise PointError(f"{path}: expected a first line that names the columns, found no line")
    for feature in schema.features:
        if (times := names.count(feature.name)) != 1:
            raise PointError(
                f"{path}: expected one column named {feature.name!r} in the first line, found {times}"
            )
    return names


def _points(schema: Schema, names: list[str], rows: list[list[str]]) -> Any:
    columns = {}
    for feature in schema.features:
        place = names.index(feature.name)
        columns[feature.name] = [cell(feature, row[place]) for row in rows]
    return schema.points(columns)


def _open_parquet(path: Path, schema: Schema) -> PointSource:
    from coterie.engines.pieces import open_parquet

    file = open_parquet(path)
    wanted = [feature.name for feature in schema.features]
    for name in wanted:
        if file.schema_arrow.names.count(name) != 1:
            raise PointError(f"{path}: expected one column named {name!r}")

    def chunks() -> Iterator[Chunk]:
        for columns, count in parquet_rows(path, file, lambda batch: batch.to_pydict(), wanted):
            yield schema.points(columns), count

    return PointSource(file.metadata.num_rows, chunks)
