"""Points that the forecast's constants are fitted on (draft)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.harness import RESULTS, Benchmark, Figures, Runs, Study
from benchmarks.populations import non_private, one_center, source_of
from benchmarks.protocol import by_reports, design, drawn_rows
from coterie.centers.explain import explain
from coterie.metrics import normalized_objective

POINTS = 20_000


def _mixture(r, users, k=8, epsilon=1.0, d=100, shape="broad"):
    name = f"r{r:g}-n{users:g}-k{k}-e{epsilon:g}-d{d}-{shape}"
    return Study(name, "mixture", int(users), k, epsilon, dimension=d, separation=r, shape=shape)


def _digits(users, epsilon, data="digits"):
    return Study(f"{data}-n{users:g}-e{epsilon:g}", data, int(users), 10, epsilon)


GRID = (
    *(_mixture(100, n) for n in (1e5, 2e5, 4e5, 3e6, 1e7)),
    *(_mixture(100, 1e6, k) for k in (2, 4, 12, 16)),
    *(_mixture(100, 1e6, d=d) for d in (5, 20, 50)),
    *(_mixture(100, 2e5, epsilon=e) for e in (2, 4)),
    _mixture(100, 5e4, epsilon=4),
    _mixture(100, 2e4, 4, 2, 20),
    _mixture(100, 1e5, 3, 1, 3),
    *(_mixture(8, n) for n in (2e5, 4e6)),
    _mixture(8, 1e5, d=10),
    _mixture(8, 1e5, d=2),
    _mixture(8, 2e4, 4, 2, 20),
    _mixture(8, 3e5, 4, 0.5, 30),
    *(_mixture(3, n) for n in (2e5, 4e5, 4e6)),
    *(_mixture(3, 1e6, epsilon=e) for e in (2, 4)),
    _mixture(3, 1e5, 4, 2, 20),
    _mixture(3, 1e5, 8, 2, 10),
    *(_digits(n, e) for n, e in ((1e5, 1), (3e5, 1), (3e6, 1), (1e7, 1), (1e5, 2), (3e5, 4), (1e7, 4))),
    *(_digits(n, e, "digits-unit") for n, e in ((3e5, 1), (1e7, 1))),
    *(
        _mixture(100, n, k, e, d, "tight")
        for n, k, e, d in (
            (2e5, 8, 1, 100),
            (5e4, 8, 1, 100),
            (2e4, 8, 1, 100),
            (2e5, 16, 1, 100),
            (1e6, 64, 1, 100),
            (1e5, 32, 2, 50),
            (2e4, 8, 1, 20),
            (1e4, 4, 1, 40),
        )
    ),
    *(_mixture(8, n, k, e, d, "tight") for n, k, e, d in ((1e5, 8, 1, 100), (2e4, 8, 2, 50))),
)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed."""
    start = time.perf_counter()
    source = source_of(study, seed, folder, POINTS)
    best = non_private(source, study.clusters, seed, 5)
    plan = design(study, (study.users, source.dimension), seed)
    cells = not any(type(view).__name__ == "Halfspaces" for view in plan.numbers.views)
    if cells:
        outcome = by_reports(study, source.people(study.users, seed), seed)
    else:
        views = drawn_rows(plan, source.points, study.users, np.random.default_rng([seed, 4]))
        outcome = explain(views, study.clusters, np.random.default_rng(seed), repeats=0)
    objective = normalized_objective(source.points, outcome.centers)
    return {
        "dimension": source.dimension,
        "cells": cells,
        "objective": objective,
        "optimum": normalized_objective(source.points, best),
        "one_center": one_center(source.points),
        "supported": int(outcome.supported.sum()),
        "seconds": time.perf_counter() - start,
    }


def tables(grid: Sequence[Study], runs: Runs) -> str:
    return ""


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "forecast.json", seeds=4)

if __name__ == "__main__":
    harness.main(BENCHMARK, __doc__)
