"""How accurate: the whole protocol with real reports on the grid of studies the project promises.

    python -m benchmarks accuracy [--seeds 20] [--only NAME …] [--workers N] [--data DIR] [--out FILE]

Each run draws data, designs the plan from dimension, clusters, ε, users and a declared shape alone, plays
everybody through the encoder, aggregates, decodes, and measures the centers on the true points. Beside it
stand the same data without privacy, with one center, and with a *known partition*: centers that are off only
by the noise of k vector sums at full ε, which no scheme can do without that first finds the groups and then
averages in them.

Runs that the output file already holds are not repeated: an interrupted benchmark goes on where it stopped.
Design decisions were made on other seeds than these.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.harness import FIRST_SEED, MILLION, RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import non_private, one_center, source_of
from benchmarks.protocol import by_reports, seconds_without_radii
from coterie import Plan
from coterie.metrics import normalized_objective, recovered
from coterie.plan.codeword import CodewordParameters

WORST = 2.0  # no seed worse than so many medians
DECODE_SECONDS = {"decode_seconds": 40.0, "bare_decode_seconds": 15.0}  # on any line, on two cores


def _objective(at_most: float) -> Bar:
    return Bar("objective", at_most=at_most)


def _recovered(at_least: float) -> Bar:
    return Bar("recovered", at_least=at_least)


def _real(name: str, data: str, clusters: int, epsilon: float, **more: Any) -> Study:
    return Study(f"{name}-eps-{epsilon:g}", data, MILLION, clusters, epsilon, **more)


GRID = (
    *(_real("digits", "digits", 10, e, bar=_recovered(b)) for e, b in ((1, 0.60), (2, 0.82), (4, 0.90))),
    Study("r-3", "mixture", MILLION, 8, separation=3, bar=_objective(0.20), paper=0.59),
    Study("r-8", "mixture", MILLION, 8, separation=8, bar=_objective(0.045), paper=0.51),
    Study("base", "mixture", MILLION, 8, bar=_objective(0.026), paper=0.37),
    Study("eps-half", "mixture", MILLION, 8, 0.5, bar=_objective(0.125), paper=0.90),
    Study("eps-2", "mixture", MILLION, 8, 2, bar=_objective(0.008), paper=0.147),
    Study("eps-4", "mixture", MILLION, 8, 4, bar=_objective(0.003), paper=0.10),
    Study("d-2", "mixture", MILLION, 8, dimension=2, separation=8, bar=_objective(0.0165)),
    Study("d-10", "mixture", MILLION, 8, dimension=10, separation=8, bar=_objective(0.026)),
    *(
        _real("digits-unit", "digits-unit", 10, e, bar=_recovered(b))
        for e, b in ((1, 0.35), (2, 0.62), (4, 0.75))
    ),
    *(
        _real("digits-off-waves", "digits-off", 10, e, waves=(0.1, 0.9), bar=_recovered(b))
        for e, b in ((1, 0.50), (2, 0.75))
    ),
    Study("k-16", "mixture", MILLION, 16, shape="tight", bar=_objective(0.16), paper=0.94),
    Study("k-32", "mixture", MILLION, 32, shape="tight", bar=_objective(0.445), paper=1.30),
    Study("n-100k", "mixture", 100_000, 8, shape="tight", bar=_objective(0.33), paper=1.22),
    *(_real("satimage", "satimage", 7, e, role="developed on") for e in (1, 2)),
    *(_real("penbased", "penbased", 10, e, role="developed on") for e in (1, 2)),
    *(_real("letter", "letter", 10, e, role="developed on") for e in (1, 2)),
    *(_real("optdigits", "optdigits", 10, e, role="developed on") for e in (1, 2)),
    Study("ray-eps-1", "ray", MILLION, 2, bar=_objective(0.008)),
    Study("ray-eps-4", "ray", MILLION, 2, 4, bar=_objective(0.002)),
)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed."""
    source = source_of(study, seed, folder)
    points = source.people(study.users, seed)
    outcome = by_reports(study, points, seed)
    free = non_private(source, study.clusters, seed, starts=3 if source.means is not None else 10)
    objective = normalized_objective(points, outcome.centers)
    single, open_ = one_center(points), normalized_objective(points, free)
    known = known_partition(outcome.plan, points, free if source.means is None else source.means, seed)
    bare = None
    if seed == FIRST_SEED:  # one seed a study will do
        bare = seconds_without_radii(outcome, study.clusters, seed)
    return {
        "dimension": source.dimension,
        "objective": objective,
        "recovered": recovered(objective, one_center=single, non_private=open_),
        "known_partition": known,
        "known_recovered": recovered(known, one_center=single, non_private=open_),
        "non_private": open_,
        "one_center": single,
        "supported": int(outcome.supported.sum()),
        "notes": list(outcome.notes),
        "encode_seconds": outcome.encode_seconds,
        "decode_seconds": outcome.decode_seconds,
        "bare_decode_seconds": bare,
    }


