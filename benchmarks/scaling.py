"""How fast errors fall with more people: n·(objective - optimum) from n = 10⁵ to 10⁷.

    python -m benchmarks scaling [--seeds 10] [--only NAME …] [--workers N] [--out FILE]

If noise is all that is wrong with the centers, n·excess does not grow (a log-log slope of 0); if something
stays wrong however many people answer, it grows like n (1). The project promises at most 0.65.

People are drawn from 30,000 points, on which the centers are judged; the optimum is the best of 20 k-means
runs (and of one from the true means) on the same points. Up to 10⁶ people send real reports. Beyond, the
table is drawn from its law (`protocol.by_law`), which takes no longer for more people; at 10⁶ both
ways are shown, and the slope counts the reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

import numpy as np

from benchmarks import harness
from benchmarks.harness import MILLION, RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import non_private, source_of
from benchmarks.protocol import by_law, by_reports
from coterie.metrics import normalized_objective

SLOPE = Bar("slope", at_most=0.65)
POINTS = 30_000
STARTS = 20
MOST_REPORTS = MILLION
BASES = (
    Study("ray", "ray", 0, 2),
    Study("nested", "nested", 0, 2),
    Study("r-3", "mixture", 0, 8, separation=3),
)
USERS = (100_000, 300_000, MILLION, 3 * MILLION, 10 * MILLION)
GRID = tuple(
    replace(base, name=f"{base.name}-{users:.0e}{way}", users=users)
    for base in BASES
    for users in USERS
    for way in (
        ("-reports", "-law") if users == MOST_REPORTS else ("-reports",) if users < MILLION else ("-law",)
    )
)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed."""
    source = source_of(study, seed, folder, POINTS)
    best = non_private(source, study.clusters, seed, STARTS)
    if study.name.endswith("-law"):
        outcome = by_law(study, source, seed)
    else:
        outcome = by_reports(study, source.people(study.users, seed), seed)
    objective = normalized_objective(source.points, outcome.centers)
    optimum = normalized_objective(source.points, best)
    return {
        "objective": objective,
        "optimum": optimum,
        "n_excess": study.users * max(objective - optimum, 0.0),
        "supported": int(outcome.supported.sum()),
        "decode_seconds": outcome.decode_seconds,
    }


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return n·excess by study and n, and the slopes, as Markdown."""
    lines, slopes = [], []
    for base in BASES:
        seen: list[tuple[float, float]] = []
        for study in grid:
            if (study.data, study.separation) != (base.data, base.separation) or not runs[study.name]:
                continue
            values = [run["n_excess"] for run in runs[study.name]]
            law = study.name.endswith("-law")
            lines.append(
                [
                    base.name,
                    f"{study.users:,}",
                    "law" if law else "reports",
                    len(values),
                    f"{median(run['objective'] for run in runs[study.name]):.5f}",
                    f"{median(run['optimum'] for run in runs[study.name]):.5f}",
                    f"**{median(values):,.0f}**",
                    f"{mean(values):,.0f}",
                    f"{max(values):,.0f}",
                ]
            )
            if not law or study.users > MOST_REPORTS:
                seen.append((study.users, max(median(values), 1e-9)))
        if len({count for count, _ in seen}) > 1:
            users, excess = np.log(np.array(seen)).T
            slope = float(np.polyfit(users, excess, 1)[0])
            slopes.append([base.name, f"{slope:.2f}", SLOPE.shown(slope)])
    columns = [
        "data",
        "n",
        "table by",
        "seeds",
        "objective",
        "optimum",
        "**n·excess**, median",
        "mean",
        "worst",
    ]
    return f"{harness.table(columns, lines)}\n\n{harness.table(['data', 'log-log slope', 'bar'], slopes)}"


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "scaling.json", seeds=10)
