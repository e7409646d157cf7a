"""When blobs may state their own errors: on what evidence the groups are round, and found.

    python -m benchmarks certain [--seeds 4] [--only NAME …] [--workers N] [--out FILE]

The errors of centers come from repeated fits (`centers/repeats.py`). Repeated on the blobs alone they are
right where people do form k round groups and all were found, and far too small elsewhere; repeated on blobs
and population together they hold everywhere, and are twice as large as need be for round groups. Each run
measures both against the optimum of k-means next to the answer, and the three numbers by which
`centers/evidence.py` tells the cases apart: by how much the blobs beat the population (chi-square per fitted
number of the subspace; bar 5), by how many deviations they miss the rows (2), and how wrong they may be as a
share of the squared distance of centers from the mean (0.09). Rows are drawn from their law. The constants
were chosen by such figures on other seeds (0 to 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from benchmarks import harness
from benchmarks.harness import MILLION, RESULTS, Benchmark, Figures, Runs, Study
from benchmarks.populations import source_of
from benchmarks.protocol import design, drawn_rows
from coterie.centers import evidence as weighing
from coterie.centers.answer import Answer, k_means
from coterie.centers.blobs import search
from coterie.centers.evidence import Parts, blob_fit, combined, weigh
from coterie.centers.population import fit_population, shrunk_mean
from coterie.centers.repeats import REPEATS, distances_of, radii_of

POINTS = 8_000
REAL = ("satimage", "penbased", "letter", "optdigits")
MIXTURES = ((100, 3.0), (100, 8.0), (100, 100.0), (30, 3.0))
SIZES = ((MILLION // 10, 1.0), (MILLION // 5, 1.0), (MILLION // 2, 1.0), (MILLION, 1.0), (MILLION, 2.0))


def _name(what: str, users: int, epsilon: float) -> str:
    return f"{what}-{users // 1000}k-eps-{epsilon:g}"


GRID = (
    *(Study(_name(name, n, e), name, n, 8, e) for name in REAL for n, e in SIZES),
    *(
        Study(_name(f"d-{d}-r-{r:g}", n, e), "mixture", n, 8, e, dimension=d, separation=r)
        for d, r in MIXTURES
        for n, e in SIZES
    ),
    Study("d-20-r-8-20k-eps-2", "mixture", 20_000, 4, 2.0, dimension=20, separation=8.0),
)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed: both kinds of radii, and what tells them apart."""
    points = source_of(study, seed, folder, POINTS).points[:POINTS].astype(np.float64)
    plan = design(study, (study.users, points.shape[1]), seed)
    views = drawn_rows(plan, points, study.users, np.random.default_rng([seed, 4]))
    rng, middle = np.random.default_rng(seed), shrunk_mean(views)
    population, fit = fit_population(views, rng), blob_fit(views, middle)
    nothing = dict.fromkeys(("sure", "beats", "misses", "unknown", "round_covered", "any_covered"), math.nan)
    if population is None or fit is None:
        return {"found": 0, **nothing}
    starts = [k_means(population.inner, population.weights, study.clusters, rng) for _ in range(2)]
    blobs = search(fit, population, [(start.centers, start.shares) for start in starts])
    found = weigh(population, blobs, fit, [view for view in views if not view.halfspaces], rng)
    answer = combined(Parts(population, blobs, found), study.clusters, rng)
    ours, theirs, numbers = weighing._misfits(fit, blobs, population)
    squares = ((blobs.centers - middle) ** 2).sum(axis=1)
    radii = {}
    for kind, sure in (("round", True), ("any", False)):
        parts = Parts(population, blobs, replace(found, sure=sure))
        radii[kind] = radii_of(distances_of(views, fit, parts, answer, rng, REPEATS)[0])
    wrong = _wrong(points, answer)
    return {
        "found": 1,
        "sure": float(found.sure),
        "beats": (theirs - ours) / (study.clusters * population.basis.shape[1]),
        "misses": (ours - numbers) / math.sqrt(2 * numbers),
        "unknown": float(blobs.shares @ blobs.errors) / float(blobs.shares @ squares),
        "round_covered": float((wrong <= radii["round"]).mean()),
        "any_covered": float((wrong <= radii["any"]).mean()),
    }


def _wrong(points: NDArray[np.float64], answer: Answer) -> NDArray[np.float64]:
    """Return the distance of each center from the one of the next optimum of k-means: (k,)."""
    best = KMeans(len(answer.centers), init=answer.centers, n_init=1).fit(points).cluster_centers_
    distances = np.linalg.norm(answer.centers[:, None] - best[None], axis=2)
    ours, theirs = linear_sum_assignment(distances**2)
    found: NDArray[np.float64] = distances[ours, theirs]
    return found


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return what each study says, and how often the radii held by what was believed, as Markdown."""
    lines, all_runs = [], []
    for study in grid:
        some = [run for run in runs[study.name] if run["found"]]
        if not some:
            continue
        all_runs += some
        names = ("sure", "beats", "misses", "unknown", "round_covered", "any_covered")
        lines.append([study.name, len(some), *(f"{mean(run[name] for run in some):.2f}" for name in names)])
    groups = (
        ("sure", [run for run in all_runs if run["sure"]]),
        ("not sure, though blobs win", [run for run in all_runs if not run["sure"] and run["beats"] >= 0]),
        ("blobs lose", [run for run in all_runs if run["beats"] < 0]),
    )
    said = [
        [
            what,
            len(some),
            *(f"{mean(run[name] for run in some):.1%}" for name in ("round_covered", "any_covered")),
        ]
        for what, some in groups
        if some
    ]
    first = ["study", "runs", "sure", "beats", "misses", "unknown", "round radii hold", "the others hold"]
    return "\n\n".join(
        [
            harness.table(first, lines),
            harness.table(["", "runs", "round radii hold", "the others hold"], said),
        ]
    )


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "certain.csv", seeds=4, first_seed=60_000)
