"""Whether what a result says of people is true.

    python -m benchmarks statements [--calibrate | --elsewhere | --floor | --stable | --auto] [--only NAME …]

Every study is decoded by the product's own path from a table drawn by its law, and compared with the people:

*Means, shares, figures.* Of the people nearest to each stated center: is their mean within the stated radius,
their share within its interval, each coordinate (of records, each figure) within its own? All at 90 %.
*Explained.* Is the share of people's spread that the centers explain within its interval?
*Radius.* The median stated radius over the 90 % quantile of the true distances: 1 is right, more is too wide.
*Over one center.* The cost of the centers over that of the one center that the same reports give.
*Missed groups.* Of mixtures: a run misses a group if some true mean has no center within half its distance to
the nearest other. It is doubted if a note speaks of groups, or if a group does not stand clear.

`--calibrate` plays other data and other seeds (calibration.csv): constants of `centers/repeats.py` and
`centers/explain.py` were measured on those alone. `--elsewhere` plays real sets that no constant and no rule
of the decoder has seen (elsewhere.csv). `--floor` plays every set with few and many people, little and much
noise, without errors (floor.csv): no run may cost more than 1.02 times one center. `--stable` decodes one
table with ten seeds, and ten tables that each lack a random hundredth of the reports (stable.json): no stated
radius may vary by more than a factor of 1.5. `--auto` lets the reports choose k (auto.csv): the cost is
compared with that of non-private k-means with as many centers, and no two groups may be one by the noise.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness, records
from benchmarks.harness import MILLION, RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import Source, groups_found, non_private, one_center, source_of, true_groups
from coterie import Plan, Result, decode
from coterie.centers.answer import in_order
from coterie.centers.explain import explain
from coterie.centers.population import shrunk_mean
from coterie.engines.simulate import simulate
from coterie.metrics import normalized_objective, recovered
from coterie.protocols.codeword.decode import rows_of_all

POINTS = 30_000  # people are like these
FIRST = 1_000  # seed of the people and the table that are decoded again and again
HELD = Bar("held", at_least=0.84, at_most=0.96)
HELD_ALL = Bar("held over all", at_least=0.87, at_most=0.93)
EXPLAINED = Bar("explained held", at_least=0.86, at_most=0.94)
RADIUS = Bar("radius", at_least=0.8, at_most=1.5)
FLOOR = Bar("over one center", at_most=1.02)
STABLE = Bar("varies", at_most=1.5)
CHOSEN = Bar("over non-private", at_most=1.05)
DOUBT = re.compile(r"\bgroups?\b", re.IGNORECASE)

SETS: dict[str, dict[str, object]] = {
    "digits": {"data": "digits", "clusters": 10},
    "optdigits": {"data": "optdigits", "clusters": 10},
    "letter": {"data": "letter", "clusters": 10},
    "penbased": {"data": "penbased", "clusters": 10},
    "satimage": {"data": "satimage", "clusters": 7},
    "texture": {"data": "texture", "clusters": 8},
    "adult": {"data": "adult", "clusters": 4},
    "r100": {"data": "mixture", "clusters": 8},
    "r8": {"data": "mixture", "clusters": 8, "separation": 8.0},
    "r3": {"data": "mixture", "clusters": 8, "separation": 3.0},
    "readme": {"data": "mixture", "clusters": 4, "separation": 8.0, "dimension": 20},
}
OTHERS: dict[str, dict[str, object]] = {
    **{
        name: {"data": name, "clusters": clusters}
        for name, clusters in (
            *(("segment", 7), ("magic", 6), ("spambase", 6), ("ring", 4), ("movement_libras", 8)),
            *(("phoneme", 5), ("wdbc", 4), ("sonar", 5), ("ionosphere", 5), ("vehicle", 5)),
        )
    },
    "mixed-30": {"data": "mixture", "clusters": 6, "separation": 3.0, "dimension": 30},
    "mixed-50": {"data": "mixture", "clusters": 10, "separation": 5.0, "dimension": 50},
    "mixed-60": {"data": "mixture", "clusters": 6, "separation": 20.0, "dimension": 60},
    "mixed-80": {"data": "mixture", "clusters": 8, "separation": 5.0, "dimension": 80},
    "mixed-100": {"data": "mixture", "clusters": 7, "separation": 10.0, "dimension": 100},
    "mixed-10": {"data": "mixture", "clusters": 6, "separation": 4.0, "dimension": 10},
}
UNSEEN: dict[str, dict[str, object]] = {
    name: {"data": name, "clusters": clusters}
    for name, clusters in (
        *(("credit", 6), ("law", 5), ("celeba", 6), ("faces", 5), ("health", 6)),
        *(("crime", 5), ("sqf", 6), ("german", 5), ("patches", 8)),
    )
}


def _grid(
    sets: dict[str, dict[str, object]], users: Sequence[int], epsilons: Sequence[float]
) -> tuple[Study, ...]:
    return tuple(
        Study(f"{name}-{n:.0e}-eps-{epsilon:g}".replace("e+0", "e"), users=n, epsilon=epsilon, **about)  # type: ignore[arg-type]
        for name, about in sets.items()
        for n in users
        for epsilon in epsilons
    )


GRID = _grid(SETS, (100_000, MILLION), (1.0, 2.0, 4.0))
CALIBRATION = _grid(OTHERS, (100_000, MILLION), (1.0, 4.0))
ELSEWHERE = _grid(UNSEEN, (100_000, MILLION), (1.0, 4.0))
FLOORS = (
    *_grid({**SETS, **OTHERS}, (10_000, 100_000), (0.5, 2.0, 8.0)),
    *_grid(SETS, (10 * MILLION,), (0.5, 8.0)),
    *(
        replace(study, name=f"tight-{study.name}", shape="tight")
        for study in _grid(SETS, (10_000, 100_000, MILLION), (0.5, 2.0))
    ),
)
STABLES = _grid({name: SETS[name] for name in ("adult", "digits", "letter", "r8")}, (200_000,), (2.0,))
AUTOS = _grid(
    {name: SETS[name] for name in ("adult", "optdigits", "satimage")}, (200_000, MILLION), (2.0, 4.0)
)


def people_of(study: Study, seed: int, folder: Path) -> tuple[Source, Plan]:
    """Return what people are like, and the plan that they answer."""
    options = {} if study.shape == "broad" else {"shape": study.shape}
    facts = {"clusters": study.clusters, "epsilon": study.epsilon, "expected_users": study.users}
    if study.data == "adult":
        source = Source(records.records(folder), None)
        return source, Plan.design(features=records.SCHEMA, seed=seed, **facts, **options)  # type: ignore[arg-type]
    source = source_of(study, seed, folder, POINTS)
    return source, Plan.design(dimension=source.dimension, seed=seed, **facts, **options)  # type: ignore[arg-type]


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed, with everything that is said."""
    source, plan = people_of(study, seed, folder)
    table = simulate(plan, source.points, study.users, random_state=seed)
    start = time.perf_counter()
    result = decode(table, random_state=seed)
    seconds = time.perf_counter() - start
    best = non_private(source, study.clusters, seed)
    missed = (
        0
        if source.means is None
        else study.clusters - groups_found(result.centers, source.means, 0.5, alone=False)
    )
    return {
        **judged(result, np.asarray(source.points, dtype=np.float64), plan, best),
        "over_one": _over_one(table, result.centers, source),
        "missed": missed,
        "doubted": int(result.supported < study.clusters or any(DOUBT.search(note) for note in result.notes)),
        "seconds": seconds,
    }


