"""How accurate: the whole protocol with real reports on the grid of studies the project promises.

    python benchmarks/accuracy.py [--seeds 10] [--only NAME] [--workers N] [--out FILE]

Each run draws data, designs the plan from dimension, clusters, ε and users alone, plays everybody through the
encoder, aggregates, decodes, and measures the centers on the true points. Beside it stand the same data
without privacy, with one center, and with a *known partition*: centers that are off only by the noise of k
vector sums at full ε, the bound for any scheme that first has to find the clusters.

Runs that the output file already holds are not repeated: an interrupted benchmark goes on where it stopped.
Design decisions were made on other seeds than these.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from coterie import Aggregate, Plan, decode
from coterie.coins import SimulationCoins
from coterie.datasets import digits, gaussian_mixture, into_unit_ball, resample_to_users
from coterie.engines.inline import play
from coterie.geometry.ball import quantize
from coterie.geometry.cells import CrossPolytopeCells, NetCells
from coterie.metrics import normalized_objective, recovered
from coterie.plan.codeword import CodewordNumbers
from coterie.plan.views import CrossPolytope

RESULTS = Path(__file__).parent / "results" / "accuracy.json"
FIRST_SEED = 50_000  # reported on these, designed on others
NON_PRIVATE_SAMPLE = 50_000


@dataclass(frozen=True)
class Study:
    """One line of the grid; `at_most` bounds the median objective, `at_least` the median recovered."""

    name: str
    users: int
    clusters: int
    epsilon: float
    dimension: int = 100
    separation: float | None = 100.0  # None: handwritten digits
    at_most: float | None = None
    mean_at_most: float | None = None
    at_least: float | None = None
    paper: float | None = None  # the paper's own algorithm, as measured by an independent implementation


MILLION = 1_000_000
GRID = (
    Study("base", MILLION, 8, 1.0, at_most=0.056, mean_at_most=0.070, paper=0.37),
    Study("eps-half", MILLION, 8, 0.5, at_most=0.20, paper=0.90),
    Study("eps-2", MILLION, 8, 2.0, at_most=0.014, paper=0.147),
    Study("eps-4", MILLION, 8, 4.0, at_most=0.004, paper=0.10),
    Study("k-16", MILLION, 16, 1.0, at_most=0.19, paper=0.94),
    Study("k-32", MILLION, 32, 1.0, at_most=0.52, paper=1.30),
    Study("n-100k", 100_000, 8, 1.0, at_most=0.38, paper=1.22),
    Study("r-8", MILLION, 8, 1.0, separation=8.0, at_most=0.105, paper=0.51),
    Study("r-3", MILLION, 8, 1.0, separation=3.0, at_most=0.34, paper=0.59),
    Study("d-2", MILLION, 8, 1.0, dimension=2, separation=8.0, at_most=0.025),
    Study("d-10", MILLION, 8, 1.0, dimension=10, separation=8.0, at_most=0.045),
    Study("digits-eps-1", MILLION, 10, 1.0, dimension=64, separation=None, at_least=0.25),
    Study("digits-eps-4", MILLION, 10, 4.0, dimension=64, separation=None, at_least=0.70),
)


@dataclass(frozen=True)
class Run:
    """What one seed of one study gave."""

    study: str
    seed: int
    objective: float
    non_private: float
    one_center: float
    known_partition: float
    recovered: float
    supported: int
    shared_cell: bool  # two true centers in one cell of the first view
    encode_seconds: float
    decode_seconds: float


def run(study: Study, seed: int) -> Run:
    """Play one study with one seed."""
    with threadpool_limits(limits=1):
        points, true_centers = data_of(study, seed)
        plan = Plan.design(
            dimension=study.dimension,
            clusters=study.clusters,
            epsilon=study.epsilon,
            expected_users=study.users,
            seed=seed,
        )
        start = time.perf_counter()
        table: Aggregate = play(plan, points, SimulationCoins(seed))
        encoded = time.perf_counter()
        result = decode(table, random_state=seed)
        decoded = time.perf_counter()
        solver = KMeans(study.clusters, n_init=3, random_state=seed)
        free = solver.fit(points[:NON_PRIVATE_SAMPLE]).cluster_centers_
        objective = normalized_objective(points, result.centers)
        non_private = normalized_objective(points, free)
        one_center = normalized_objective(points, points.mean(axis=0, keepdims=True, dtype=np.float64))
        bound = known_partition(plan, points, true_centers if study.separation else free, seed)
        return Run(
            study=study.name,
            seed=seed,
            objective=objective,
            non_private=non_private,
            one_center=one_center,
            known_partition=bound,
            recovered=recovered(objective, one_center=one_center, non_private=non_private),
            supported=result.supported,
            shared_cell=study.separation is not None and centers_share_a_cell(plan, true_centers),
            encode_seconds=encoded - start,
            decode_seconds=decoded - encoded,
        )


def data_of(study: Study, seed: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the points of a study, one a person, and the centers they were made from, if any."""
    if study.separation is None:
        drawn = resample_to_users(into_unit_ball(digits()[0]), study.users, random_state=seed)
        return drawn, np.empty((0, study.dimension))
    points, true_centers, _ = gaussian_mixture(
        study.users, study.dimension, study.clusters, study.separation, seed, dtype=np.float32
    )
    return points, true_centers


