"""The steps that `benchmarks.scale` measures, one in a process: `python -m benchmarks.scale_steps STEP JSON`.

Prints one JSON object: seconds, CPU seconds of all threads, the process's peak memory in MB (imports
included), and what the step says of itself. Kernels are compiled before the clock starts. Streams of reports
are generated: random well-formed reports, one in twenty a repetition of an earlier one, from near and far.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import harness, speed
from coterie import Aggregate, Client, LocalKMeans, Plan, decode, simulate
from coterie.collect import Deduplicator, take_in
from coterie.datasets import gaussian_mixture
from coterie.engines.inline import Parallel
from coterie.metrics import normalized_objective, recovered
from coterie.protocols.codeword import table as codeword
from coterie.wire.kernels import VARIABLE
from coterie.wire.report_file import ReportFile, writing_reports
from coterie.wire.workers import default_workers, in_shares

REPEATED = 0.05  # of a stream's reports
BLOCK = 1 << 18  # reports generated at a time
POOL = 1 << 20  # earlier reports that may come again
WARM = 20_000  # reports that compile everything
WARM_FILE = 600_000  # but for sorting: that is compiled for more
SEPARATION = 8.0  # r of the mixture that people are like
LIKE = 20_000  # points that people are like
FLOOR_RUNS = 16

Figures = dict[str, Any]


@contextlib.contextmanager
def measured(figures: Figures) -> Iterator[None]:
    """Put the seconds and CPU seconds of the block into the figures."""
    begin, used = time.perf_counter(), _cpu_seconds()
    yield
    figures["cpu_s"] = _cpu_seconds() - used
    figures["seconds"] = time.perf_counter() - begin


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def stream(plan: Plan, count: int, seed: int = 0) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """Yield `count` reports, (m, width) at a time, and how many of them repeat earlier ones exactly."""
    rng = np.random.default_rng(seed)
    pool = np.empty((0, plan.report_width), dtype=np.uint8)
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        rows = rng.integers(0, 256, size=(size, plan.report_width), dtype=np.uint8)
        if not len(pool):  # the first block can repeat only itself
            pool = rows[: size // 2].copy()
            places = size // 2 + rng.permutation(size - size // 2)
        else:
            places = rng.permutation(size)
        places = places[: round(REPEATED * size)]
        again = min(len(places), len(pool))
        fresh = np.ones(size, dtype=np.bool_)
        fresh[places[:again]] = False
        rows[places[:again]] = pool[rng.permutation(len(pool))[:again]]
        if len(pool) < POOL:
            pool = np.concatenate([pool, rows[fresh]])[:POOL] if start else pool
        else:
            taken = rng.permutation(np.flatnonzero(fresh))[: BLOCK // 8]
            pool[rng.permutation(len(pool))[: len(taken)]] = rows[taken]
        yield rows, again


def generate(path: str, count: int) -> Figures:
    """Write a stream to a report file."""
    plan, figures, repeated = speed.the_plan(), Figures(), 0
    with measured(figures), writing_reports(path, plan) as writer:
        for rows, again in stream(plan, count):
            writer.append(rows)
            repeated += again
    return {**figures, "repeated": repeated, "bytes": Path(path).stat().st_size}


def encode(count: int) -> Figures:
    """Encode people, as many at a time as a study's file is read in."""
    plan, figures = speed.the_plan(), Figures()
    client = Client(plan)
    points = np.random.default_rng(0).normal(size=(min(count, 1 << 17), plan.dimension)) / 10
    client.encode_many(points[:WARM])
    made = 0
    with measured(figures):
        for start in range(0, count, len(points)):
            made += len(client.encode_many(points[: count - start]))
    return {**figures, "bytes": made}


def deduplicate(path: str) -> Figures:
    """Free a file of repeated ids on one core: `Deduplicator`."""
    file, figures = ReportFile.open(path), Figures()
    with measured(figures), Deduplicator(file.width, folder=Path(path).parent) as reports:
        for rows in file.chunks():
            reports.add(rows)
        kept = sum(len(rows) for rows in reports.chunks())
    return {**figures, "kept": kept, "repeated": reports.duplicates}


def partitions(path: str) -> Figures:
    """Free a file of repeated ids on all cores: an `Intake` with threads, and its parts."""
    plan, figures = speed.the_plan(), Figures()
    _each_once(plan, _warm_file(path, plan))
    with measured(figures):
        kept, repeated = _each_once(plan, path)
    return {**figures, "kept": kept, "repeated": repeated}


def _each_once(plan: Plan, path: str) -> tuple[int, int]:
    with take_in([path], plan, workers=default_workers(), folder=Path(path).parent) as intake:
        reports = intake.once()

        def kept_of(numbers: Any) -> int:
            return sum(len(rows) for part in numbers for rows in reports.reports_of(part))

        kept = sum(in_shares(kept_of, reports.parts, default_workers()))
        return kept, intake.counts.duplicates


def aggregate(path: str) -> Figures:
    """Add a file's reports to a table, repeated or not: `Aggregate.add` and reading."""
    plan, figures = speed.the_plan(), Figures()
    Aggregate(plan).add(speed.random_reports(plan, WARM))
    table = Aggregate(plan)
    with measured(figures):
        for rows in ReportFile.open(path, plan).chunks(1 << 20):
            table.add(rows)
    return {**figures, "kept": table.count}


def parallel(path: str) -> Figures:
    """Count a file on all cores, each id once: the engine `parallel`."""
    plan, figures = speed.the_plan(), Figures()
    engine = Parallel(folder=Path(path).parent)
    engine.count(plan, [_warm_file(path, plan)])
    with measured(figures):
        counted = engine.count(plan, [path])
    return {**figures, "kept": counted.table.count, "repeated": counted.counts.duplicates}


