"""k-medians: how near to people the medians are, and whether their stated cost is true.

    python -m benchmarks medians [--seeds 7] [--only NAME …]

Three real sets, tables drawn by their law, decoded without repeats. Per run six sets of centers are priced
(`coterie.centers.medians`): the medians that were found, their one median, the mean, a person's place, two
and k people's places. *Held* is the share whose true mean distance lies within three stated deviations;
*recovered* is, of means and of medians each by their own cost, the part of what non-private centers gain
over one center that is gained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.harness import MILLION, RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import non_private, one_center, source_of
from coterie import Plan
from coterie.centers.medians import mean_distance
from coterie.centers.refit import medians_of, settle_medians
from coterie.centers.solution import squared_distances
from coterie.engines.simulate import simulate
from coterie.metrics import normalized_objective, recovered
from coterie.protocols.codeword.decode import explained

GRID = tuple(
    Study(f"{name}-{users:.0e}-eps-{epsilon:g}".replace("e+0", "e"), name, users, clusters, epsilon=epsilon)
    for name, clusters in (("penbased", 10), ("letter", 10), ("satimage", 7))
    for users in (100_000, MILLION)
    for epsilon in (1.0, 4.0)
)
WITHIN = 3.0  # stated deviations
HELD = Bar("held", at_least=0.99)
LESS = Bar("recovered means less medians", at_most=0.05)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed."""
    points = np.asarray(source_of(study, seed, folder).points, dtype=np.float64)
    plan = Plan.design(points.shape[1], study.clusters, study.epsilon, study.users, seed=seed)
    table = simulate(plan, points, study.users, random_state=seed)
    rng = np.random.default_rng(seed)
    found = explained([table], study.clusters, rng, repeats=0)
    medians = medians_of(found)
    weighed = (found.points, found.weights)
    one = settle_medians(*weighed, found.weights @ found.points[None], scatter=found.scatter)
    places = points[rng.choice(len(points), study.clusters, replace=False)]
    figures: Figures = {}
    for name, centers in {
        "medians": medians.centers,
        "one median": one,
        "mean": found.weights @ found.points[None],
        "a person": places[:1],
        "two": places[:2],
        "k people": places,
    }.items():
        told = mean_distance([table], replace(medians, centers=centers), rng)
        if told is None:
            raise SystemExit("the plan asks about no halfspaces")
        figures[f"true, {name}"] = away(points, centers)
        figures[f"said, {name}"] = told.value
        figures[f"deviation, {name}"] = told.deviation
    best = non_private(source_of(study, seed, folder), study.clusters, seed)
    even = np.ones(len(points))
    figures["recovered means"] = recovered(
        normalized_objective(points, found.centers),
        one_center=one_center(points),
        non_private=normalized_objective(points, best),
    )
    figures["recovered medians"] = recovered(
        figures["true, medians"],
        one_center=away(points, settle_medians(points, even, points.mean(axis=0, keepdims=True))),
        non_private=away(points, settle_medians(points, even, best)),
    )
    return figures


def away(points: NDArray[np.float64], centers: NDArray[np.float64]) -> float:
    """Return the mean distance of points to the nearest center."""
    return float(np.sqrt(squared_distances(points, centers).min(axis=1)).mean())


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return what held, and what was recovered, as Markdown."""
    rows: list[list[object]] = []
    off: list[float] = []
    for study in grid:
        some = runs[study.name]
        if not some:
            continue
        here = [_off(run, name) for run in some for name in _cases(run)]
        off += here
        means, medians = (
            float(np.mean([run[f"recovered {each}"] for run in some])) for each in ("means", "medians")
        )
        widths = [np.mean([run[f"deviation, {name}"] for run in some]) for name in ("one median", "medians")]
        rows.append([
            study.name, len(here), _held(here), f"{np.sqrt(np.mean(np.square(here))):.2f}",
            f"{np.mean([run['true, one median'] for run in some]):.3f} ± {widths[0]:.3f}",
            f"{np.mean([run['true, medians'] for run in some]):.3f} ± {widths[1]:.3f}",
            f"{means:.3f}", f"{medians:.3f} {harness.tick(LESS.met(means - medians))}",
        ])  # fmt: skip
    share = float(np.mean(np.abs(off) <= WITHIN))
    rows.append(["**all**", len(off), f"{share:.1%} {harness.tick(HELD.met(share))}", "", "", "", "", ""])
    head = ["study", "cases", "within 3 deviations", "rms of them", "one median: cost ± stated"]
    return harness.table([*head, "k medians: cost ± stated", "recovered means", "recovered medians"], rows)


def _cases(run: Figures) -> list[str]:
    return [key.removeprefix("said, ") for key in run if key.startswith("said, ")]


def _off(run: Figures, name: str) -> float:
    return float((run[f"said, {name}"] - run[f"true, {name}"]) / run[f"deviation, {name}"])


def _held(off: Sequence[float]) -> str:
    return f"{np.mean(np.abs(off) <= WITHIN):.1%}"


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "medians.csv", seeds=7)