def judged(result: Result, points: NDArray[np.float64], plan: Plan, best: NDArray[np.float64]) -> Figures:
    """Compare what a result says with the people, (n, d)."""
    means, shares = true_groups(result, points)
    away = np.linalg.norm(means - result.centers, axis=1)
    wrong = np.abs(shares - result.weights)
    told = [(group, mean) for group, mean in zip(result.groups, means, strict=True) if group.share > 0]
    figures = [
        (estimate.low - 1e-9 <= true <= estimate.high + 1e-9)
        for group, mean in told
        for estimate, true in zip(group.estimates, _true_figures(plan, mean), strict=True)
        if estimate.what in ("value", "share")
    ]
    cost, single = normalized_objective(points, result.centers), one_center(points)
    explained = max(1 - cost / single, 0.0)
    return {
        "dimension": points.shape[1],
        "groups": len(told),
        "held_means": int((away <= result.errors)[: len(told)].sum()),
        "held_shares": int((wrong <= result.weight_errors)[: len(told)].sum()),
        "figures": len(figures),
        "held_figures": int(sum(figures)),
        "radius": float(np.median(result.errors)) / plan.radius,
        "radius_over_true": float(np.median(result.errors) / np.quantile(away, 0.9)),
        "needed_radius": float(np.quantile(away / result.errors, 0.9)),
        "needed_share": float(
            np.quantile((wrong / np.maximum(result.weight_errors, 1e-9))[: len(told)], 0.9)
        ),
        "explained_held": int(result.explained.low <= explained <= result.explained.high),
        "explained_said": result.explained.value,
        "explained_true": explained,
        "explained_wide": result.explained.high - result.explained.low,
        "recovered": recovered(cost, one_center=single, non_private=normalized_objective(points, best)),
        "clear": result.supported,
        "notes": len(result.notes),
        "alternatives": len(result.alternatives),
    }


