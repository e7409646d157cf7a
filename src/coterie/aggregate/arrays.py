"""What the tables of integers share: taking arrays from a file, and merging within one plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.errors import AggregateError
from coterie.plan.plan import Plan

MAX_COUNT: Final = 1 << 46  # reports; sums over all rows stay far below 2^63


def fill(
    zeros: Mapping[str, NDArray[np.int64]], arrays: Mapping[str, NDArray[np.int64]], limit: int | None = None
) -> None:
    """Add arrays to a table's own, which are zero, after checking names, types, shapes and sizes.

    Parameters
    ----------
    zeros : mapping of str to ndarray of int64
        The table's arrays, changed in place.
    arrays : mapping of str to ndarray
        What a file holds.
    limit : int, optional
        The largest number by size; before anything takes an absolute value, which 64 bits may not hold.

    Raises
    ------
    AggregateError
        If an array is missing, foreign, of another shape or type, or beyond the limit.
    """
    if arrays.keys() != zeros.keys():
        raise AggregateError(
            f"a table of this plan has the arrays {', '.join(zeros)}, got {', '.join(arrays)}"
        )
    for name, mine in zeros.items():
        theirs = arrays[name]
        if theirs.shape != mine.shape or theirs.dtype != np.int64:
            raise AggregateError(
                f"array {name} must be int64 of shape {mine.shape}, "
                f"got {theirs.dtype} of shape {theirs.shape}"
            )
        if limit is not None and (theirs.min() < -limit or theirs.max() > limit):
            raise AggregateError(f"the array {name} holds a number beyond 2^{limit.bit_length() - 1}")
        mine += theirs


class FixedShapes(ABC):
    """A table whose arrays have shapes that the plan alone fixes."""

    @classmethod
    @abstractmethod
    def zero(cls, plan: Plan) -> Self:
        """Return the table of no reports."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the arrays by name, in the order of the file format; not copies."""

    @classmethod
    def shapes(cls, plan: Plan, size: int) -> dict[str, tuple[int, ...]]:
        """Return the arrays' shapes, which the plan fixes."""
        del size
        return {name: array.shape for name, array in cls.zero(plan).arrays().items()}


def check_same_plan(mine: Plan, theirs: Plan) -> None:
    """Raise AggregateError unless two tables answer one plan."""
    if mine.id_bytes != theirs.id_bytes:
        raise AggregateError(
            f"tables of different plans cannot be merged: {mine.id[:12]}… and {theirs.id[:12]}…"
        )
