"""How accurate: the whole protocol with real reports on the grid of studies the project promises.

    python -m benchmarks accuracy [--law] [--seeds 20] [--only NAME …] [--workers N] [--data DIR] [--out FILE]

Each run draws data, designs the plan from dimension, clusters, ε, users and a declared shape alone, plays
everybody through the encoder, aggregates, decodes, and measures the centers on the true points. Beside it
stand the same data without privacy, with one center, and with a *known partition*: centers that are off only
by the noise of k vector sums at full ε, which no scheme can do without that first finds the groups and then
averages in them.

`--law` draws the tables from their law instead (`protocol.by_law`, accuracy_law.json), finds centers without
errors and judges them on the points that people are drawn from: a run takes seconds, whatever n is.

Runs that the output file already holds are not repeated: an interrupted benchmark goes on where it stopped.
Design decisions were made on other seeds than these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.harness import FIRST_SEED, MILLION, RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import Source, non_private, one_center, source_of
from benchmarks.protocol import Outcome, by_law, by_reports, seconds_without_radii
from coterie import Plan
from coterie.metrics import normalized_objective, recovered
from coterie.protocols.codeword.parameters import CodewordParameters

WORST = 2.0  # no seed worse than so many medians
POINTS = 30_000  # by law: people are like these
DECODE_SECONDS = {"decode_seconds": 40.0, "bare_decode_seconds": 15.0}  # on any line, on two cores


def _objective(at_most: float) -> Bar:
    return Bar("objective", at_most=at_most)


def _recovered(at_least: float) -> Bar:
    return Bar("recovered", at_least=at_least)


def _mean_recovered(at_least: float) -> Bar:
    return Bar("mean recovered", at_least=at_least)


def _real(name: str, data: str, clusters: int, epsilon: float, **more: Any) -> Study:
    return Study(f"{name}-eps-{epsilon:g}", data, MILLION, clusters, epsilon, **more)


GRID = (
    *(
        _real("digits", "digits", 10, e, bar=_mean_recovered(b))
        for e, b in ((1, 0.69), (2, 0.84), (4, 0.905))
    ),
    Study("digits-100k", "digits", 100_000, 10, 2, bar=_mean_recovered(0.53), worst=_recovered(0.45)),
    Study("r-3", "mixture", MILLION, 8, separation=3, bar=_objective(0.20)),
    Study("r-8", "mixture", MILLION, 8, separation=8, bar=_objective(0.045)),
    Study("base", "mixture", MILLION, 8, bar=_objective(0.026)),
    Study("eps-half", "mixture", MILLION, 8, 0.5, bar=_objective(0.125)),
    Study("eps-2", "mixture", MILLION, 8, 2, bar=_objective(0.008)),
    Study("eps-4", "mixture", MILLION, 8, 4, bar=_objective(0.003)),
    Study("d-2", "mixture", MILLION, 8, dimension=2, separation=8, bar=_objective(0.0165)),
    Study("d-10", "mixture", MILLION, 8, dimension=10, separation=8, bar=_objective(0.026)),
    *(
        _real("digits-unit", "digits-unit", 10, e, bar=_recovered(b))
        for e, b in ((1, 0.35), (2, 0.62), (4, 0.75))
    ),
    Study("k-16-broad", "mixture", MILLION, 16, bar=_mean_recovered(0.72), worst=_recovered(0.6)),
    Study("k-16", "mixture", MILLION, 16, shape="tight", bar=_objective(0.16)),
    Study("k-32", "mixture", MILLION, 32, shape="tight", bar=_objective(0.445)),
    Study("n-100k", "mixture", 100_000, 8, shape="tight", bar=_objective(0.33)),
    *(_real("satimage", "satimage", 7, e, role="developed on") for e in (1, 2)),
    *(_real("penbased", "penbased", 10, e, role="developed on") for e in (1, 2)),
    *(_real("letter", "letter", 10, e, role="developed on") for e in (1, 2)),
    *(_real("optdigits", "optdigits", 10, e, role="developed on") for e in (1, 2)),
    Study("ray-eps-1", "ray", MILLION, 2, bar=_objective(0.008)),
    Study("ray-eps-4", "ray", MILLION, 2, 4, bar=_objective(0.002)),
)


BY_LAW = {"digits-eps-2": _mean_recovered(0.86), "digits-eps-4": _mean_recovered(0.91)}  # other bars there


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed."""
    source = source_of(study, seed, folder)
    points = source.people(study.users, seed)
    outcome = by_reports(study, points, seed)
    bare = None
    if seed == FIRST_SEED:  # one seed a study will do
        bare = seconds_without_radii(outcome, study.clusters, seed)
    return {**judged(study, source, points, outcome, seed), "bare_decode_seconds": bare}


