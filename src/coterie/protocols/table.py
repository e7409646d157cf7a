"""What a table is: integers that reports add to, in any order; merged, written and read in one way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.errors import AggregateError
from coterie.plan import Plan

MAX_COUNT: Final = 1 << 46  # reports; sums over all rows stay far below 2^63


class Table(ABC):
    """Integers that reports add to, shaped by the plan, and by the count where reports are kept."""

    __slots__ = ()

    plan: Plan
    limit: ClassVar[int | None] = None  # the largest number by size
    keeps_reports: ClassVar[bool] = False  # the table is the reports themselves, and grows with them

    @classmethod
    @abstractmethod
    def zero(cls, plan: Plan) -> Self:
        """Return the table of no reports."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of reports added."""

    @property
    def fewest(self) -> int:
        """People of the row that has the fewest; everybody where nothing is mixed by row."""
        return self.count

    @abstractmethod
    def add(self, reports: NDArray[np.uint8]) -> None:
        """Add reports, (n, width), which have the plan's form (`Aggregate.add` sees to it)."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the arrays by name, in the order of the file format; not copies."""

    def merge(self, other: Self) -> None:
        """Add another table of the same plan."""
        check_same_plan(self.plan, other.plan)
        for mine, theirs in zip(self.arrays().values(), other.arrays().values(), strict=True):
            mine += theirs

    @classmethod
    def shapes(cls, plan: Plan, size: int) -> dict[str, tuple[int, ...]]:
        """Return the arrays' shapes in a file that has `size` bytes of them; the plan fixes them."""
        return {name: array.shape for name, array in cls.zero(plan).arrays().items()}

    @classmethod
    def from_arrays(cls, plan: Plan, arrays: Mapping[str, NDArray[np.int64]]) -> Self:
        """Return the table with these arrays.

        Raises
        ------
        AggregateError
            If an array is missing, foreign, of another shape or type, or no reports can have made it.
        """
        table = cls.zero(plan)
        own = table.arrays()
        if arrays.keys() != own.keys():
            raise AggregateError(
                f"a table of this plan has the arrays {', '.join(own)}, got {', '.join(arrays)}"
            )
        for name, mine in own.items():
            theirs = arrays[name]
            if theirs.shape != mine.shape or theirs.dtype != np.int64:
                raise AggregateError(
                    f"array {name} must be int64 of shape {mine.shape}, "
                    f"got {theirs.dtype} of shape {theirs.shape}"
                )
            # Before anything takes an absolute value, which 64 bits may not hold.
            if cls.limit is not None and (theirs.min() < -cls.limit or theirs.max() > cls.limit):
                raise AggregateError(f"the array {name} holds a number beyond 2^{cls.limit.bit_length() - 1}")
            mine += theirs
        table.check_possible()
        return table

    def check_possible(self) -> None:  # noqa: B027 - a table need not have such a check
        """Raise AggregateError for arrays that no set of reports can sum to."""


class SumTable(Table):
    """A table of arrays whose sizes the plan fixes: a dataclass of the plan and then the arrays."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def sizes(cls, plan: Plan) -> dict[str, tuple[int, ...]]:
        """Return the arrays' shapes by name, in the order of the file format."""

    @classmethod
    def zero(cls, plan: Plan) -> Self:
        """Return the table of no reports."""
        zeros = {name: np.zeros(shape, dtype=np.int64) for name, shape in cls.sizes(plan).items()}
        return cls(plan=plan, **zeros)  # type: ignore[call-arg]  # subclasses are dataclasses

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the arrays by name, in the order of the file format; not copies."""
        return {name: getattr(self, name) for name in self.sizes(self.plan)}


def check_same_plan(mine: Plan, theirs: Plan) -> None:
    """Raise AggregateError unless two tables answer one plan."""
    if mine.id_bytes != theirs.id_bytes:
        raise AggregateError(
            f"tables of different plans cannot be merged: {mine.id[:12]}… and {theirs.id[:12]}…"
        )