def _true_figures(plan: Plan, mean: NDArray[np.float64]) -> list[float]:
    if plan.features is None:
        return [float(value) for value in mean]
    return [estimate.value for estimate in plan.features.describe_point(mean)]


def _over_one(table: object, centers: NDArray[np.float64], source: Source) -> float:
    views = rows_of_all([table])  # type: ignore[list-item]
    plan = table.plan  # type: ignore[attr-defined]
    middle = shrunk_mean(views)[None] * plan.radius + (0.0 if plan.center is None else np.array(plan.center))
    return normalized_objective(source.points, centers) / normalized_objective(source.points, middle)


def play_floor(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study without errors: what it costs beside one center."""
    source, plan = people_of(study, seed, folder)
    table = simulate(plan, source.points, study.users, random_state=seed)
    views = rows_of_all([table])
    if any(view.halfspaces for view in views) or plan.dimension <= 12:
        solution = explain(views, study.clusters, np.random.default_rng(seed), repeats=0)
        centers = solution.centers * plan.radius + (0.0 if plan.center is None else np.array(plan.center))
        clear = int(solution.supported.sum())
    else:
        result = decode(table, random_state=seed)
        centers, clear = result.centers, result.supported
    return {"over_one": _over_one(table, centers, source), "clear": clear}


def play_stable(study: Study, seed: int, folder: Path) -> Figures:
    """Decode one table: with a seed of its own, or without one of ten hundredths of its reports."""
    source, plan = people_of(study, FIRST, folder)  # the same for all
    number = (seed - harness.FIRST_SEED) % 20
    table = simulate(plan, source.points, study.users * 9 // 10, random_state=FIRST)
    for part in range(10):
        if part != number - 10:
            table.merge(simulate(plan, source.points, study.users // 100, random_state=FIRST + 1 + part))
    result = decode(table, random_state=number)
    return {
        "left_out": int(number >= 10),
        "centers": np.round(result.centers, 3).tolist(),  # to match groups by
        "radii": result.errors.tolist(),
        "explained": result.explained.value,
    }


def play_auto(study: Study, seed: int, folder: Path) -> Figures:
    """Let the reports choose the number of groups."""
    source, plan = people_of(study, seed, folder)
    table = simulate(plan, source.points, study.users, random_state=seed)
    result = decode(table, clusters="auto", random_state=seed)
    best = non_private(source, len(result.centers), seed)
    return {
        "clusters": len(result.centers),
        "over_non_private": normalized_objective(source.points, result.centers)
        / normalized_objective(source.points, best),
        "may_be_fewer": sum("may be" in note for note in result.notes),
    }


def auto_tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return which numbers of groups were chosen, as Markdown."""
    rows = []
    for study in grid:
        if some := runs[study.name]:
            over = [float(run["over_non_private"]) for run in some]
            chosen = ", ".join(str(run["clusters"]) for run in some)
            mean = f"{np.mean(over):.3f} {harness.tick(CHOSEN.met(float(np.mean(over))))}"
            doubts = sum(run["may_be_fewer"] for run in some)
            rows.append(
                [study.name, chosen, mean, f"{max(over):.3f}", f"{doubts} {harness.tick(not doubts)}"]
            )
    return harness.table(
        ["study", "k chosen", "cost over non-private", "worst", "groups that may be one"], rows
    )


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return what held, pooled over all studies of a set, as Markdown."""
    by_set: dict[str, list[Figures]] = {}
    for study in grid:
        by_set.setdefault(study.name.rsplit("-", 3)[0], []).extend(runs[study.name])
    rows = [_row(name, some, HELD) for name, some in by_set.items() if some]
    rows.append(_row("**all**", [run for some in by_set.values() for run in some], HELD_ALL))
    head = ["set", "runs", "means held", "shares", "figures", "explained", "radius/true", "radius"]
    head += ["recovered", "over one center, worst", "missed: named", "complete: doubted", "notes", "seconds"]
    return harness.table(head, rows)


def _row(name: str, some: Sequence[Figures], bar: Bar) -> list[object]:
    groups, figures = (sum(run[key] for run in some) for key in ("groups", "figures"))

    def held(key: str, of: int) -> str:
        share = sum(run[key] for run in some) / max(of, 1)
        return f"{share:.1%} {harness.tick(bar.met(share))}"

    explained = float(np.mean([run["explained_held"] for run in some]))
    ratio = float(np.median([run["radius_over_true"] for run in some]))
    worst = max(run["over_one"] for run in some)
    missing = [run["doubted"] for run in some if run["missed"]]
    complete = [run["doubted"] for run in some if not run["missed"]]
    return [
        name,
        len(some),
        held("held_means", groups),
        held("held_shares", groups),
        held("held_figures", figures),
        f"{explained:.1%} {harness.tick(EXPLAINED.met(explained))}",
        f"{ratio:.2f} {harness.tick(RADIUS.met(ratio))}",
        f"{np.median([run['radius'] for run in some]):.3f}",
        f"{np.mean([run['recovered'] for run in some]):.3f}",
        f"{worst:.3f} {harness.tick(FLOOR.met(worst))}",
        f"{sum(missing)} of {len(missing)}",
        f"{sum(complete)} of {len(complete)}",
        max(run["notes"] for run in some),
        f"{np.median([run['seconds'] for run in some]):.1f}",
    ]


def floor_tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return the cost over that of one center, the worst studies first, as Markdown."""
    rows = sorted(
        (
            (max(run["over_one"] for run in runs[study.name]), study.name)
            for study in grid
            if runs[study.name]
        ),
        reverse=True,
    )
    above = sum(value > FLOOR.at_most for value, _ in rows)
    shown = [[name, f"{value:.3f} {harness.tick(FLOOR.met(value))}"] for value, name in rows[:15]]
    return f"{above} of {len(rows)} runs above {FLOOR.at_most}\n\n" + harness.table(
        ["study", "over one center"], shown
    )


def stable_tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return by which factor radii vary over decodes of the same people, as Markdown."""
    rows = []
    for study in grid:
        row: list[object] = [study.name]
        for left_out in (0, 1):
            some = [run for run in runs[study.name] if run["left_out"] == left_out]
            if not some:
                continue
            first = np.array(some[0]["centers"])
            radii = np.array([_ordered(run, first) for run in some])  # (runs, k)
            factor = float((radii.max(axis=0) / radii.min(axis=0)).max())
            spread = np.ptp([run["explained"] for run in some])
            row += [len(some), f"{factor:.2f} {harness.tick(STABLE.met(factor))}", f"{spread:.3f}"]
        rows.append(row)
    head = ["study", "seeds", "largest factor", "explained, range"]
    return harness.table([*head, "a hundredth less", "largest factor", "explained, range"], rows)


def _ordered(run: Figures, like: NDArray[np.float64]) -> list[float]:
    """Return the radii in the order of the centers they are matched with: (k,)."""
    told = np.column_stack([np.array(run["centers"]), np.array(run["radii"])])
    padded = np.column_stack([like, np.zeros(len(like))])
    flat = told.copy()
    flat[:, -1] = 0
    order = in_order(np.column_stack([flat[:, :-1], np.arange(len(flat)) * 1e-12]), padded)[:, -1]
    return [float(told[round(place * 1e12), -1]) for place in order]


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "statements.csv", seeds=7)


def main() -> None:
    """Run what is missing of one of the six; each has a file of its own."""
    parser = harness.parser_of(BENCHMARK, __doc__)
    for name in ("calibrate", "elsewhere", "floor", "stable", "auto"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    chosen = BENCHMARK
    if options.calibrate:
        chosen = replace(chosen, grid=CALIBRATION, out=RESULTS / "calibration.csv", first_seed=70_000)
    elif options.elsewhere:
        chosen = replace(chosen, grid=ELSEWHERE, out=RESULTS / "elsewhere.csv")
    elif options.floor:
        chosen = Benchmark(FLOORS, play_floor, floor_tables, RESULTS / "floor.csv", seeds=1)
        options.seeds = 1 if options.seeds == BENCHMARK.seeds else options.seeds
    elif options.stable:
        chosen = Benchmark(STABLES, play_stable, stable_tables, RESULTS / "stable.json", seeds=20)
        options.seeds = 20
    elif options.auto:
        chosen = Benchmark(AUTOS, play_auto, auto_tables, RESULTS / "auto.csv", seeds=3)
        options.seeds = min(options.seeds, 3)
    raise SystemExit(harness.play_grid(chosen, options) > 0)