def play_law(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed, by tables drawn from their law and without errors."""
    source = source_of(study, seed, folder, POINTS)
    outcome = by_law(study, source, seed)
    figures = judged(study, source, source.points, outcome, seed)
    return {**figures, "decode_seconds": None, "bare_decode_seconds": figures["decode_seconds"]}


def judged(study: Study, source: Source, points: NDArray[Any], outcome: Outcome, seed: int) -> Figures:
    """Compare the centers with those of other ways, on the points: (n, d)."""
    free = non_private(source, study.clusters, seed, starts=3 if source.means is not None else 10)
    objective = normalized_objective(points, outcome.centers)
    single, open_ = one_center(points), normalized_objective(points, free)
    groups = free if source.means is None else source.means
    known = known_partition(outcome.table.plan, points, groups, seed, study.users)
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
    }


def known_partition(
    plan: Plan, points: NDArray[Any], centers: NDArray[np.float64], seed: int, users: int
) -> float:
    """Return the objective of means that are off only by the noise of k vector sums at full ε.

    So many users are like the points, (n, d), all equally often.
    """
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
    noise = np.random.default_rng(seed).normal(size=sums.shape) * np.sqrt(users) / gain
    each = users / len(points)
    noisy = (each * sums + noise) / np.maximum(each * counts, 1)[:, None]
    return normalized_objective(points, noisy)


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return accuracy, then support and seconds, as Markdown."""
    accuracy, rest = [], []
    for study in grid:
        if not (some := runs[study.name]):
            continue
        objectives = [run["objective"] for run in some]
        recoveries = [run["recovered"] for run in some]
        seen = {"objective": median(objectives), "recovered": median(recoveries)}
        seen["mean recovered"] = mean(recoveries)
        ratio = max(objectives) / median(objectives)
        accuracy.append(
            [
                study.name,
                f"{study.users:,}",
                some[0]["dimension"],
                study.clusters,
                f"r = {study.separation:g}" if study.data == "mixture" else study.data,
                f"{study.epsilon:g}",
                _bars(study, seen, min(recoveries)),
                len(some),
                f"**{seen['objective']:.4f}**",
                harness.spread_of(objectives),
                f"{max(objectives):.4f}",
                f"{ratio:.2f} {harness.tick(ratio <= WORST)}",
                f"**{seen['recovered']:.3f}**",
                f"{seen['mean recovered']:.3f}",
                f"{min(recoveries):.3f}",
                f"{median(run['known_partition'] for run in some):.4f}",
                f"{median(run['known_recovered'] for run in some):.3f}",
                f"{median(run['non_private'] for run in some):.4f}",
                f"{median(run['one_center'] for run in some):.3f}",
            ]
        )
        whole, bare = (
            [run[name] for run in some if run[name] is not None]
            for name in ("decode_seconds", "bare_decode_seconds")
        )
        rest.append(
            [
                study.name,
                study.shape,
                f"{min(run['supported'] for run in some)} of {study.clusters}",
                sum(bool(run["notes"]) for run in some),
                f"{median(run['encode_seconds'] for run in some):.1f}",
                *(_seconds(whole, DECODE_SECONDS["decode_seconds"]) if whole else ("", "")),
                _seconds(bare, DECODE_SECONDS["bare_decode_seconds"])[1] if bare else "",
            ]
        )
    columns = ["study", "n", "d", "k", "data", "ε", "bar", "seeds", "**median**", "mean ± deviation"]
    columns += [
        "worst",
        "worst/median",
        "**recovered**",
        "its mean",
        "its worst",
        "known partition",
        "recovered by it",
    ]
    columns += ["non-private", "one center"]
    seconds = ["study", "design", "supported, fewest", "seeds with notes", "encode, median s"]
    seconds += ["decode with radii, median s", "longest s (≤ 40)", "decode without, longest s (≤ 15)"]
    return f"{harness.table(columns, accuracy)}\n\n{harness.table(seconds, rest)}"


def _bars(study: Study, seen: Figures, worst: float) -> str:
    shown = [study.bar.shown(seen[study.bar.figure])] if study.bar else [study.role]
    if study.worst is not None:
        shown.append(f"worst {study.worst.shown(worst)}")
    return ", ".join(shown)


def _seconds(values: Sequence[float], most: float) -> tuple[str, str]:
    return f"{median(values):.1f}", f"{max(values):.1f} {harness.tick(max(values) <= most)}"


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "accuracy.json", seeds=20)


def main() -> None:
    """Run what is missing, by reports or by law; each has a file of its own."""
    parser = harness.parser_of(BENCHMARK, __doc__)
    parser.add_argument("--law", action="store_true", help="draw tables from their law; no errors")
    options = parser.parse_args()
    chosen = BENCHMARK
    if options.law:
        grid = tuple(replace(study, bar=BY_LAW.get(study.name, study.bar)) for study in GRID)
        chosen = replace(chosen, grid=grid, play=play_law, out=RESULTS / "accuracy_law.json")
    raise SystemExit(harness.play_grid(chosen, options) > 0)
