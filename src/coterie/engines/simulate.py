"""What so many people would give us: a table of any number of people who are like some points.

- *By law* (`codeword.law`): the table is drawn as it would come out. A hundred million people take no
  longer than a thousand.
- *By reports*: everybody is drawn from the points and encoded, partition by partition. The seed decides the
  table, however many cores there are.

Whoever knows the seed can undo the privacy of such a table. It is for planning a study.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.aggregate import Aggregate
from coterie.coins import SimulationCoins
from coterie.engines.base import Tell
from coterie.engines.play import engine
from coterie.errors import PlanError, PointError, SettingError
from coterie.geometry.ball import as_points
from coterie.plain.checks import MOST_PEOPLE, checked_integer
from coterie.plan import Plan
from coterie.protocols import PROTOCOLS, protocol_of

_PARTITION: Final = 1 << 18  # people encoded at a time; part of what a seed means, so it never changes


def simulate(
    plan: Plan,
    points: ArrayLike,
    people: int,
    *,
    random_state: int = 0,
    by: str = "law",
    device: str | None = None,
    tell: Tell = None,
) -> Aggregate:
    """Return the table that `people` reports would make, of people who are like the points.

    Parameters
    ----------
    plan : Plan
        The plan that they would answer.
    points : array-like, shape (m, d)
        What people are like; each person is like one of them, all equally often.
    people : int
        How many, up to 2^40.
    random_state : int
        Seed. The same one gives the same table.
    by : {"law", "reports"}
        Draw the table from its law (protocol codeword), or encode everybody.
    device : str, optional
        By law: where PyTorch (`coterie[torch]`) does the products, "cuda" for instance.
    tell : callable, optional
        Called with a number when so many more points (by law) or people (by reports) are through.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=10**8)
    >>> simulate(plan, [[0.5, 0.5], [-0.5, 0.0]], 10**8).count
    100000000
    """
    rows = as_points(points, plan.dimension)
    if not len(rows):
        raise PointError("a simulation needs at least one point")
    if not np.isfinite(rows).all():
        raise PointError("points hold NaN or infinite coordinates: drop or repair those rows first")
    people = checked_integer("people", people, 0, MOST_PEOPLE)
    if by == "reports":
        if device is not None:
            raise SettingError("device is for a simulation by law: reports are encoded on the processor")
        return _by_reports(plan, rows, people, random_state, tell)
    if by != "law":
        raise SettingError(f"by must be law or reports, got {by!r}")
    protocol = protocol_of(plan)
    if protocol.simulate is None:
        known = ", ".join(name for name, each in PROTOCOLS.items() if each.simulate is not None)
        raise PlanError(
            f'no law of a table is known for protocol {plan.protocol}; known: {known}. Use by="reports"'
        )
    rng = np.random.default_rng([random_state, 0])
    drawn: Aggregate = protocol.load(protocol.simulate)(plan, rows, people, rng, device=device, tell=tell)
    return drawn


def _by_reports(plan: Plan, points: NDArray[Any], people: int, seed: int, tell: Tell) -> Aggregate:
    chosen = engine("inline")

    def partitions() -> Iterator[NDArray[np.uint8]]:
        for number, start in enumerate(range(0, people, _PARTITION)):
            count = min(_PARTITION, people - start)
            like = np.random.default_rng([seed, 1, number]).integers(len(points), size=count)
            for partition in chosen.encode(plan, points[like], SimulationCoins([seed, 2, number])):
                yield partition.reports
            if tell is not None:
                tell(count)

    return chosen.aggregate(plan, partitions())
