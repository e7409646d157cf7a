"""The people of both demos: simulated listeners of an app, in five groups. This is the whole generator.

Each person belongs to one group, drawn by its share, and has six features. Given the group they are
independent:

    hour             normal around the group's, and comes round
    weekday          the same, rounded to a day
    minutes          log-normal around the group's
    visits           normal around the group's, rounded
    device           drawn by the group's shares
    notifications    on with the group's chance

Nothing else is put in. The plan of the study knows `SCHEMA`, which is public; it does not know `HABITS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.features import Category, Cycle, Flag, Number, Schema

DEVICES: Final = ("phone", "tablet", "computer")

SCHEMA: Final = Schema(
    (
        Cycle("hour", 24, weight=1.6, unit="h", description="when the app is mostly used"),
        Cycle("weekday", 7, weight=0.9, description="the day of most use; 0 is Monday"),
        Number("minutes", 1, 120, "log", weight=1.2, unit="min", description="how long a visit lasts"),
        Number("visits", 0, 30, weight=1.2, unit="per week", description="how often the app is opened"),
        Category("device", DEVICES, weight=1.2, description="what the app is mostly used on"),
        Flag("notifications", weight=0.7, description="whether notifications are on"),
    )
)

_MINUTES_SPREAD: Final = 0.45  # of the logarithm
_VISITS_SPREAD: Final = 2.5


@dataclass(frozen=True, slots=True)
class Habit:
    """A group of people: its share, and the figures that their features are drawn around."""

    name: str
    share: float
    hour: float
    weekday: float
    minutes: float
    visits: float
    devices: tuple[float, float, float]  # shares of DEVICES
    notifications: float  # share of people who have them on
    hour_spread: float = 1.2  # standard deviation
    weekday_spread: float = 1.1


# name, share, hour, weekday, minutes, visits, devices, notifications
HABITS: Final = (
    Habit("Commuters", 0.24, 7.5, 2, 12, 20, (0.94, 0.02, 0.04), 0.85),
    Habit("Desk listeners", 0.21, 12, 2, 40, 10, (0.06, 0.02, 0.92), 0.15),
    Habit("Sofa evenings", 0.20, 20, 3, 50, 8, (0.08, 0.90, 0.02), 0.6),
    Habit("Night owls", 0.19, 0.5, 4, 20, 18, (0.95, 0.03, 0.02), 0.1),
    Habit("Weekenders", 0.16, 16, 5.5, 12, 2, (0.90, 0.06, 0.04), 0.2, weekday_spread=0.5),
)


def draw_people(n: int, rng: np.random.Generator) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Draw n people: their columns by the features' names, (n,) each, and which of HABITS each has, (n,).

    Examples
    --------
    >>> people, habits = draw_people(1000, np.random.default_rng(0))
    >>> list(people), habits.shape
    (['hour', 'weekday', 'minutes', 'visits', 'device', 'notifications'], (1000,))
    """
    habits = rng.choice(len(HABITS), size=n, p=[habit.share for habit in HABITS])

    def of(name: str) -> NDArray[np.float64]:
        return np.array([getattr(habit, name) for habit in HABITS])[habits]

    thresholds = np.cumsum([habit.devices[:-1] for habit in HABITS], axis=1)[habits]  # (n, 2)
    return {
        "hour": rng.normal(of("hour"), of("hour_spread")) % 24,
        "weekday": np.rint(rng.normal(of("weekday"), of("weekday_spread"))) % 7,
        "minutes": rng.lognormal(np.log(of("minutes")), _MINUTES_SPREAD),
        "visits": np.maximum(np.rint(rng.normal(of("visits"), _VISITS_SPREAD)), 0),
        "device": np.array(DEVICES)[(rng.random((n, 1)) > thresholds).sum(axis=1)],
        "notifications": rng.random(n) < of("notifications"),
    }, habits
