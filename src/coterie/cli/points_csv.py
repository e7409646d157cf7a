"""Points from CSV: numbers with commas between them, UTF-8, one row a line, perhaps a line of names first.

The first line names columns when none of its fields is a number. All numbers: a row. Some of each: an error,
since either reading might lose a person. So is 0,1,2,…, which is what a table without names writes as its
names; --header or --no-header says what it is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError, PointError

_FIELD_BYTES: Final = 64  # a number's text is shorter
_PLACE: Final = re.compile(r"row (\d+), column (\d+)")
_MARK: Final = b"\xef\xbb\xbf"  # some programs open UTF-8 text with it


def csv_chunks(
    path: Path, dimension: int, header: bool | None, rows: int
) -> Iterator[tuple[NDArray[np.float64], int]]:
    r"""Yield chunks of at most `rows` rows, (m, d), and the number of bytes each was read from.

    Examples
    --------
    >>> _ = Path("points.csv").write_text("x,y\n0.5,1\n-1,2e-3\n")
    >>> [chunk.tolist() for chunk, _ in csv_chunks(Path("points.csv"), 2, header=None, rows=100)]
    [[[0.5, 1.0], [-1.0, 0.002]]]
    """
    with path.open("rb") as file:
        lines = _lines(file, path, limit=_FIELD_BYTES * (dimension + 1))
        first = next(lines, None)
        if first is None:
            return
        number, text = first
        names = _is_header(text, path, number) if header is None else header
        rest = lines if names else itertools.chain([first], lines)
        position = 0
        while chunk := list(itertools.islice(rest, rows)):
            parsed = _parsed(chunk, path, dimension)
            before, position = position, file.tell()
            yield parsed, position - before


def _lines(file: BinaryIO, path: Path, limit: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    for number in itertools.count(1):
        start = file.tell()
        line = file.readline(limit + 1)
        if not line:
            return
        if len(line) > limit:
            raise FileError(path, start, f"a line of at most {limit} bytes", "a longer one")
        if number == 1:
            line = line.removeprefix(_MARK)
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise FileError(path, start, "text in UTF-8", "other bytes") from None
        if text:
            yield number, text


def _is_header(text: str, path: Path, number: int) -> bool:
    fields = [field.strip().strip('"') for field in text.split(",")]
    numeric = [_is_number(field) for field in fields]
    if not any(numeric):
        return True
    if not all(numeric):
        raise PointError(
            f"{path}, line {number}: some fields are numbers and some are not; "
            "say --header or --no-header, or repair the line"
        )
    if len(fields) > 1 and fields == [str(index) for index in range(len(fields))]:
        raise PointError(
            f"{path}, line {number}: 0,1,2,… may name columns or be a person's row; "
            "say --header or --no-header"
        )
    return False


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _parsed(chunk: list[tuple[int, str]], path: Path, dimension: int) -> NDArray[np.float64]:
    texts = [text for _, text in chunk]
    try:
        parsed = np.loadtxt(texts, delimiter=",", comments=None, quotechar='"', ndmin=2, dtype=np.float64)
    except ValueError as error:  # numpy's message quotes the field; keep only its place
        place = _PLACE.search(str(error))
        uneven = (number for number, text in chunk if text.count(",") + 1 != dimension)
        where = next(uneven, chunk[0][0]) if place is None else chunk[int(place[1])][0]
        field = f"field {int(place[2])} is no number" if place else f"expected {dimension} numbers"
        raise PointError(f"{path}, line {where}: {field}; nothing was encoded") from None
    if len(parsed) != len(chunk):  # a quoted field that goes on would glue two people together
        torn = next((number for number, text in chunk if text.count('"') % 2), chunk[0][0])
        raise PointError(f"{path}, line {torn}: a quote is opened and not closed; nothing was encoded")
    if parsed.shape[1] != dimension:
        raise PointError(
            f"{path}, line {chunk[0][0]}: expected {dimension} numbers, found {parsed.shape[1]} fields"
        )
    return parsed
