"""One simulated study from data to verdict: what `coterie demo` runs and its page shows.

The people are those of `coterie.show.people`, so the true groups are known and the found ones can be judged.
Schema, encoder, reports, table and decoder are the real ones.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.centers import decode
from coterie.coins import SimulationCoins, SystemCoins
from coterie.engines import Inline
from coterie.metrics import normalized_objective, recovered
from coterie.plan import Plan
from coterie.show.people import HABITS, SCHEMA, draw_people
from coterie.show.told import Told

if TYPE_CHECKING:
    from coterie.centers import Result

SHOWN_POINTS: Final = 2500
SHOWN_REPORTS: Final = 5

_STARTS: Final = 10  # of non-private k-means, so that the comparison is with a good one
_SAMPLE: Final = 10_000  # people to try the starts on
_SEEDS: Final = 1 << 32

Stage = Callable[[str, int | None], contextlib.AbstractContextManager[Callable[[int], None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A finished simulation and what it cost."""

    plan: Plan
    seed: int  # of the people and the plan
    seeded_coins: bool  # True: the whole run repeats; False: the coins were the system's
    result: Result
    true_centers: NDArray[np.float64]  # (k, d), means of the true groups' points
    true_shares: NDArray[np.float64]  # (k,)
    some_points: NDArray[np.float64]  # (m, d)
    some_habits: NDArray[np.int64]  # (m,), the true groups of those
    some_reports: NDArray[np.uint8]  # (s, width)
    one_center: float  # objectives: mean squared distance to the nearest center
    private: float
    non_private: float
    seconds: dict[str, float]  # by stage

    @property
    def recovered(self) -> float:
        """Share of what clustering can gain that the private centers gained."""
        return recovered(self.private, one_center=self.one_center, non_private=self.non_private)

    def told(self) -> Told:
        """Return what the reports alone tell. A real study says the same."""
        return Told.of(self.result.to_dict(), self.plan.radius)

    def found(self) -> dict[int, int]:
        """Return which true group (value) each told one (key, its number) is; told ones that are none lack.

        A told group is a true one if its center lies nearer to the true center than half way to any other;
        the closest matching decides.
        """
        from scipy.optimize import linear_sum_assignment

        numbers = [group.number for group in self.told().told]
        apart = np.linalg.norm(self.result.centers[numbers][:, None] - self.true_centers, axis=2)
        between = np.linalg.norm(self.true_centers[:, None] - self.true_centers, axis=2)
        np.fill_diagonal(between, np.inf)
        reach = between.min(axis=1) / 2
        pairs = zip(*linear_sum_assignment(apart), strict=True)
        return {numbers[one]: int(true) for one, true in pairs if apart[one, true] < reach[true]}


def simulate(*, users: int, epsilon: float, seed: int | None, stage: Stage) -> Study:
    """Play one study.

    Parameters
    ----------
    users : int
        n, at least 100.
    epsilon : float
        Privacy of one report.
    seed : int or None
        Repeats everything, the coins included; None draws fresh people, and coins from the system.
    stage : callable
        Opens a progress bar: (name, total or None) -> context manager of an advance function.
    """
    chosen = secrets.randbelow(_SEEDS) if seed is None else seed
    coins = SystemCoins() if seed is None else SimulationCoins([chosen, 0])
    plan = Plan.design(
        features=SCHEMA, clusters=len(HABITS), epsilon=epsilon, expected_users=users, seed=chosen
    )
    clock = _Clock()
    with stage("making people", None), clock.stage("make people"):
        people, habits = draw_people(users, np.random.default_rng([chosen, 1]))
        points = SCHEMA.points(people)
    table, partitions = Aggregate(plan), Inline().encode(plan, points, coins)
    some_reports = np.zeros((0, plan.report_width), dtype=np.uint8)
    with stage("encoding on every device", users) as advance:
        while True:
            with clock.stage("encode"):
                partition = next(partitions, None)
            if partition is None:
                break
            with clock.stage("aggregate"):
                table.add(partition.reports)
            some_reports = np.concatenate([some_reports, partition.reports[:SHOWN_REPORTS]])[:SHOWN_REPORTS]
            advance(len(partition.reports))
    with stage("decoding", None), clock.stage("decode"):
        result = decode(table, random_state=chosen)
    with stage("comparing with k-means in the open", None), clock.stage("compare"):
        in_the_open = _kmeans(points, len(HABITS), chosen)
        objectives = {
            "private": normalized_objective(points, result.centers),
            "non_private": normalized_objective(points, in_the_open),
            "one_center": normalized_objective(points, points.mean(axis=0)[None]),
        }
    return Study(
        plan=plan,
        seed=chosen,
        seeded_coins=seed is not None,
        result=result,
        true_centers=np.stack([points[habits == each].mean(axis=0) for each in range(len(HABITS))]),
        true_shares=np.bincount(habits, minlength=len(HABITS)) / users,
        some_points=points[:SHOWN_POINTS].copy(),
        some_habits=habits[:SHOWN_POINTS].copy(),
        some_reports=some_reports,
        seconds=clock.seconds,
        **objectives,
    )


def _kmeans(points: NDArray[Any], clusters: int, seed: int) -> NDArray[np.float64]:
    """Return the centers of k-means in the open: the best of many starts on a sample, then everybody."""
    from sklearn.cluster import KMeans

    sample = points[:_SAMPLE]  # people come in no order, so a stretch of rows is a fair one
    start = KMeans(clusters, n_init=_STARTS, random_state=seed).fit(sample).cluster_centers_
    return np.asarray(KMeans(clusters, init=start, n_init=1).fit(points).cluster_centers_, dtype=np.float64)


class _Clock:
    """Adds up the wall time of stages by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
