"""A schema from a sample that everybody may see: bounds rounded outward, values that many rows share.

    bounds   the 1 % and 99 % quantiles, outward to a multiple of the largest of 1, 2, 5 × 10^e that is at
             most a tenth of their distance; logarithmic where both are positive and 100-fold apart
    values   those of at least 1 % of the rows and at least 20 of them, sorted; all others are unknown

No extreme and no rare value is copied. A suggestion is a start: bounds and weights are for people to choose.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError
from coterie.features.category import Category
from coterie.features.feature import Column, Feature
from coterie.features.flag import Flag
from coterie.features.number import Number
from coterie.features.values import as_key, listed, numbers
from coterie.plain.canonical import SAFE_INTEGER

LEAST_ROWS: Final = 100
LEAST_SHARE: Final = 0.01
LEAST_COUNT: Final = 20  # rows that a value must have
MOST_VALUES: Final = 50  # of a category that was not declared by hand
LOG_RATIO: Final = 100.0  # of the quantiles, from which on a logarithmic scale is suggested
TAIL: Final = 0.01


def suggested(columns: Mapping[str, Column], rows: int) -> tuple[Feature, ...]:
    """Return a feature for each column of a public sample."""
    if rows < LEAST_ROWS:
        raise PlanError(f"a suggestion needs at least {LEAST_ROWS} rows of a public sample, got {rows}")
    return tuple(_feature(name, column) for name, column in columns.items())


def _feature(name: str, column: Column) -> Feature:
    values = listed(column)
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {bool, np.bool_}:
        return Flag(name)
    found = numbers(column)
    finite = found[np.isfinite(found)]
    if len(finite) >= LEAST_ROWS and not any(issubclass(kind, str) for kind in kinds):
        return _number(name, finite)
    return _category(name, column)


def _number(name: str, values: NDArray[np.float64]) -> Number:
    low, high = (float(each) for each in np.quantile(values, [TAIL, 1 - TAIL]))
    if low > 0 and high / low >= LOG_RATIO:
        return Number(name, _ladder(low, up=False), _ladder(high, up=True), "log")
    width = high - low or max(abs(high), 1.0)
    step = _ladder(width / 10, up=False)
    low, high = (math.floor(low / step) * step, math.ceil(high / step) * step)
    return Number(name, float(f"{low:.12g}"), float(f"{high if high > low else low + step:.12g}"))


def _ladder(value: float, *, up: bool) -> float:
    """Return the nearest of … 1, 2, 5, 10, 20 … not below (up) or not above a positive number."""
    exponent = math.floor(math.log10(value))
    steps = [float(f"{digit}e{exponent + more}") for more in (-1, 0, 1) for digit in (1, 2, 5)]
    return min(s for s in steps if s >= value) if up else max(s for s in steps if s <= value)


def _category(name: str, column: Column) -> Category:
    counted = Counter(key for key in map(as_key, listed(column)) if key is not None)
    least = max(LEAST_COUNT, math.ceil(LEAST_SHARE * sum(counted.values())))
    common = [key for key, count in counted.items() if count >= least and _may_be_declared(key)]
    if not 1 <= len(common) <= MOST_VALUES:
        raise PlanError(
            f"column {name!r} has {len(common)} values that at least {least} rows share; a category has 1 to "
            f"{MOST_VALUES}. Leave the column out or declare it by hand"
        )
    texts = sorted(key for key in common if isinstance(key, str))
    codes = sorted(int(key) for key in common if not isinstance(key, str))
    return Category(name, (*codes, *texts), unknown="own")


def _may_be_declared(key: str | float) -> bool:
    return isinstance(key, str) or (key.is_integer() and abs(key) <= SAFE_INTEGER)
