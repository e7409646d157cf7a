"""What a change of the decoder gains and costs: the same calibration tables, decoded by either.

    python -m benchmarks ablations --variant "as it is" [--seeds 1] [--only NAME …] [--workers N]

Plays the present tree under the name of a variant: 25 studies of calibration data, from 10⁴ to 10⁶ people,
ε from 0.5 to 8, without errors (results/ablations.csv holds all variants). Then it prints, for every variant,
the mean change of what is recovered from the first one, study by study and seed by seed, and the worst. None
of these people is reported on elsewhere. The words of decisions that cite it are of the rows that they name.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.harness import MILLION, RESULTS, Benchmark, Figures, Runs, Study
from benchmarks.populations import non_private, one_center, source_of
from benchmarks.protocol import by_law
from benchmarks.statements import OTHERS
from coterie.metrics import normalized_objective, recovered

POINTS = 20_000  # people are like these
OUT = RESULTS / "ablations.csv"

_REAL = (
    *((name, 100_000, 2.0) for name in ("segment", "magic", "spambase", "ring", "ionosphere", "mixed-50")),
    *((name, MILLION, 1.0) for name in ("vehicle", "spambase", "wdbc", "mixed-30", "movement_libras")),
    *((name, MILLION, 4.0) for name in ("phoneme", "sonar", "ring", "mixed-10", "spambase")),
    *((name, 10_000, 8.0) for name in ("segment", "magic", "mixed-60", "ionosphere")),
)
STUDIES = (
    *(
        Study(f"{name}-{users:.0e}-eps-{epsilon:g}".replace("e+0", "e"), users=users, epsilon=epsilon,
              **OTHERS[name])  # type: ignore[arg-type]
        for name, users, epsilon in _REAL
    ),
    Study("base", "mixture", MILLION, 8),
    Study("k16", "mixture", MILLION, 16),
    Study("ray", "ray", MILLION, 2),
    Study("nested", "nested", MILLION, 2),
    Study("basehalf", "mixture", MILLION, 8, 0.5),
)  # fmt: skip


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Decode a table that is drawn by law, without errors."""
    own = next(one for one in STUDIES if study.name.endswith(f": {one.name}"))
    seed += 1_000 * STUDIES.index(own)
    source = source_of(own, seed, folder, POINTS)
    start = time.perf_counter()
    outcome = by_law(own, source, seed)
    seconds = time.perf_counter() - start
    best = normalized_objective(source.points, non_private(source, own.clusters, seed))
    objective = normalized_objective(source.points, outcome.centers)
    return {
        "recovered": round(recovered(objective, one_center=one_center(source.points), non_private=best), 4),
        "objective": round(objective, 5),
        "clear": int(outcome.supported.sum()),
        "seconds": round(seconds, 1),
    }


def tables(grid: object, runs: Runs) -> str:
    """Return every variant of the file against its first: means over studies and seeds, and the worst."""
    del grid, runs
    with OUT.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    by_variant: dict[str, dict[tuple[str, str], tuple[float, float]]] = {}
    for row in rows:
        variant, _, study = row["study"].rpartition(": ")
        figures = float(row["recovered"]), float(row["seconds"])
        by_variant.setdefault(variant, {})[study, row["seed"]] = figures
    lines = []
    for variant, found in by_variant.items():
        for other, theirs in by_variant.items():
            if other == variant or not (both := sorted(found.keys() & theirs.keys())):
                continue
            gains = np.array([found[key][0] - theirs[key][0] for key in both])
            faster = sum(found[key][1] for key in both) / max(sum(theirs[key][1] for key in both), 1e-9)
            deviation = gains.std() / max(len(gains) - 1, 1) ** 0.5
            worst = both[int(gains.argmin())]
            lines.append(
                [variant, other, len(both), f"{gains.mean():+.4f} ± {deviation:.4f}",
                 f"{gains.min():+.3f} ({worst[0]})", f"{faster:.2f}"]
            )  # fmt: skip
    return harness.table(["variant", "against", "runs", "recovered", "worst", "time"], lines)


def main() -> None:
    """Play the present tree under a name."""
    benchmark = Benchmark(STUDIES, play, tables, OUT, seeds=1, first_seed=71_000)
    parser: argparse.ArgumentParser = harness.parser_of(benchmark, __doc__)
    parser.add_argument("--variant", required=True, help="what the present tree is called in the file")
    options = parser.parse_args()
    named = tuple(replace(study, name=f"{options.variant}: {study.name}") for study in STUDIES)
    if options.only:
        options.only = [f"{options.variant}: {name}" for name in options.only]
    raise SystemExit(harness.play_grid(replace(benchmark, grid=named), options) > 0)
