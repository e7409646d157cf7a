"""The forecast against what was measured, and the fit of its constants.

    python -m benchmarks forecast [--seeds 3] [--only NAME …] [--workers N] [--out FILE]

Calibration is on studies of its own, n, ε, k, d and the kind of data varied, on both sides of where groups
are lost; their runs are in results/forecast.csv. Rows of halfspaces are drawn from their law and decoded
without error radii; designs with cells alone are played with real reports. The check is on the means of
accuracy.json and shuffle.json, which no constant is fitted on. Real data are forecast with their own costs
of one center and of k non-private centers.

Printed: the constants in `coterie.plan.forecast` beside a new fit of them, then forecast and measurement line
by line.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from benchmarks import harness
from benchmarks.harness import RESULTS, Benchmark, Figures, Runs, Study
from benchmarks.populations import non_private, one_center, source_of
from benchmarks.protocol import by_reports, design, drawn_rows
from coterie import Plan
from coterie.centers.explain import explain
from coterie.metrics import normalized_objective
from coterie.plan.forecast import MEASURED, Constants, Expectation, Kind, channel_of, expect
from coterie.plan.views import Halfspaces

POINTS = 20_000  # people are like these
STARTS = 5
WITHIN = 1.25  # of a measured mean: what the forecast promises
GUESS = Constants(  # what a fit starts from: an earlier one
    sides=0.27,
    width=7.3,
    reach=0.89,
    steep=2.5,
    cells=1.2,
    real=0.46,
    fall=5.0,
    lost_rows=0.42,
    lost_wide=1.1,
    lost_cells=0.16,
    lost_spread=0.1,
)
PRIOR = 0.3  # how firmly it keeps to that, in logarithms: some constants see few studies
CHOSEN = ("steep", "fall")  # shapes, not fitted
OTHERS = ("ray",)  # data of accuracy.json that are none of the forecast's kinds


def _mixture(r: float, users: float, k: int = 8, epsilon: float = 1, d: int = 100, shape: str = "") -> Study:
    name = f"r{r:g}-n{users:g}-k{k}-e{epsilon:g}-d{d}{shape}"
    return Study(
        name, "mixture", int(users), k, epsilon, dimension=d, separation=r, shape=shape[1:] or "broad"
    )


def _real(data: str, users: float, epsilon: float) -> Study:
    return Study(f"{data}-n{users:g}-e{epsilon:g}", data, int(users), 10, epsilon)


GRID = (
    *(_mixture(100, n) for n in (1e5, 1.5e5, 2e5, 3e5, 4e5, 3e6, 1e7)),
    *(_mixture(100, 1e6, k) for k in (2, 4, 12, 16)),
    *(_mixture(100, 1e6, d=d) for d in (5, 20, 50)),
    *(_mixture(100, n, epsilon=e) for n, e in ((2e5, 2), (2e5, 4), (5e4, 4))),
    *(_mixture(100, n, 4, e, 20) for n, e in ((2e4, 2), (1e4, 1))),
    _mixture(100, 1e5, 3, d=3),
    *(_mixture(8, n) for n in (1e5, 2e5, 4e6)),
    *(_mixture(8, n, d=10) for n in (1e4, 3e4, 1e5)),
    _mixture(8, 1e5, d=2),
    *(_mixture(8, n, 4, e, d) for n, e, d in ((2e4, 2, 20), (5e3, 2, 20), (3e5, 0.5, 30), (3e4, 1, 30))),
    *(_mixture(3, n, epsilon=e) for n, e in ((2e5, 1), (4e5, 1), (4e6, 1), (1e6, 2), (1e6, 4))),
    *(_mixture(3, n, k, 2, d) for n, k, d in ((1e5, 4, 20), (1e5, 8, 10), (1e4, 8, 10))),
    *(
        _real("digits", n, e)
        for n, e in ((1e5, 1), (3e5, 1), (3e6, 1), (1e7, 1), (1e5, 2), (3e5, 4), (1e7, 4))
    ),
    *(_real("digits-unit", n, 1) for n in (3e5, 1e7)),
    *(_mixture(100, n, shape="-tight") for n in (2e5, 5e4, 2e4)),
    *(_mixture(100, n, k, shape="-tight") for n, k in ((2e5, 16), (1e6, 64))),
    *(
        _mixture(100, n, k, e, d, "-tight")
        for n, k, e, d in ((1e5, 32, 2, 50), (2e4, 8, 1, 20), (1e4, 4, 1, 40))
    ),
    *(_mixture(8, n, 8, e, d, "-tight") for n, e, d in ((1e5, 1, 100), (2e4, 2, 50))),
)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed."""
    start = time.perf_counter()
    source = source_of(study, seed, folder, POINTS)
    best = non_private(source, study.clusters, seed, STARTS)
    plan = design(study, (study.users, source.dimension), seed)
    if any(isinstance(view, Halfspaces) for view in plan.parameters.views):  # type: ignore[attr-defined]
        views = drawn_rows(plan, source.points, study.users, np.random.default_rng([seed, 4]))
        centers = explain(views, study.clusters, np.random.default_rng(seed), repeats=0).centers
    else:
        centers = by_reports(study, source.people(study.users, seed), seed).centers
    return {
        "objective": round(normalized_objective(source.points, centers), 8),
        "non_private": round(normalized_objective(source.points, best), 8),
        "one_center": round(one_center(source.points), 8),
        "seconds": round(time.perf_counter() - start, 1),
    }


