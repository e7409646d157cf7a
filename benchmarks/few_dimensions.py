"""How often all groups are found: few dimensions and people, the paper's mixture, unknown numbers of groups.

    python -m benchmarks few_dimensions [--seeds N] [--only NAME …] [--workers N] [--out FILE]

Real reports. A group counts as found if exactly one center lies within a third of the distance from its mean
to the nearest other mean. (The mixture of many dimensions is judged by half of it, as `coterie demo`
is.) Where the number of groups is to be found as well, the figure is how many centers came out. With
fewer seeds than a bar speaks of, it is judged in proportion.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import harness
from benchmarks.harness import MILLION, RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import groups_found, source_of
from benchmarks.protocol import by_reports, choose_clusters

THIRD, HALF = 1 / 3, 1 / 2
SEEDS = {"line": 30, "ring": 30, "near": 30, "mixture": 50, "auto": 50}
GRID = (
    Study("line", "line", 10_000, 2, bar=Bar("all found", at_least=28)),
    Study("ring", "ring", 20_000, 4, bar=Bar("all found", at_least=28)),
    Study("near", "near", MILLION, 3),
    Study("mixture", "mixture", 200_000, 5, separation=20, bar=Bar("all found", at_least=50)),
    Study("auto", "mixture", MILLION, 8, separation=8, bar=Bar("right k", at_least=40)),
)
NEARLY = Bar("k within 1", at_least=47.5)  # of 50
WHAT = {
    "line": "±0.7 on a line, deviation 0.1",
    "ring": "four on a ring of radius 0.7, deviation 0.1",
    "near": "three in the plane, 0.03 apart, deviation 0.002",
    "mixture": "the mixture: d = 100, k = 5, r = 20",
    "auto": "k to be found: d = 100, k = 8, r = 8",
}


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed."""
    source = source_of(study, seed, folder)
    assert source.means is not None
    points = source.people(study.users, seed)
    if study.name == "auto":
        return {"chosen": choose_clusters(study, points, seed)}
    outcome = by_reports(study, points, seed)
    return {
        "found_third": groups_found(outcome.centers, source.means, THIRD, alone=True),
        "found_half": groups_found(outcome.centers, source.means, HALF, alone=False),
        "supported": int(outcome.supported.sum()),
        "notes": list(outcome.notes),
        "decode_seconds": outcome.decode_seconds,
    }


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return in how many seeds all was found, as Markdown."""
    rows, chosen = [], []
    for study in grid:
        some = runs[study.name][: SEEDS[study.name]]
        if not some:
            continue
        share = SEEDS[study.name] / len(some)
        if study.name == "auto":
            found = np.array([run["chosen"] for run in some])
            right, nearly = (int((abs(found - study.clusters) <= off).sum()) for off in (0, 1))
            assert study.bar is not None
            bars = f"{study.bar.shown(right * share)}, {NEARLY.shown(nearly * share)}"
            counts = ", ".join(
                f"{k}: {n}" for k, n in zip(*np.unique(found, return_counts=True), strict=True)
            )
            chosen.append([WHAT["auto"], f"{study.users:,}", len(some), right, nearly, counts, bars])
            continue
        thirds, halves = (
            sum(run[name] == study.clusters for run in some) for name in ("found_third", "found_half")
        )
        judged = halves if study.name == "mixture" else thirds
        rows.append(
            [
                WHAT[study.name],
                f"{study.users:,}",
                len(some),
                f"**{judged}**",
                thirds,
                halves,
                study.bar.shown(judged * share) if study.bar else "",
                sum(run["supported"] == study.clusters for run in some),
                f"{median(run['decode_seconds'] for run in some):.1f}",
            ]
        )
    columns = ["groups", "n", "seeds", "**all found in**", "by a third", "by half", "bar"]
    text = harness.table([*columns, "all supported in", "decode, median s"], rows) if rows else ""
    if chosen:
        columns = ["groups", "n", "seeds", "right k", "k within 1", "chosen: seeds", "bar"]
        text += "\n\n" + harness.table(columns, chosen)
    return text.strip()


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "few_dimensions.json", seeds=max(SEEDS.values()))


def main() -> None:
    """Run each study with as many seeds as its bar speaks of, or with `--seeds`."""
    options = harness.parser_of(BENCHMARK, __doc__).parse_args()
    failed = 0
    for count in sorted(set(SEEDS.values())):
        names = [name for name, seeds in SEEDS.items() if seeds == count]
        wanted = [name for name in names if not options.only or name in options.only]
        if wanted:
            chosen = argparse.Namespace(
                **{**vars(options), "only": wanted, "seeds": min(options.seeds, count)}
            )
            failed += harness.play_grid(BENCHMARK, chosen)
    raise SystemExit(failed > 0)
