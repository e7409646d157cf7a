"""What trusting a shuffler buys: local, amplified, split-and-mix and central on the same data.

    python -m benchmarks shuffle [--seeds 10] [--only NAME …] [--workers N] [--out FILE]

The paper's mixture, d = 100, k = 8, r = 100, ε = 1, δ = 10⁻⁶. Local and amplified reports are really
encoded, added up and decoded. Sums of split-and-mix are drawn from their law (real messages are compared
with it in the tests). Seconds are of the whole fit, labels included, on a machine that may be busy.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks import harness
from benchmarks.harness import RESULTS, Bar, Benchmark, Figures, Runs, Study
from coterie import LocalKMeans, ShuffleKMeans
from coterie.datasets import gaussian_mixture
from coterie.metrics import normalized_objective
from coterie.protocols.shares.parameters import ShareParameters

VARIANTS: dict[str, dict[str, Any]] = {
    "local": {},
    "amplified": {"variant": "amplified"},
    "all cells": {"variant": "split-and-mix", "layout": "cells"},
    "one column": {"variant": "split-and-mix", "layout": "column"},
    "net tree": {"variant": "net-tree"},
    "central": {"variant": "central"},
}
AT_MOST = {  # medians
    ("amplified", 10**5): 0.015,
    ("amplified", 10**6): 0.003,
    ("all cells", 10**5): 0.001,
    ("central", 10**5): 0.001,
    ("one column", 10**5): 0.006,
}
GRID = tuple(
    Study(
        f"{name}-{users}",
        "mixture",
        users,
        8,
        method=name,
        bar=Bar("objective", at_most=AT_MOST[name, users]) if (name, users) in AT_MOST else None,
    )
    for users in (10**5, 10**6)
    for name in VARIANTS
)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Fit one variant to one data set and measure its centers on the points."""
    del folder
    points = gaussian_mixture(study.users, study.dimension, study.clusters, study.separation, seed)[0]
    kind = LocalKMeans if study.method == "local" else ShuffleKMeans
    options: dict[str, Any] = {
        "n_clusters": study.clusters,
        "epsilon": study.epsilon,
        "radius": 1.0,
        "random_state": seed,
    }
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(**options, **VARIANTS[study.method]).fit(points)
    seconds = time.perf_counter() - started
    parameters, left = model.plan_.parameters, model.guarantee_.local_epsilon
    shares = isinstance(parameters, ShareParameters)
    return {
        "objective": normalized_objective(points, model.cluster_centers_),
        "seconds": seconds,
        "messages": parameters.cost.messages if shares else 1,
        "bytes": parameters.cost.bytes if shares else model.plan_.report_width,
        "local_epsilon": None if left is None or math.isinf(left) else left,
    }


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return the results as a table in Markdown."""
    rows = []
    for study in grid:
        if not (some := runs[study.name]):
            continue
        values = [run["objective"] for run in some]
        left = some[0]["local_epsilon"]
        rows.append(
            [
                f"{study.users:,}",
                study.method,
                len(values),
                *(f"{of(values):.5f}" for of in (median, mean, max)),
                study.bar.shown(median(values)) if study.bar else "",
                f"{some[0]['messages']:,}",
                f"{some[0]['bytes']:,}",
                "1 (local)" if study.method == "local" else "none" if left is None else f"{left:.2f}",
                f"{median(run['seconds'] for run in some):.1f}",
            ]
        )
    columns = ["n", "", "seeds", "median", "mean", "worst", "bar", "messages", "bytes"]
    return harness.table([*columns, "ε₀ if mixing fails", "s"], rows)


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "shuffle.json", seeds=10, first_seed=70_000)
