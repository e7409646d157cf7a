"""What every kind of feature is: a name, a weight, a meaning for what is missing, a way to a point and back.

The weight is a distance: how far apart two people are who differ by a full swing of this feature alone. Every
kind puts its values around 0, so the ball of a schema is centered there, too:

    kind       coordinates   a full swing                        squared radius
    number     1             from low to high                    w²/4
    flag       1             from false to true                  w²/4
    ordinal    1             from the first level to the last    w²/4
    cycle      2             half a period (a circle)            w²/4
    embedding  dimension     2·norm (a ball)                     w²/4
    category   values - 1    any two values (a simplex)          w²·(m-1)/(2m), m values

A new kind is one module here, a name in `__init__` and in `schema.KINDS`; who else must know it (words,
pages, browser, vectors) stands in ARCHITECTURE.md, "To add a kind of feature".

Values reach a point in two steps: `codes` says what each value of a column counts as (see values.py), `place`
puts the codes into space. Both take whole columns; a single record is a column of length one.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError
from coterie.features.reading import VALUE, Block, Estimate, within
from coterie.features.values import absent, listed, numbers
from coterie.plain.canonical import SAFE_INTEGER, shown
from coterie.plain.checks import checked_choice, checked_fields, checked_integer, checked_list, checked_real
from coterie.plain.record import Record

LONGEST_NAME: Final = 64  # code points of a name or a unit
LONGEST_VALUE: Final = 128  # of a category's value or a level
LONGEST_DESCRIPTION: Final = 500
LEAST_WEIGHT: Final = 1e-6
MOST_WEIGHT: Final = 1e6
MOST_COORDINATES: Final = 3000  # of a whole schema, as of a plan
ENDS: Final = {"low": -0.5, "middle": 0.0, "high": 0.5}  # of a scale, where what is missing may lie

Column = Sequence[Any] | NDArray[Any]


@dataclass(frozen=True, slots=True, repr=False)
class Feature(Record, ABC):
    """One declared feature of a record.

    Attributes
    ----------
    name : str
        The key in a record, the name of the column.
    weight : float
        The distance that a full swing counts, 10⁻⁶ to 10⁶.
    unit, description : str
        For people; they change the plan's id like everything else.
    missing : str
        Where a record without such a value lies; "middle", or what the kind has besides.
    """

    kind: ClassVar[str]
    missing_ways: ClassVar[Iterable[str]] = ("middle",)  # what `missing` may be
    linear: ClassVar[bool] = True  # whether every figure is a linear function of the mean, cut at its ends
    name: str
    weight: float = field(default=1.0, kw_only=True)
    unit: str = field(default="", kw_only=True)
    description: str = field(default="", kw_only=True)
    missing: str = field(default="middle", kw_only=True)

    def __post_init__(self) -> None:
        try:
            self._clean(checked_text, name=(LONGEST_NAME,), unit=(LONGEST_NAME, 0))
            self._clean(checked_text, description=(LONGEST_DESCRIPTION, 0))
            self._clean(checked_real, weight=(LEAST_WEIGHT, MOST_WEIGHT))
            self._clean(checked_choice, missing=(self.missing_ways,))
            self._check()
        except PlanError as error:
            raise PlanError(f"{self.kind} {shown(self.name)}: {error}") from None

    def __repr__(self) -> str:
        """Return how it is declared, without what is as ever."""
        given, named = [], []
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            if isinstance(value, float) and value.is_integer() and abs(value) < SAFE_INTEGER:
                value = int(value)
            words = repr(list(value) if isinstance(value, tuple) else value)
            if each.default is dataclasses.MISSING and not each.kw_only:
                given.append(words)
            elif value != each.default:
                named.append(f"{each.name}={words}")
        return f"{type(self).__name__}({', '.join([*given, *named])})"

    def _check(self) -> None:
        """Clean the fields of this kind, or raise PlanError."""

    @property
    def coordinates(self) -> int:
        """How many coordinates the feature takes."""
        return 1

    @property
    def radius_squared(self) -> float:
        """Squared radius of the smallest ball around its values, which is centered at 0."""
        return self.weight * self.weight * 0.25

    @abstractmethod
    def codes(self, column: Column) -> NDArray[Any]:
        """Return what each value of a column counts as: n values -> (n, …)."""

    @abstractmethod
    def place(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return where codes lie: (n, …) -> (n, coordinates)."""

    def points(self, column: Column) -> NDArray[np.float64]:
        """Return the coordinates of a column's values: n values -> (n, coordinates)."""
        return self.place(self.codes(column))

    def understood(self, column: Column) -> NDArray[np.bool_]:
        """Return which values of a column say something to this feature: n values -> (n,). Not private.

        Numbers do, unless a kind says otherwise.
        """
        return ~np.isnan(numbers(column))

    def unread(self, column: Column) -> float:
        """Return the part of the values that are there of which the feature makes nothing. Not private."""
        there = np.array([not absent(value) for value in listed(column)], dtype=np.bool_)
        return float((there & ~self.understood(column)).sum() / max(1, there.sum()))

    @abstractmethod
    def value(self, place: NDArray[np.float64]) -> Any:
        """Return the value nearest to a place, as a record holds it: (coordinates,) -> value."""

    def along(self, figure: float) -> float:
        """Return where a figure of `estimates` lies between the least that it can be, 0, and the most, 1."""
        return figure

    def _scaled(self, block: Block, at: Callable[[float], float], label: str | int | None = None) -> Estimate:
        """Return what `at` makes of a coordinate between the ends of a scale, with its interval."""
        end = 0.5 * self.weight
        value, low, high = map(at, within(float(block.place[0]), block.reach(np.ones(1)), -end, end))
        return Estimate(self.name, VALUE, label, value, low, high, self.unit)

    @abstractmethod
    def estimates(self, block: Block) -> tuple[Estimate, ...]:
        """Return in words and numbers what a place means."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; a field that is None does not stand in it."""
        plain = Record.to_dict(self)
        return {"kind": self.kind, **{name: value for name, value in plain.items() if value is not None}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON form: exactly the fields of this kind, without those that are None."""
        given = (each.name for each in dataclasses.fields(cls) if each.default is not None)
        names = {*given, *(name for name in cls.field_names() if data.get(name) is not None)}
        checked_fields(cls.kind, data, {"kind", *names})
        return cls(**{name: data[name] for name in names})

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the fields that a declaration may leave out, as they then are in the JSON."""
        known = ((each.name, each.default) for each in dataclasses.fields(cls))
        return {name: value for name, value in known if value not in (dataclasses.MISSING, None)}


def checked_text(where: str, value: object, longest: int, least: int = 1) -> str:
    """Return a text of `least` to `longest` code points, without control characters and lone surrogates.

    Examples
    --------
    >>> checked_text("name", "age", 64)
    'age'
    """
    if not isinstance(value, str):
        raise PlanError(f"{where} must be a text, got {shown(value)}")
    if not least <= len(value) <= longest:
        raise PlanError(f"{where} must have {least} to {longest} characters, got {len(value)}")
    if any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 for c in value):
        raise PlanError(f"{where} must hold no control characters and no lone surrogates, got {shown(value)}")
    return str(value)


def checked_values(where: str, values: object, least: int, most: int) -> tuple[str | int, ...]:
    """Return a list of different texts and integers."""
    listed = checked_list(where, values)
    if not least <= len(listed) <= most:
        raise PlanError(f"{where} must hold {least} to {most} entries, got {len(listed)}")
    clean = tuple(
        checked_text(f"{where}[{i}]", value, LONGEST_VALUE)
        if isinstance(value, str)
        else _checked_code(f"{where}[{i}]", value)
        for i, value in enumerate(listed)
    )
    if len(set(clean)) < len(clean):
        raise PlanError(f"{where} holds an entry twice; keep one of them")
    return clean


def _checked_code(where: str, value: object) -> int:
    try:
        return checked_integer(where, value, -SAFE_INTEGER, SAFE_INTEGER)
    except PlanError:
        raise PlanError(
            f"{where} must be a text, or an integer below 2^53 in size, got {shown(value)}"
        ) from None


def keys(values: Sequence[str | int]) -> dict[str | float, int]:
    """Return the place of each value, by what records are compared with."""
    return {value if isinstance(value, str) else float(value): i for i, value in enumerate(values)}