def _warm_file(path: str, plan: Plan) -> str:
    warm = f"{path}.warm"
    with writing_reports(warm, plan, overwrite=True) as writer:
        writer.append(speed.random_reports(plan, WARM_FILE))
    return warm


def shape(dimension: int, clusters: int, people: int, tight: bool = False, seed: int = 0) -> Figures:
    """Decode the table of so many people, drawn from its law, and judge the centers."""
    points, true_centers, _ = gaussian_mixture(LIKE, dimension, clusters, SEPARATION, seed, dtype=np.float32)
    declared: dict[str, Any] = {"shape": "tight"} if tight else {}
    plan, figures = Plan.design(dimension, clusters, 1.0, people, **declared), Figures()
    table = simulate(plan, points, people, random_state=seed)
    with measured(figures):
        result = decode(table, random_state=seed)
    open_centers = KMeans(clusters, init=true_centers, n_init=1).fit(points.astype(np.float64))
    best = normalized_objective(points, open_centers.cluster_centers_)
    mean = normalized_objective(points, points.mean(axis=0, dtype=np.float64)[None])
    found = normalized_objective(points, result.centers)
    with tempfile.TemporaryDirectory() as folder:
        table.save(Path(folder) / "table")
        size = (Path(folder) / "table").stat().st_size
    return {
        **figures,
        "objective": found,
        "one_center": mean,
        "non_private": best,
        "recovered": recovered(found, one_center=mean, non_private=best),
        "report_bytes": plan.report_width,
        "table_bytes": size,
    }


def fit(people: int, dimension: int = 100, clusters: int = 8) -> Figures:
    """Fit the estimator: plan, everybody's report, table, centers."""
    points, _, _ = gaussian_mixture(people, dimension, clusters, SEPARATION, 0, dtype=np.float32)
    Client(speed.the_plan()).encode_many(np.zeros((WARM, 100)))
    figures = Figures()
    with measured(figures):
        model = LocalKMeans(n_clusters=clusters, epsilon=1.0, radius=1.0, random_state=0).fit(points)
    return {**figures, "objective": normalized_objective(points, model.cluster_centers_)}


def from_reports(people: int, dimension: int = 100, clusters: int = 8) -> Figures:
    """Aggregate and decode the reports of so many people: what a server does."""
    points, _, _ = gaussian_mixture(people, dimension, clusters, SEPARATION, 0, dtype=np.float32)
    plan, figures = Plan.design(dimension, clusters, 1.0, people), Figures()
    reports = Client(plan).encode_many(points)
    warm = Aggregate(plan)
    warm.add(reports[: WARM * plan.report_width])
    decode(warm, random_state=0)  # imports what it needs
    with measured(figures):
        table = Aggregate(plan)
        table.add(reports)
        result = decode(table, random_state=0)
    return {**figures, "objective": normalized_objective(points, result.centers)}


def write_points(path: str, people: int, dimension: int = 100, clusters: int = 8) -> Figures:
    """Write the same people's points, for those who look at them."""
    points, _, _ = gaussian_mixture(people, dimension, clusters, SEPARATION, 0, dtype=np.float32)
    np.save(path, points)
    return {"bytes": points.nbytes}


def hot_path(reports: int) -> Figures:
    """Measure `Aggregate.add` against the sum of its floors, with and without the second moment, in turns.

    All on one core, as the floors are; CPU nanoseconds per report, the least of several runs, because what
    other processes take is not ours.
    """
    plan = speed.the_plan()
    batch = speed.random_reports(plan, reports)
    limit = codeword.SECOND_MOMENT_LIMIT
    best = {"with": float("inf"), "without": float("inf")}
    floors: dict[str, float] = {}
    with _one_core():
        for turn in range(FLOOR_RUNS):
            for name, most in (("with", limit), ("without", 0)):
                codeword.SECOND_MOMENT_LIMIT = most  # type: ignore[misc]
                table = Aggregate(plan)
                used = time.process_time()
                table.add(batch)
                if turn:
                    best[name] = min(best[name], 1e9 * (time.process_time() - used) / reports)
            codeword.SECOND_MOMENT_LIMIT = limit  # type: ignore[misc]
            if turn % 4 == 0:
                for floor in speed.measure_floors(plan, 3):
                    name = f"{floor.name.removeprefix('floor of a report: ')}, {floor.kernels}"
                    floors[name] = min(floors.get(name, float("inf")), floor.value)
    kernels = speed.KERNELS[-1]
    total = floors["AES, numpy"] + sum(
        value for name, value in floors.items() if name.endswith(kernels) and not name.startswith("AES")
    )
    return {
        "kernels": kernels,
        "add_ns": best["with"],
        "add_without_second_moment_ns": best["without"],
        "second_moment_share": 1 - best["without"] / best["with"],
        "floors_ns": floors,
        "sum_of_floors_ns": total,
        "over_floors": best["with"] / total,
    }


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


STEPS: dict[str, Callable[..., Figures]] = {
    step.__name__: step
    for step in (
        *(generate, encode, deduplicate, partitions, aggregate, parallel),
        *(shape, fit, from_reports, write_points, hot_path),
    )
}


def main() -> None:
    """Run one step and print its figures."""
    name, arguments = sys.argv[1], json.loads(sys.argv[2])
    os.environ.setdefault(VARIABLE, speed.KERNELS[-1])
    with threadpool_limits(limits=1, user_api="blas"):
        figures = STEPS[name](**arguments)
    print(json.dumps({**figures, "peak_mb": harness.peak_megabytes()}))


if __name__ == "__main__":
    main()
