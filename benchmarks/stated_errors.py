"""Whether stated errors are true, and whether a missed group is noticed.

    python -m benchmarks stated_errors [--reports | --calibrate] [--seeds 200] [--only NAME …] [--workers N]

*Radii.* Each supported center states a radius that should hold the non-private center it stands for nine
times in ten. That one is of the best of 20 k-means runs on the same points (on the 30,000 that people are
drawn from, where there are more people), matched one to one at least total squared distance. Unsupported
centers are left out and counted.

*Missed groups.* A run misses a group if some true mean has no center within half its distance to the nearest
other. It names it if a note speaks of groups or if a center has no support. A complete run is doubted if a
note speaks of groups or a center has no support all the same. Digits have no true means: the non-private
centers stand in, and whether such a center is a group is a matter of taste.

Rows are drawn from their law (`protocol.by_law`), which takes the time of a decode; `--reports` plays
everybody through the encoder instead. `--calibrate` plays studies of other data and other seeds: by what
their squared radii would have to be multiplied to cover 90 % is where the factors in `centers/repeats.py`
are from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from benchmarks import harness
from benchmarks.harness import MILLION, RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import groups_found, non_private, source_of
from benchmarks.protocol import Outcome, by_law, by_reports

COVERED = Bar("covered", at_least=0.86, at_most=0.94)
NAMED = Bar("named", at_least=0.90)
DOUBTED = Bar("doubted", at_most=0.05)
STARTS = 20
POINTS = 30_000  # people are like these, or are these where there are fewer of them
DOUBT = re.compile(r"\bgroups?\b", re.IGNORECASE)
GRID = (
    Study("r-100", "mixture", MILLION, 8),
    Study("r-8", "mixture", MILLION, 8, separation=8),
    Study("digits", "digits", MILLION, 10),
    Study("readme", "mixture", 20_000, 4, 2.0, dimension=20, separation=8),
)
CALIBRATION = (
    *GRID[:2],
    GRID[3],
    Study("eps-4", "mixture", MILLION, 8, 4.0),
    Study("optdigits", "optdigits", MILLION, 10),
    Study("penbased", "penbased", MILLION, 10),
    Study("letter", "letter", MILLION, 10),
)


def play_by_law(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed, its rows drawn from their law."""
    return _play(study, seed, folder, reports=False)


def play_by_reports(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed and real reports."""
    return _play(study, seed, folder, reports=True)


def _play(study: Study, seed: int, folder: Path, *, reports: bool) -> Figures:
    source = source_of(study, seed, folder, min(POINTS, study.users))
    if reports:
        outcome = by_reports(study, source.people(study.users, seed), seed)
    else:
        outcome = by_law(study, source, seed)
    best = non_private(source, study.clusters, seed, STARTS)
    groups = best if source.means is None else source.means
    return {
        **judged(outcome, best),
        "missed": study.clusters - groups_found(outcome.centers, groups, 0.5, alone=False),
        "notes": list(outcome.notes),
        "decode_seconds": outcome.decode_seconds,
    }


def judged(outcome: Outcome, best: NDArray[np.float64]) -> Figures:
    """Return how far each center is from the non-private one it stands for, and what it stated."""
    squared = ((outcome.centers[:, None] - best) ** 2).sum(axis=2)
    ours, theirs = linear_sum_assignment(squared)
    distances = np.empty(len(best))
    distances[ours] = np.sqrt(squared[ours, theirs])
    return {
        "distances": distances.tolist(),
        "radii": outcome.errors.tolist(),
        "supported": outcome.supported.tolist(),
    }


def doubted(run: Figures) -> bool:
    """Say whether a run's result names a group that may be missing or merged."""
    return not all(run["supported"]) or any(DOUBT.search(note) for note in run["notes"])


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return coverage, then what is said of missed groups, as Markdown."""
    radii, groups = [], []
    pooled: list[Figures] = []
    for study in grid:
        if not (some := runs[study.name]):
            continue
        supported = np.array([run["supported"] for run in some])  # (studies, k)
        distances, stated = (np.array([run[name] for run in some]) for name in ("distances", "radii"))
        inside = (distances <= stated)[supported]
        share = float(inside.mean()) if len(inside) else float("nan")
        radii.append(
            [
                study.name,
                len(some),
                f"**{share:.1%}**",
                COVERED.shown(share),
                int(supported.sum()),
                int((~supported).sum()),
                f"{np.median(distances[supported]):.4f}" if supported.any() else "",
                f"{np.median(stated[supported]):.4f}" if supported.any() else "",
                f"{np.quantile((distances / stated)[supported] ** 2, 0.9):.2f}" if supported.any() else "",
                f"{np.median([run['decode_seconds'] for run in some]):.1f}",
            ]
        )
        groups.append(_said(study.name, some))
        if study.data == "mixture":
            pooled += some
    if len(groups) > 1 and pooled:
        groups.append(_said("all with true means", pooled))
    first = ["study", "studies", "**covered**", "bar", "supported centers", "unsupported"]
    first += ["distance, median", "stated, median", "squares times, for 90 %", "decode, median s"]
    second = ["study", "runs that miss a group", "named", "bar", "complete runs", "doubted", "bar"]
    return f"{harness.table(first, radii)}\n\n{harness.table(second, groups)}"


def _said(name: str, some: Sequence[Figures]) -> list[object]:
    missing = [doubted(run) for run in some if run["missed"]]
    complete = [doubted(run) for run in some if not run["missed"]]
    return [
        name,
        len(missing),
        sum(missing),
        NAMED.shown(float(np.mean(missing))) if missing else "",
        len(complete),
        sum(complete),
        DOUBTED.shown(float(np.mean(complete))) if complete else "",
    ]


BENCHMARK = Benchmark(GRID, play_by_law, tables, RESULTS / "stated_errors.json", seeds=200)


def main() -> None:
    """Run what is missing by one way or the other; each has a file of its own."""
    parser = harness.parser_of(BENCHMARK, __doc__)
    parser.add_argument("--reports", action="store_true", help="real reports; stated_errors_by_reports.json")
    parser.add_argument("--calibrate", action="store_true", help="other data and seeds; calibration.json")
    options = parser.parse_args()
    benchmark = BENCHMARK
    if options.calibrate:
        benchmark = replace(BENCHMARK, grid=CALIBRATION, out=RESULTS / "calibration.json", first_seed=70_000)
    elif options.reports:
        benchmark = replace(BENCHMARK, play=play_by_reports, out=RESULTS / "stated_errors_by_reports.json")
    raise SystemExit(harness.play_grid(benchmark, options) > 0)
