"""What is left out on the way in, counted by reason; the first places are named as they were sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

SHOWN_PLACES: Final = 3  # of the reports left out for one reason


@dataclass(frozen=True, slots=True)
class Skipped:
    """Reports that were left out for one reason."""

    reason: str
    count: int
    places: tuple[str, ...]  # of the first few: file, number of the report (from 0), byte

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.places) else ""
        return f"{self.count:,} left out, {self.reason}: {'; '.join(self.places)}{more}"


class Skips:
    """Counts what is left out, by reason.

    Examples
    --------
    >>> skips = Skips()
    >>> skips.note("of another form", np.array([4]), lambda number: f"reports.coterie, report {number}")
    >>> print(skips.all[0])
    1 left out, of another form: reports.coterie, report 4
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._places: dict[str, list[str]] = {}

    def note(self, reason: str, numbers: NDArray[np.integer], place: Callable[[int], str]) -> None:
        """Count the reports with these numbers; `place` says where a number stands."""
        if not len(numbers):
            return
        self._counts[reason] += len(numbers)
        places = self._places.setdefault(reason, [])
        places.extend(place(int(number)) for number in numbers[: SHOWN_PLACES - len(places)])

    @property
    def all(self) -> tuple[Skipped, ...]:
        """What was left out, one entry per reason."""
        return tuple(
            Skipped(reason, count, tuple(self._places[reason])) for reason, count in self._counts.items()
        )
