"""One simulated study from data to verdict: what `coterie demo` runs and its page shows.

The points are the paper's mixture, so the true centers are known and the private ones can be judged. Encoder,
reports, table and decoder are the real ones.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers import decode
from coterie.coins import Coins, SimulationCoins, SystemCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import Inline, Partition, play
from coterie.metrics import normalized_objective, recovered
from coterie.plan import Plan

if TYPE_CHECKING:
    from coterie.aggregate import Aggregate
    from coterie.centers import Result

SHOWN_POINTS: Final = 3000
SHOWN_REPORTS: Final = 5

_STARTS: Final = 10  # of non-private k-means, so that the comparison is with a good one
_SAMPLE: Final = 10_000  # people to try the starts on
_SEEDS: Final = 1 << 32

Stage = Callable[[str, int | None], contextlib.AbstractContextManager[Callable[[int], None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A finished simulation and what it cost."""

    plan: Plan
    separation: float
    seed: int  # of the data and the plan
    seeded_coins: bool  # True: the whole run repeats; False: the coins were the system's
    result: Result
    true_centers: NDArray[np.float64]  # (k, d)
    some_points: NDArray[Any]  # (m, d)
    some_reports: NDArray[np.uint8]  # (s, width)
    one_center: float  # objectives: mean squared distance to the nearest center
    private: float
    non_private: float
    seconds: dict[str, float]  # by stage

    @property
    def recovered(self) -> float:
        """Share of what clustering can gain that the private centers gained."""
        return recovered(self.private, one_center=self.one_center, non_private=self.non_private)

    def pairs(self) -> list[tuple[int, int]]:
        """Return which found center (second) stands for which true one (first): the closest matching."""
        from scipy.optimize import linear_sum_assignment

        apart = np.linalg.norm(self.true_centers[:, None] - self.result.centers, axis=2)  # (k, k)
        return [(int(true), int(found)) for true, found in zip(*linear_sum_assignment(apart), strict=True)]

    def groups_found(self) -> int:
        """Return how many true centers have their found center nearer than half way to any other true one."""
        between = np.linalg.norm(self.true_centers[:, None] - self.true_centers, axis=2)
        np.fill_diagonal(between, np.inf)
        reach = between.min(axis=1) / 2
        return sum(
            bool(np.linalg.norm(self.true_centers[true] - self.result.centers[found]) < reach[true])
            for true, found in self.pairs()
        )


def simulate(
    *,
    users: int,
    clusters: int,
    dimension: int,
    epsilon: float,
    separation: float,
    seed: int | None,
    stage: Stage,
) -> Study:
    """Play one study.

    Parameters
    ----------
    users, clusters, dimension : int
        n, k and d.
    epsilon : float
        Privacy of one report.
    separation : float
        r of the mixture; see `coterie.datasets`.
    seed : int or None
        Repeats everything, the coins included; None draws fresh data, and coins from the system.
    stage : callable
        Opens a progress bar: (name, total or None) -> context manager of an advance function.
    """
    chosen = secrets.randbelow(_SEEDS) if seed is None else seed
    coins = SystemCoins() if seed is None else SimulationCoins([chosen, 0])
    plan = Plan.design(dimension, clusters, epsilon, users, seed=chosen)
    clock = _Clock()
    with stage("making people", None), clock.stage("make the data"):
        points, true_centers, _ = gaussian_mixture(
            users, dimension, clusters, separation, np.random.default_rng([chosen, 1]), dtype=np.float32
        )
    some_reports: list[NDArray[np.uint8]] = []
    with stage("encoding on every device", users) as advance:

        def watch(partition: Partition) -> None:
            some_reports.append(partition.reports[: 0 if some_reports else SHOWN_REPORTS])
            advance(len(partition.reports))

        table = play(plan, points, coins, on=_Timed(clock), watch=watch)
    with stage("decoding", None), clock.stage("decode"):
        result = decode(table, random_state=chosen)
    with stage("comparing with k-means in the open", None), clock.stage("compare"):
        in_the_open = _kmeans(points, clusters, chosen)
        objectives = {
            "private": normalized_objective(points, result.centers),
            "non_private": normalized_objective(points, in_the_open),
            "one_center": normalized_objective(points, points.mean(axis=0, dtype=np.float64)[None]),
        }
    return Study(
        plan=plan,
        separation=separation,
        seed=chosen,
        seeded_coins=seed is not None,
        result=result,
        true_centers=true_centers,
        some_points=points[:SHOWN_POINTS].copy(),
        some_reports=np.concatenate(some_reports),
        seconds=clock.seconds,
        **objectives,
    )


def _kmeans(points: NDArray[Any], clusters: int, seed: int) -> NDArray[np.float64]:
    """Return the centers of k-means in the open: the best of many starts on a sample, then everybody."""
    from sklearn.cluster import KMeans

    sample = points[:_SAMPLE]  # the mixture's clusters take turns, so a stretch of rows is a fair one
    start = KMeans(clusters, n_init=_STARTS, random_state=seed).fit(sample).cluster_centers_
    return np.asarray(KMeans(clusters, init=start, n_init=1).fit(points).cluster_centers_, dtype=np.float64)


class _Timed(Inline):
    """The inline engine, with a clock on its two halves."""

    def __init__(self, clock: _Clock) -> None:
        self._clock = clock

    def encode(self, plan: Plan, points: NDArray[Any], coins: Coins) -> Iterator[Partition]:
        partitions = super().encode(plan, points, coins)
        while True:
            with self._clock.stage("encode"):
                partition = next(partitions, None)
            if partition is None:
                return
            yield partition

    def aggregate(self, plan: Plan, partitions: Iterable[NDArray[np.uint8]]) -> Aggregate:
        with self._clock.stage("aggregate"):
            return super().aggregate(plan, partitions)


class _Clock:
    """Adds up the wall time of stages by name; the time of a stage inside another is its own."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start, inside = time.perf_counter(), sum(self.seconds.values())
        yield
        own = time.perf_counter() - start - (sum(self.seconds.values()) - inside)
        self.seconds[name] = self.seconds.get(name, 0.0) + own