def known_partition(plan: Plan, points: NDArray[Any], centers: NDArray[np.float64], seed: int) -> float:
    """Return the objective of means that are off only by the noise of k vector sums at full ε."""
    assert isinstance(plan.numbers, CodewordNumbers)
    gain = plan.numbers.randomizer.gain(plan.numbers.embedding)
    labels = np.concatenate(
        [
            ((centers**2).sum(axis=1) - 2 * (piece @ centers.T)).argmin(axis=1)
            for piece in np.array_split(points, 50)
        ]
    )
    counts = np.bincount(labels, minlength=len(centers))
    sums = np.stack([np.bincount(labels, column, len(centers)) for column in points.T], axis=1)
    noise = np.random.default_rng(seed).normal(size=sums.shape) * np.sqrt(len(points)) / gain
    noisy = (sums + noise) / np.maximum(counts, 1)[:, None]
    return normalized_objective(points, noisy)


def centers_share_a_cell(plan: Plan, centers: NDArray[np.float64]) -> bool:
    """Say whether the first view puts two true centers into one cell."""
    assert isinstance(plan.numbers, CodewordNumbers)
    view = plan.numbers.views[0]
    if isinstance(view, CrossPolytope):
        key = plan.public_key("view/0")
        cells = CrossPolytopeCells.from_key(key, view.size, plan.dimension).of(
            quantize(centers, None, 1.0)[0]
        )
    else:
        cells = NetCells.from_points(view.points).of(quantize(centers, None, 1.0)[0])
    return len(np.unique(cells)) < len(centers)


def summary(study: Study, runs: list[Run]) -> dict[str, Any]:
    """Return the figures of one study over its seeds."""
    objectives = [one.objective for one in runs]
    recoveries = [one.recovered for one in runs]
    met = [
        study.at_most is None or median(objectives) <= study.at_most,
        study.mean_at_most is None or mean(objectives) <= study.mean_at_most,
        study.at_least is None or median(recoveries) >= study.at_least,
    ]
    return {
        **asdict(study),
        "seeds": len(runs),
        "median": median(objectives),
        "mean": mean(objectives),
        "deviation": stdev(objectives) if len(runs) > 1 else 0.0,
        "worst": max(objectives),
        "recovered": median(recoveries),
        "known_partition": median(one.known_partition for one in runs),
        "non_private": median(one.non_private for one in runs),
        "one_center": median(one.one_center for one in runs),
        "shared_cell": sum(one.shared_cell for one in runs),
        "met": all(met),
    }


