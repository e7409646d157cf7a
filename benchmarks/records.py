"""Records of a real table, Adult: what is recovered, and whether groups are described as they are.

    python -m benchmarks records [--seeds 20] [--only NAME …] [--workers N] [--out FILE]

10⁶ people drawn from the 45,222 records, ε = 2, k = 6, and a schema declared from public knowledge. The study
`adult-law` draws the table from its law (`coterie.engines.simulate`), which takes the time of a decode;
`adult-reports` plays everybody through the encoder.

*Recovered* is in the schema's metric, against the best of ten k-means runs on all records. Each group is
compared with the people nearest to its center. Of those above 20 % of the people, the mean absolute
difference of the shares of values (categories and flags), and of numbers as a part of their range, on their
declared scale. *Covered* is the part of all stated 90 % intervals that hold the people's own figure. *Groups
known* is what all of ε recovers where everybody's group is known.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from benchmarks import harness, real_data
from benchmarks.accuracy import known_partition
from benchmarks.harness import MILLION, RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import one_center, true_groups
from coterie import Plan, Result, decode
from coterie.coins import SimulationCoins
from coterie.engines import play as play_everybody
from coterie.engines.simulate import simulate
from coterie.features import Category, Estimate, Flag, Number, Schema
from coterie.metrics import normalized_objective, recovered

SCHEMA = Schema(
    (
        Number("age", 15, 90, unit="years"),
        Number("education-num", 1, 16, description="1 preschool … 16 doctorate"),
        Number("hours-per-week", 0, 100, unit="h"),
        Number("capital-gain", 100, 100_000, "log", unit="$", weight=0.5),
        Category(
            "marital-status",
            ("Married-civ-spouse", "Never-married", "Divorced", "Separated", "Widowed"),
            unknown="own",
            weight=0.7,
        ),
        Category(
            "relationship",
            ("Husband", "Wife", "Own-child", "Not-in-family", "Unmarried", "Other-relative"),
            weight=0.7,
        ),
        Category(
            "workclass",
            ("Private", "Self-emp-inc", "Self-emp-not-inc", "Federal-gov", "State-gov", "Local-gov"),
            unknown="own",
            weight=0.7,
        ),
        Category(
            "race",
            ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"),
            weight=0.7,
        ),
        Category("sex", ("Female", "Male"), weight=0.7),
        Flag("over-50k", weight=0.7),
    )
)
LARGE = 0.2  # of the people: groups that are compared
ROUNDING = 1e-9  # of figures that stand at an end of their range
STARTS = 10
RECOVERED = Bar("recovered", at_least=0.75)
SHARES = Bar("shares differ by", at_most=0.05)
NUMBERS = Bar("numbers differ by", at_most=0.05)
COVERED = Bar("covered", at_least=0.84, at_most=0.96)
GRID = (
    Study("adult-law", "adult", MILLION, 6, 2.0, method="law"),
    Study("adult-reports", "adult", MILLION, 6, 2.0, method="reports"),
)


@cache
def records(folder: Path, schema: Schema = SCHEMA) -> NDArray[np.float64]:
    """Return the points of all records: (m, d)."""
    table: dict[str, Any] = real_data.adult(folder)
    for feature in schema.features:
        if isinstance(feature, Number):
            table[feature.name] = np.array(table[feature.name], dtype=np.float64)
    table["over-50k"] = [value == ">50K" for value in table["salary"]]
    return schema.points({feature.name: table[feature.name] for feature in schema.features})


@cache
def in_the_open(folder: Path, clusters: int) -> NDArray[np.float64]:
    """Return the centers of k-means without privacy: (k, d)."""
    found = KMeans(clusters, n_init=STARTS, random_state=0).fit(records(folder))
    return np.asarray(found.cluster_centers_, dtype=np.float64)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed."""
    points = records(folder)
    plan = Plan.design(
        features=SCHEMA,
        clusters=study.clusters,
        epsilon=study.epsilon,
        expected_users=study.users,
        seed=seed,
    )
    start = time.perf_counter()
    if study.method == "reports":
        people = points[np.random.default_rng([seed, 4]).integers(len(points), size=study.users)]
        table = play_everybody(plan, people, SimulationCoins(seed))
    else:
        table = simulate(plan, points, study.users, random_state=seed)
    result = decode(table, random_state=seed)
    seconds = time.perf_counter() - start
    best = in_the_open(folder, study.clusters)
    single, open_ = one_center(points), normalized_objective(points, best)
    known = known_partition(plan, points / plan.radius, best / plan.radius, seed, study.users)
    known *= plan.radius**2
    return {
        "dimension": plan.dimension,
        "recovered": recovered(
            normalized_objective(points, result.centers), one_center=single, non_private=open_
        ),
        "known_recovered": recovered(known, one_center=single, non_private=open_),
        **compared(result, points),
        "supported": result.supported,
        "notes": list(result.notes),
        "seconds": seconds,
    }


