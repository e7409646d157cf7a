"""Tables of every make as columns by name: mappings, records, and the data frames that narwhals knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from coterie.errors import PointError, bringing
from coterie.plain.canonical import shown

if TYPE_CHECKING:
    from coterie.features.feature import Column


def columns_of(table: Any, names: Sequence[str] | None) -> tuple[dict[str, Column], int]:
    """Return the named columns of a table, all if None, and how many rows there are.

    Examples
    --------
    >>> columns_of([{"age": 3}, {"shoe": 43}], ["age"])
    ({'age': [3, None]}, 2)
    """
    if isinstance(table, Mapping):
        columns = _of_mapping(table, table.keys() if names is None else names)
    elif isinstance(table, list | tuple):
        return _of_records(table, names), len(table)
    elif isinstance(table, np.ndarray) and table.dtype.names is not None:
        columns = _of_mapping({name: table[name] for name in table.dtype.names}, names or table.dtype.names)
    else:
        columns = _of_frame(table, names)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise PointError(f"columns must have one length, got {', '.join(map(str, sorted(lengths)))}")
    return columns, lengths.pop() if lengths else 0


def holds_records(table: Any) -> bool:
    """Return whether a table holds records, of whatever make, and not an array of points.

    Examples
    --------
    >>> holds_records([{"age": 3}]), holds_records({"age": [3]}), holds_records([[0.1, 0.2]])
    (True, True, False)
    """
    if isinstance(table, np.ndarray):
        return table.dtype.names is not None
    if isinstance(table, list | tuple):
        return bool(table) and isinstance(table[0], Mapping)
    return isinstance(table, Mapping) or hasattr(table, "columns") or hasattr(table, "__arrow_c_stream__")


def _of_mapping(table: Mapping[str, Any], names: Iterable[str]) -> dict[str, Column]:
    return {name: _column(table[name] if name in table else _lacking(name, table)) for name in names}


def _of_records(records: Sequence[Any], names: Sequence[str] | None) -> dict[str, Column]:
    for record in records:
        if not isinstance(record, Mapping):
            raise PointError(f"a record must be a mapping of names to values, got {type(record).__name__}")
    if names is None:
        names = list(dict.fromkeys(name for record in records for name in record))
    return {name: [record.get(name) for record in records] for name in names}


def _of_frame(table: Any, names: Sequence[str] | None) -> dict[str, Column]:
    frame = _narwhals().from_native(table, pass_through=True)
    if frame is table:
        raise PointError(
            "records come as a data frame, an Arrow table, a mapping of columns or a list of mappings, "
            f"got {type(table).__name__}"
        )
    if hasattr(frame, "collect"):  # a lazy one
        frame = frame.collect()
    known = set(frame.columns)
    return {
        name: _series(frame[name]) if name in known else _lacking(name, frame.columns)
        for name in (frame.columns if names is None else names)
    }


def _column(column: Any) -> Column:
    if isinstance(column, list | tuple):
        return column
    if isinstance(column, np.ndarray) and column.ndim:
        return column
    if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__len__"):
        raise PointError(f"a column must be a list or an array of values, got {type(column).__name__}")
    series = _narwhals().from_native(column, series_only=True, pass_through=True)
    return list(column) if series is column else _series(series)


def _series(series: Any) -> Column:
    """Return a narwhals series as an array if it is one of numbers or of vectors, else as Python values."""
    kind = series.dtype
    if type(kind).__name__ == "Array":
        vectors = series.to_numpy()  # where a vector is missing, NaN; object arrays of some libraries
        if vectors.ndim == 2 and vectors.dtype.kind in "fiu":
            return cast("Column", vectors)
    if kind.is_float() or kind.is_integer():
        return cast("Column", series.to_numpy())  # where a number is missing, NaN
    return cast("Column", series.to_list())


def _lacking(name: str, known: Iterable[Any]) -> Any:
    """Refuse, and name the columns that are most like it: names are the table's, not people's."""
    names = {str(one).strip().casefold(): str(one) for one in known}
    near = get_close_matches(name.strip().casefold(), names, 3)
    told = [names[one] for one in near] or [*names.values()][:8]
    there = (" or " if near else ", ").join(map(shown, told))
    raise PointError(
        f"the table has no column {name!r}, which the schema declares; it has {there or 'no columns'}: "
        "rename it, or declare the feature by that name"
    )


def _narwhals() -> Any:
    with bringing("frames"):
        import narwhals
    return narwhals