def table_of(summaries: list[dict[str, Any]]) -> str:
    """Return the figures as a Markdown table."""
    lines = [
        "| study | n | d | k | r | ε | bar | **median** | mean ± deviation | worst | recovered "
        "| known partition | non-private | one center | paper | shared cell |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in summaries:
        bar = f"≤ {row['at_most']}" if row["at_most"] is not None else f"recovered ≥ {row['at_least']}"
        if row["mean_at_most"] is not None:
            bar += f" (mean ≤ {row['mean_at_most']})"
        separation = "digits" if row["separation"] is None else f"{row['separation']:g}"
        lines.append(
            f"| {row['name']} | {row['users']:,} | {row['dimension']} | {row['clusters']} | {separation} "
            f"| {row['epsilon']:g} | {bar} {'✓' if row['met'] else '✗'} | **{row['median']:.4f}** "
            f"| {row['mean']:.4f} ± {row['deviation']:.4f} | {row['worst']:.4f} | {row['recovered']:.3f} "
            f"| {row['known_partition']:.4f} | {row['non_private']:.4f} | {row['one_center']:.3f} "
            f"| {'' if row['paper'] is None else row['paper']} | {row['shared_cell']} of {row['seeds']} |"
        )
    return "\n".join(lines)


def details_of(runs: list[Run]) -> str:
    """Return what shared cells cost, how long decoding took and how many centers stood, as Markdown."""
    lines = [
        "| study | with a shared cell | without | decode, median s | longest s | supported, fewest |",
        "|---|---|---|---|---|---|",
    ]
    for study in GRID:
        some = [one for one in runs if one.study == study.name]
        if not some:
            continue
        shared, apart = ([one.objective for one in some if one.shared_cell is flag] for flag in (True, False))
        seconds = [one.decode_seconds for one in some]
        lines.append(
            f"| {study.name} | {_range_of(shared)} | {_range_of(apart)} | {median(seconds):.2f} "
            f"| {max(seconds):.2f} | {min(one.supported for one in some)} of {study.clusters} |"
        )
    return "\n".join(lines)


def _range_of(objectives: list[float]) -> str:
    if len(objectives) < 3:
        return ", ".join(f"{one:.4f}" for one in objectives) or "none"
    return f"{min(objectives):.4f} to {max(objectives):.4f} ({len(objectives)})"


def main() -> None:
    """Run what is missing, print the table, write everything as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", help="name of one study")
    parser.add_argument("--workers", type=int, default=2, help="processes; each needs about 1.5 GB")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    grid = [study for study in GRID if options.only in (None, study.name)]
    known = json.loads(options.out.read_text())["runs"] if options.out.exists() else []
    runs = {(one["study"], one["seed"]): Run(**one) for one in known}
    missing = [
        (study, FIRST_SEED + number)
        for number in range(options.seeds)
        for study in grid
        if (study.name, FIRST_SEED + number) not in runs
    ]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        for done in pool.imap_unordered(_run_of, missing):
            runs[done.study, done.seed] = done
            print(f"{done.study} seed {done.seed}: {done.objective:.4f}", flush=True)
            _write(options.out, list(runs.values()))
    print(table_of(_summaries(list(runs.values()))))
    print(details_of(list(runs.values())))


def _run_of(job: tuple[Study, int]) -> Run:
    return run(*job)


def _summaries(runs: list[Run]) -> list[dict[str, Any]]:
    by_study = [(study, [one for one in runs if one.study == study.name]) for study in GRID]
    return [summary(study, some) for study, some in by_study if some]


def _write(path: Path, runs: list[Run]) -> None:
    ordered = sorted(runs, key=lambda one: (one.study, one.seed))
    machine = {"machine": platform.machine(), "python": platform.python_version(), "numpy": np.__version__}
    document = {
        "machine": machine,
        "summaries": _summaries(ordered),
        "runs": [asdict(one) for one in ordered],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