def compared(result: Result, points: NDArray[np.float64]) -> Figures:
    """Return how described groups differ from the people nearest to their centers, and what is covered.

    Groups of nobody are left out, and small ones from the differences.
    """
    means, shares = true_groups(result, points)
    numbers: list[float] = []
    of_values: list[float] = []
    inside: list[bool] = []
    large_inside: list[bool] = []
    for group, center, mean, share in zip(result.groups, result.centers, means, shares, strict=True):
        stated, true = group.estimates, SCHEMA.describe_point(mean)
        if group.share > 0:
            held = [
                a.low - ROUNDING <= b.value <= a.high + ROUNDING for a, b in zip(stated, true, strict=True)
            ]
            inside += held
            large_inside += held if share > LARGE else []
        if share > LARGE:
            numbers += _numbers(center - mean)
            of_values += _values(stated, true)
    return {
        "shares_differ": float(np.mean(of_values)) if of_values else float("nan"),
        "numbers_differ": float(np.mean(numbers)) if numbers else float("nan"),
        "large": int((shares > LARGE).sum()),
        "intervals": len(inside),
        "inside": int(sum(inside)),
        "large_intervals": len(large_inside),
        "large_inside": int(sum(large_inside)),
    }


def _numbers(away: NDArray[np.float64]) -> list[float]:
    return [
        float(abs(away[block][0])) / feature.weight
        for feature, block in SCHEMA.blocks()
        if isinstance(feature, Number)
    ]


def _values(stated: Sequence[Estimate], true: Sequence[Estimate]) -> list[float]:
    return [abs(a.value - b.value) for a, b in zip(stated, true, strict=True) if a.what == "share"]


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return the figures and their bars as Markdown."""
    rows = []
    for study in grid:
        if not (some := runs[study.name]):
            continue
        found = median(run["recovered"] for run in some)
        shares = float(np.nanmean([run["shares_differ"] for run in some]))
        numbers = float(np.nanmean([run["numbers_differ"] for run in some]))
        covered = sum(run["inside"] for run in some) / max(1, sum(run["intervals"] for run in some))
        large = sum(run["large_inside"] for run in some) / max(1, sum(run["large_intervals"] for run in some))
        rows.append(
            [
                study.name,
                len(some),
                some[0]["dimension"],
                f"**{found:.3f}** {RECOVERED.shown(found)}",
                f"{min(run['recovered'] for run in some):.3f}",
                f"{median(run['known_recovered'] for run in some):.3f}",
                f"**{shares:.3f}** {SHARES.shown(shares)}",
                f"**{numbers:.3f}** {NUMBERS.shown(numbers)}",
                f"**{covered:.1%}** {COVERED.shown(covered)}",
                f"{large:.1%}",
                f"{min(run['supported'] for run in some)} of {study.clusters}",
                f"{median(run['seconds'] for run in some):.0f}",
            ]
        )
    columns = ["study", "seeds", "d", "recovered, median", "worst", "groups known", "shares of values"]
    columns += [
        "numbers, of range",
        "intervals covered",
        "of groups above 20 %",
        "supported, fewest",
        "seconds",
    ]
    return harness.table(columns, rows)


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "records.json", seeds=20)
