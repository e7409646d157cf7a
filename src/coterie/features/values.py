"""What a value of a record counts as: a number, a text, true or false, a vector, or missing.

No value is ever refused: an error would tell whoever chose the schema something about the person. What is not
of the wanted kind (null, NaN, an empty text, true where a number is wanted) is *missing*, and the feature has
declared what missing means. Values are compared as they are: texts by code points, without normalisation,
numbers as doubles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MISSING: Final = math.nan  # a number that is not there

_PLAIN: Final = frozenset({int, float})


def as_number(value: object) -> float:
    """Return a value as a double, NaN if it is no number; beyond the doubles it is infinite.

    Examples
    --------
    >>> as_number(2**53 + 1), as_number(10**400), as_number("7"), as_number(True)
    (9007199254740992.0, inf, nan, nan)
    """
    if type(value) is float:
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal):
        return MISSING
    number: Any = value
    try:
        return float(number)
    except OverflowError:  # an int beyond the doubles
        return math.inf if number > 0 else -math.inf
    except Exception:  # a foreign kind of number that will not be one, such as Decimal("sNaN")
        return MISSING


def as_key(value: object) -> str | float | None:
    """Return what a value is compared by: a text, or a number as a double; None if it is missing.

    Examples
    --------
    >>> as_key("a"), as_key(3), as_key(""), as_key(None), as_key(float("nan"))
    ('a', 3.0, None, None, None)
    """
    if isinstance(value, str):
        return str(value) or None
    number = as_number(value)
    return None if math.isnan(number) else number


def absent(value: object) -> bool:
    """Return whether nothing is there: None, NaN, an empty text, or what data frames put in their place.

    Examples
    --------
    >>> [absent(value) for value in (None, float("nan"), "", "n/a", 0)]
    [True, True, True, False, False]
    """
    if isinstance(value, str):
        return value == ""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or value is np.ma.masked
        or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
    )


def as_truth(value: object) -> float:
    """Return 1 for true and the number 1, 0 for false and the number 0, NaN for everything else.

    Examples
    --------
    >>> as_truth(True), as_truth(0), as_truth("true")
    (1.0, 0.0, nan)
    """
    if isinstance(value, bool | np.bool_):
        return 1.0 if value else 0.0
    number = as_number(value)
    return number if number in (0.0, 1.0) else MISSING


def as_vector(value: object, dimension: int) -> NDArray[np.float64]:
    """Return a list of `dimension` finite numbers as (dimension,) doubles, all NaN if it is none."""
    missing = np.full(dimension, MISSING)
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.ndim == 1 else None
    if not isinstance(value, list | tuple) or len(value) != dimension:
        return missing
    found = numbers(value)
    return found if np.isfinite(found).all() else missing


def numbers(column: Sequence[Any] | NDArray[Any]) -> NDArray[np.float64]:  # n values -> (n,)
    """Return a column as doubles, NaN where there is no number: `as_number` of each, sooner."""
    if isinstance(column, np.ndarray) and not isinstance(column, np.ma.MaskedArray):
        if column.ndim == 1 and column.dtype.kind in "fiu" and column.dtype.itemsize <= 8:
            return column.astype(np.float64)
    elif isinstance(column, list) and _PLAIN.issuperset(map(type, column)):
        try:
            return np.array(column, dtype=np.float64)
        except OverflowError:  # an int beyond the doubles
            pass
    return np.array([as_number(value) for value in listed(column)], dtype=np.float64)


def places(
    column: Sequence[Any] | NDArray[Any], known: Mapping[str | float, int], unknown: int, missing: int
) -> NDArray[np.int64]:  # n values -> (n,)
    """Return for each value of a column its place among the known ones, or `unknown`, or `missing`."""

    def place(value: object) -> int:
        key = as_key(value)
        return missing if key is None else known.get(key, unknown)

    found = [
        known[value] if type(value) is str and value in known else place(value) for value in listed(column)
    ]
    return np.array(found, dtype=np.int64)


def listed(column: Sequence[Any] | NDArray[Any]) -> Sequence[Any]:
    """Return a column as Python values; what an array masks is None."""
    if isinstance(column, np.ndarray):
        return column.tolist() if column.dtype.kind != "V" and column.ndim else [None] * column.size
    return column
