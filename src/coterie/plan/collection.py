"""How a plan is collected: when, in which steps time counts, from how many people on, and for how long.

    opens, closes    seconds since 1970-01-01T00:00:00Z, or None: no such bound. Open is opens ≤ now < closes
    time_precision   seconds: a collector keeps and tells no time but in multiples of it
    minimum          people without whom nothing is decoded
    retention        seconds after the close for which reports are kept, or None: until they are deleted

Times are integers, so that every language reads them alike, and multiples of `time_precision`: time may be
rounded down to it without moving a report into the window or out of it.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Final, Self

from coterie.errors import PlanError
from coterie.plain.canonical import shown
from coterie.plain.checks import MOST_PEOPLE, checked_fields, checked_integer
from coterie.plain.record import Record

LATEST: Final = 253402300799  # the last second of the year 9999
LONGEST: Final = 1 << 32  # seconds of a precision or a retention: 136 years

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"([0-9]{1,12})([smhdw]?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(Record):
    """The part of a plan that a collector keeps to. Public, as all of the plan.

    Attributes
    ----------
    opens, closes : int or None
        Seconds since 1970-01-01T00:00:00Z, multiples of `time_precision`; reports are taken in from `opens`
        until just before `closes`. None: from the start; until somebody closes the study.
    time_precision : int
        Seconds, at least 1. What a collector keeps or tells of time is a multiple of it.
    minimum : int
        People without whom nothing is decoded; at most the plan's `expected_users`.
    retention : int or None
        Seconds after the close for which reports are kept; None: until the operator deletes them.

    Examples
    --------
    >>> week = Collection(opens=1_798_761_600, closes=1_799_366_400, minimum=1000)
    >>> week.is_early(1_798_761_599), week.is_early(1_798_761_600), week.rounded(1_798_765_201)
    (True, False, 1798765200)
    """

    opens: int | None = None
    closes: int | None = None
    time_precision: int = 3600
    minimum: int = 1
    retention: int | None = None

    def __post_init__(self) -> None:
        precision = checked_integer("collection.time_precision", self.time_precision, 1, LONGEST)
        clean: dict[str, int | None] = {
            "time_precision": precision,
            "minimum": checked_integer("collection.minimum", self.minimum, 1, MOST_PEOPLE),
            "retention": _checked_or_none("retention", self.retention, LONGEST),
        }
        for name in ("opens", "closes"):
            clean[name] = moment = _checked_or_none(name, getattr(self, name), LATEST)
            if moment is not None and moment % precision:
                raise PlanError(
                    f"collection.{name} must be a multiple of time_precision {precision}, got {moment}"
                )
        self._set(**clean)
        if self.opens is not None and self.closes is not None and self.opens >= self.closes:
            raise PlanError(f"collection.opens {self.opens} must be before closes {self.closes}")

    def rounded(self, moment: float) -> int:
        """Return a time as it may be kept: down to a multiple of `time_precision`."""
        return int(moment // self.time_precision) * self.time_precision

    def is_early(self, moment: float) -> bool:
        """Return whether reports are not taken in yet."""
        return self.opens is not None and moment < self.opens

    def is_late(self, moment: float) -> bool:
        """Return whether reports are not taken in any more."""
        return self.closes is not None and moment >= self.closes

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON object and check all of it."""
        return cls(**checked_fields("collection", data, cls.field_names()))

    @property
    def words(self) -> str:
        """The same in one line.

        Examples
        --------
        >>> Collection(opens=1_798_761_600, minimum=1000, retention=86_400).words
        'from 2027-01-01T00:00Z; decoded from 1,000 people on; reports deleted 1 day after the close'
        """
        parts = []
        if self.opens is not None or self.closes is not None:
            opens = "" if self.opens is None else f"from {written_time(self.opens)}"
            closes = "" if self.closes is None else f"until {written_time(self.closes)}"
            parts.append(f"{opens} {closes}".strip())
        if self.minimum > 1:
            parts.append(f"decoded from {self.minimum:,} people on")
        if self.retention is not None:
            parts.append(f"reports deleted {written_duration(self.retention)} after the close")
        return "; ".join(parts) or "at any time, until it is closed"


def _checked_or_none(name: str, value: object, high: int) -> int | None:
    return None if value is None else checked_integer(f"collection.{name}", value, 0, high)


def written_time(moment: int) -> str:
    """Return a time as RFC 3339 text in UTC, without seconds where they are 0.

    Examples
    --------
    >>> written_time(0), written_time(61)
    ('1970-01-01T00:00Z', '1970-01-01T00:01:01Z')
    """
    at = datetime.datetime.fromtimestamp(moment, datetime.UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ" if at.second else "%Y-%m-%dT%H:%MZ")


def read_time(text: str) -> int:
    """Read a time: seconds since 1970, a date (midnight UTC), or a date and time with its zone.

    Examples
    --------
    >>> read_time("2027-01-01"), read_time("2027-01-01T02:00+02:00"), read_time("1798761600")
    (1798761600, 1798761600, 1798761600)
    """
    if re.fullmatch(r"[0-9]{1,12}", text) and len(text) != 8:  # eight digits are a date without its dashes
        return int(text)
    try:
        at = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise PlanError(
            "a time is written like 2027-01-31 or 2027-01-31T18:00Z, or as seconds since 1970, got "
            f"{shown(text)}"
        ) from None
    if at.tzinfo is None:
        if len(text) > 10:
            raise PlanError(f"say in which zone {shown(text)} is: Z for UTC, or an offset such as +01:00")
        at = at.replace(tzinfo=datetime.UTC)
    return int(at.timestamp())


def written_duration(seconds: int) -> str:
    """Return a duration in the largest unit that divides it.

    Examples
    --------
    >>> written_duration(86_400), written_duration(7200), written_duration(61)
    ('1 day', '2 hours', '61 seconds')
    """
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds and seconds % size == 0:
            return f"{seconds // size:,} {unit}{'' if seconds == size else 's'}"
    return "0 seconds"


def read_duration(text: str) -> int:
    """Read a duration: seconds, or a number with s, m, h, d or w after it.

    Examples
    --------
    >>> read_duration("90d"), read_duration("3600"), read_duration("12h")
    (7776000, 3600, 43200)
    """
    found = _DURATION.fullmatch(text)
    if not found:
        raise PlanError(f"a duration is written like 90d, 12h, 30m or 45s, got {shown(text)}")
    return int(found[1]) * _UNITS[found[2]]