@dataclass(frozen=True, slots=True)
class Line:
    """A study: its plan, what was measured of it, and what is known of its data."""

    name: str
    plan: Plan
    kind: Kind
    runs: Sequence[Figures]

    def mean(self, figure: str) -> float:
        """Return a figure's mean over the runs."""
        return float(mean(run[figure] for run in self.runs))

    @property
    def lost(self) -> float:
        """The excess over non-private centers as a share of what those gain; 1 at most."""
        best = self.mean("non_private")
        return min((self.mean("objective") - best) / (self.mean("one_center") - best), 1.0)

    def forecast(self, constants: Constants = MEASURED) -> Expectation:
        """Return the forecast."""
        plan = self.plan
        facts: dict[str, Any] = {"clusters": plan.clusters, "people": plan.expected_users}
        table = channel_of(plan.protocol, plan.parameters, plan.facts, plan.expected_users)
        return expect(table, **facts, kind=self.kind, constants=constants)


def line_of(study: Study, runs: Sequence[Figures], dimension: int, **options: Any) -> Line:
    """Return a study with its runs; real data come with their own costs."""
    kind = Kind(f"r = {study.separation:g}", study.separation)
    if study.data != "mixture":
        costs = [mean(run[name] for run in runs) for name in ("one_center", "non_private")]
        kind = Kind(study.data, one_center=costs[0], optimum=costs[1])
    shape: dict[str, Any] = {} if study.shape == "broad" else {"shape": study.shape}
    plan = Plan.design(dimension, study.clusters, study.epsilon, study.users, **shape, **options)
    return Line(study.name, plan, kind, runs)


def calibration(grid: Sequence[Study], runs: Runs) -> list[Line]:
    """Return the studies that the constants are fitted on."""
    return [
        line_of(study, runs[study.name], study.dimension if study.data == "mixture" else 64)
        for study in grid
        if runs[study.name]
    ]


def stored(path: Path = RESULTS / "accuracy.json") -> Iterator[Line]:
    """Yield the studies of the accuracy benchmark: the check."""
    document = json.loads(path.read_text(encoding="utf-8"))
    for name, settings in document["settings"].items():
        some = [run for run in document["runs"] if run["study"] == name]
        study = Study(**{**settings, "waves": tuple(settings["waves"])})
        if some and study.data not in OTHERS and not study.waves:
            yield line_of(study, some, some[0]["dimension"])


def stored_shuffle(path: Path = RESULTS / "shuffle.json") -> Iterator[Line]:
    """Yield the studies of the shuffle benchmark that have a forecast."""
    options: dict[str, dict[str, Any]] = {
        "amplified": {"model": "shuffle"},
        "all cells": {"model": "shuffle", "protocol": "vector-sums", "layout": "cells"},
        "central": {"model": "central", "protocol": "vector-sums"},
    }
    document = json.loads(path.read_text(encoding="utf-8"))
    for name, settings in document["settings"].items():
        some = [run for run in document["runs"] if run["study"] == name]
        if some and settings["method"] in options:
            study = Study(**{**settings, "waves": ()})
            yield line_of(study, some, study.dimension, delta=1e-6, **options[study.method])


def fitted(lines: Sequence[Line]) -> Constants:
    """Return the constants that make the logarithms of excesses agree, studies weighted by their seeds."""
    names = [name for name in asdict(MEASURED) if name not in CHOSEN]
    start = np.log([getattr(GUESS, name) for name in names])

    def constants(logarithms: Any) -> Constants:
        values = dict(zip(names, np.exp(logarithms).tolist(), strict=True))
        return replace(GUESS, **values)

    def residuals(logarithms: Any) -> list[float]:
        here = constants(logarithms)
        off = [
            math.sqrt(len(line.runs)) / 2 * math.log((1 - line.forecast(here).recovered) / line.lost)
            for line in lines
        ]
        return [*off, *(PRIOR * (logarithms - start))]

    return constants(least_squares(residuals, start, loss="soft_l1", f_scale=0.5, diff_step=[1e-3]).x)


def ratio(line: Line) -> float:
    """Return the forecast over the measured mean."""
    return line.forecast().objective / line.mean("objective")


def shown(line: Line) -> list[object]:
    """Return a line of the table."""
    found, measured = line.forecast(), line.mean("objective")
    known = "non_private" in line.runs[0]
    inside = sum(found.low <= run["objective"] <= found.high for run in line.runs)
    return [
        line.name,
        f"{line.plan.expected_users:,}",
        line.plan.dimension,
        line.plan.clusters,
        f"{line.plan.epsilon:g}",
        line.kind.name,
        f"{found.objective:.4f}",
        f"{found.low:.4f} to {found.high:.4f}",
        f"**{measured:.4f}**",
        f"{ratio(line):.2f} {harness.tick(1 / WITHIN <= ratio(line) <= WITHIN)}",
        f"{found.recovered:.2f}",
        f"**{1 - line.lost:.2f}**" if known else "",
        f"{inside} of {len(line.runs)}",
    ]


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return the constants, the check and the calibration, as Markdown."""
    lines = calibration(grid, runs)
    new = asdict(fitted(lines))
    constants = [
        [name, f"{value:.3g}", f"{new[name]:.3g}" if name not in CHOSEN else "chosen"]
        for name, value in asdict(MEASURED).items()
    ]
    columns = ["study", "n", "d", "k", "ε", "kind", "forecast", "band", "**measured**", "ratio"]
    columns += ["recovered, forecast", "**measured**", "runs in the band"]
    parts = [harness.table(["constant", "in the code", "fitted"], constants)]
    for title, some in (
        ("Check", [*stored(), *stored_shuffle()]),
        ("Calibration", lines),
    ):
        good = sum(1 / WITHIN <= ratio(line) <= WITHIN for line in some)
        parts.append(f"{title}: {good} of {len(some)} within {WITHIN - 1:.0%}")
        parts.append(harness.table(columns, [shown(line) for line in some]))
    return "\n\n".join(parts)


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "forecast.csv", seeds=3)
