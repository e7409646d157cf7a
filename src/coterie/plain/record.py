"""Frozen dataclasses that are checked when they are built, and have one JSON form: their fields by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any


class Record:
    """What such dataclasses inherit.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from coterie.plain.checks import checked_integer
    >>> @dataclass(frozen=True, slots=True)
    ... class Grid(Record):
    ...     steps: int
    ...     places: tuple[int, ...] = ()
    ...
    ...     def __post_init__(self):
    ...         self._clean(checked_integer, steps=(1, 4096))
    >>> Grid(8, (1, 2)).to_dict()
    {'steps': 8, 'places': [1, 2]}
    """

    __slots__ = ()

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of the fields, as they stand in the JSON."""
        return tuple(item.name for item in fields(cls))  # type: ignore[arg-type]  # subclasses are dataclasses

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: as_json(getattr(self, name)) for name in self.field_names()}

    def _set(self, **clean: Any) -> None:
        """Put clean values into an instance that is being built."""
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    def _clean(self, check: Callable[..., Any], **bounds: tuple[Any, ...]) -> None:
        """Put in what a check makes of fields: it is given a name, the value, and the bounds of the field."""
        self._set(**{name: check(name, getattr(self, name), *given) for name, given in bounds.items()})


def as_json(value: Any) -> Any:
    """Return a field's value as it stands in the JSON: tuples as lists, records as objects."""
    if isinstance(value, tuple):
        return [as_json(each) for each in value]
    return value.to_dict() if isinstance(value, Record) else value