def known_partition(plan: Plan, points: NDArray[Any], centers: NDArray[np.float64], seed: int) -> float:
    """Return the objective of means that are off only by the noise of k vector sums at full ε."""
    assert isinstance(plan.parameters, CodewordParameters)
    gain = plan.parameters.randomizer.gain(plan.parameters.embedding)
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


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return accuracy, then support and seconds, as Markdown."""
    accuracy, rest = [], []
    for study in grid:
        if not (some := runs[study.name]):
            continue
        objectives = [run["objective"] for run in some]
        recoveries = [run["recovered"] for run in some]
        judged = {"objective": median(objectives), "recovered": median(recoveries)}
        ratio = max(objectives) / median(objectives)
        accuracy.append(
            [
                study.name,
                f"{study.users:,}",
                some[0]["dimension"],
                study.clusters,
                f"r = {study.separation:g}" if study.data == "mixture" else study.data,
                f"{study.epsilon:g}",
                study.bar.shown(judged[study.bar.figure]) if study.bar else study.role,
                len(some),
                f"**{judged['objective']:.4f}**",
                harness.spread_of(objectives),
                f"{max(objectives):.4f}",
                f"{ratio:.2f} {harness.tick(ratio <= WORST)}",
                f"**{judged['recovered']:.3f}**",
                f"{mean(recoveries):.3f}",
                f"{median(run['known_partition'] for run in some):.4f}",
                f"{median(run['known_recovered'] for run in some):.3f}",
                f"{median(run['non_private'] for run in some):.4f}",
                f"{median(run['one_center'] for run in some):.3f}",
                "" if study.paper is None else study.paper,
            ]
        )
        bare = [run["bare_decode_seconds"] for run in some if run["bare_decode_seconds"] is not None]
        rest.append(
            [
                study.name,
                study.shape + (f", waves {study.waves}" if study.waves else ""),
                f"{min(run['supported'] for run in some)} of {study.clusters}",
                sum(bool(run["notes"]) for run in some),
                f"{median(run['encode_seconds'] for run in some):.1f}",
                *_seconds([run["decode_seconds"] for run in some], DECODE_SECONDS["decode_seconds"]),
                _seconds(bare, DECODE_SECONDS["bare_decode_seconds"])[1] if bare else "",
            ]
        )
    columns = ["study", "n", "d", "k", "data", "ε", "bar", "seeds", "**median**", "mean ± deviation"]
    columns += ["worst", "worst/median", "**recovered**", "its mean", "known partition", "recovered by it"]
    columns += ["non-private", "one center", "paper"]
    seconds = ["study", "design", "supported, fewest", "seeds with notes", "encode, median s"]
    seconds += ["decode with radii, median s", "longest s (≤ 40)", "decode without, s (one seed, ≤ 15)"]
    return f"{harness.table(columns, accuracy)}\n\n{harness.table(seconds, rest)}"


def _seconds(values: Sequence[float], most: float) -> tuple[str, str]:
    return f"{median(values):.1f}", f"{max(values):.1f} {harness.tick(max(values) <= most)}"


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "accuracy.json", seeds=20)
