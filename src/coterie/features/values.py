"""What a value of a record counts as: a number, a text, true or false, a vector, or missing.

No value is ever refused: an error would tell whoever chose the schema something about the person. What is not
of the wanted kind (null, NaN, an empty text, true where a number is wanted) is *missing*, and the feature has
declared what missing means. Values are compared as they are: texts by code points, without normalisation,
numbers as doubles.

Nor does the time tell: one value takes the same steps whatever it is, and which of their outcomes counts is
chosen at the end (`python -m benchmarks timing`). Columns of several values, which no device encodes, go the
shortest way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MISSING: Final = math.nan  # a number that is not there

_PLAIN: Final = frozenset({int, float})
_TRUTHS: Final = (bool, np.bool_)
_BEYOND: Final = (1 << 1024) - (1 << 970)  # integers from here on, half of the last step, are no doubles
_SOME: Final = 0.5


def as_number(value: object) -> float:
    """Return a value as a double, NaN if it is no number; beyond the doubles it is infinite.

    Examples
    --------
    >>> as_number(2**53 + 1), as_number(10**400), as_number("7"), as_number(True)
    (9007199254740992.0, inf, nan, nan)
    """
    real = _is_number(type(value))  # type: ignore[arg-type]  # a type hashes
    number: Any = value if real else _SOME
    exact: Any = number if _may_overflow(type(number)) else _SOME  # type: ignore[arg-type]
    beyond = (exact >= _BEYOND) - (exact <= -_BEYOND)  # the doubles, where float() would raise
    try:
        found = float(_SOME if beyond else number)
    except OverflowError:  # a foreign kind of number
        return math.inf if number > 0 else -math.inf
    except Exception:  # a foreign kind of number that will not be one, such as Decimal("sNaN")
        return MISSING
    return (found, math.inf, -math.inf)[beyond] if real else MISSING


def as_key(value: object) -> str | float | None:
    """Return what a value is compared by: a text, or a number as a double; None if it is missing.

    Examples
    --------
    >>> as_key("a"), as_key(3), as_key(""), as_key(None), as_key(float("nan"))
    ('a', 3.0, None, None, None)
    """
    number = as_number(value)
    text = str(value if isinstance(value, str) else "")
    gone = math.isnan(number)
    return text or (None if gone else number)


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
    number = as_number(int(value) if isinstance(value, _TRUTHS) else value)
    return number if number in (0.0, 1.0) else MISSING


def as_vector(value: object, dimension: int) -> NDArray[np.float64]:
    """Return a list of `dimension` finite numbers as (dimension,) doubles, all NaN if it is none.

    Another list is read first, and again instead of what is none of the right length: time tells neither.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.ndim == 1 else None
    held = value if isinstance(value, list | tuple) else ()
    other, whole = _some(dimension), len(held) == dimension
    numbers(other)  # which lies near for everybody
    found = numbers(held if whole else other)
    finite = bool(np.isfinite(found).all())
    return np.where(whole and finite, found, MISSING)


def numbers(column: Sequence[Any] | NDArray[Any]) -> NDArray[np.float64]:  # n values -> (n,)
    """Return a column as doubles, NaN where there is no number: `as_number` of each, sooner."""
    if isinstance(column, np.ndarray) and not isinstance(column, np.ma.MaskedArray):
        if column.ndim == 1 and column.dtype.kind in "fiu" and column.dtype.itemsize <= 8:
            return column.astype(np.float64)
    elif isinstance(column, list) and len(column) > 1 and _PLAIN.issuperset(map(type, column)):
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
        found = known.get("" if key is None else key, unknown)
        return missing if key is None else found

    values = listed(column)
    if len(values) == 1:
        return np.array([place(values[0])], dtype=np.int64)
    found = [known[value] if type(value) is str and value in known else place(value) for value in values]
    return np.array(found, dtype=np.int64)


@lru_cache(maxsize=256)
def _is_number(kind: type) -> bool:
    """Return whether values of a type are numbers; remembered, so that it takes as long for every type."""
    return issubclass(kind, Real | Decimal) and not issubclass(kind, _TRUTHS)


@lru_cache(maxsize=256)
def _may_overflow(kind: type) -> bool:
    """Return whether numbers of a type may lie beyond the doubles, which float() then refuses."""
    return issubclass(kind, int | Fraction)


@lru_cache(maxsize=4)
def _some(length: int) -> list[float]:
    """Return so many different doubles."""
    return [float(each) for each in np.linspace(-1.0, 1.0, length)]


def listed(column: Sequence[Any] | NDArray[Any]) -> Sequence[Any]:
    """Return a column as Python values; what an array masks is None."""
    if isinstance(column, np.ndarray):
        return column.tolist() if column.dtype.kind != "V" and column.ndim else [None] * column.size
    return column
