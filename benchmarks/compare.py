"""Whether a comparison of labels is right: intervals of differences, false alarms, changes that are seen.

    python -m benchmarks compare [--calibrate] [--seeds 100] [--only NAME …]

Pairs of studies, n people each, groups found on both tables together and read label by label:

*null*      both labels have the same people.
*shift*     5 points of everybody are in another group under the second label: of the demo's habits, one of
            20 %; of real data, of the k groups that k-means finds in the open the one nearest to 20 %.
*means*     under the second label all people differ in three features, by 0.2 deviations.
*people*    Adult: women under one label, men under the other; digits: even and odd numbers of the set.

Adult is asked for seven features with eleven coordinates (*adult*), or for all ten with 26 (*adult-26*).

Held: whether the true difference of the people nearest to the common centers is within its interval, for
shares and for all coordinates of means. *Alarm*: any share is called moved where none did. *Seen*: the two
shares that moved most are called moved, each; *by* is how far they really moved in the groups that were
found, which need not be those that people were moved between. *Forecast* is what `Plan.comparison` says is
seen in four cases of five, beside what the comparison itself said.

`--calibrate` plays null pairs of other data and other seeds (compare_calibration.csv) and prints the
deviation of a share over the noise of its rows, for mixtures and for real data: `READ` of the forecast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness, real_data, records
from benchmarks.harness import RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import Source, non_private, source_of
from benchmarks.statements import OTHERS
from coterie import Plan
from coterie.centers.comparing import compared
from coterie.centers.repeats import own_means
from coterie.centers.solution import squared_distances
from coterie.engines.simulate import simulate
from coterie.features import Schema
from coterie.plan.forecast import READ
from coterie.protocols.codeword.decode import explained
from coterie.show.people import SCHEMA, draw_people

HELD = Bar("held", at_least=0.86, at_most=0.94)
ALARM = Bar("alarm", at_most=0.05)
SEEN = Bar("seen", at_least=0.8)
POINTS = 20_000  # people are like these
SHIFT = 0.05
MOVED = (2, 0)  # from which of the demo's groups to which
TURN = np.array(
    [0.2, 0, 0, 0.2, 0, 0, 0, 0, -0.2]
)  # deviations by which coordinates of the demo's people move
LIKE = 0.2  # share of the group of real data that people are moved from
ELEVEN = Schema(
    tuple(
        feature
        for feature in records.SCHEMA.features
        if feature.name not in ("relationship", "workclass", "race")
    )
)
SCHEMAS = {"demo": SCHEMA, "adult": ELEVEN, "adult-26": records.SCHEMA}


def _study(data: str, kind: str, clusters: int, epsilon: float, users: int) -> Study:
    name = f"{data}-{kind}-eps-{epsilon:g}-{users:.0e}".replace("e+0", "e")
    return Study(name, data=data, users=users, clusters=clusters, epsilon=epsilon, method=kind)


GRID = (
    *(
        _study("demo", kind, 5, epsilon, n)
        for kind in ("null", "shift", "means")
        for epsilon, n in ((2.0, 100_000), (1.0, 300_000))
    ),
    *(
        _study(name, kind, clusters, 2.0, 100_000)
        for name, clusters in (("adult", 5), ("adult-26", 5), ("digits", 10))
        for kind in ("null", "shift", "people")
    ),
)
CALIBRATION = tuple(
    replace(_study(str(about["data"]), "null", 1, epsilon, n), name=name, **about)  # type: ignore[arg-type]
    for data, about in OTHERS.items()
    for epsilon, n in ((2.0, 100_000), (1.0, 1_000_000))
    for name in [f"{data}-eps-{epsilon:g}-{n:.0e}".replace("e+0", "e")]
)


def people_of(
    study: Study, seed: int, folder: Path
) -> tuple[NDArray[np.float64], NDArray[np.float64], Schema | None]:
    """Return what people of both labels are like, (m, d) each, and the features."""
    schema = SCHEMAS.get(study.data)
    if study.data == "demo":
        columns, habits = draw_people(POINTS, np.random.default_rng(seed))
        first = SCHEMA.points(columns)
        away, into = (np.flatnonzero(habits == group) for group in MOVED)
    elif schema is not None:
        first = records.records(folder, schema)
    else:
        first = source_of(study, seed, folder, POINTS).points.astype(np.float64)
    second = first.copy()
    if study.method == "shift":
        if study.data != "demo":
            away, into = _groups(study, folder)
        chosen = np.random.default_rng([seed, 1])
        moving = round(SHIFT * len(first))
        second[chosen.choice(away, moving, replace=False)] = first[chosen.choice(into, moving)]
    elif study.method == "means":
        second += TURN * first.std(axis=0)
    elif study.method == "people":
        one = np.arange(len(first)) % 2 == 0
        if schema is not None:
            one = np.array([each == "Female" for each in real_data.adult(folder)["sex"]])
        return first[one], first[~one], schema
    return first, second, schema


@cache
def _groups(study: Study, folder: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return who is in the group of real data nearest to 20 % of the people, and who in the largest other."""
    schema = SCHEMAS.get(study.data)
    points = real_data.load(study.data, folder) if schema is None else records.records(folder, schema)
    centers = non_private(Source(points, None), study.clusters, 0)
    labels = squared_distances(points, centers).argmin(axis=1)
    counts = np.bincount(labels, minlength=len(centers))
    away = int(np.abs(counts / len(points) - LIKE).argmin())
    counts[away] = 0
    return np.flatnonzero(labels == away), np.flatnonzero(labels == counts.argmax())


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one pair of studies, and compare all that is said with the people."""
    first, second, schema = people_of(study, seed, folder)
    about = {"dimension": first.shape[1]} if schema is None else {"features": schema}
    plans = [
        Plan.design(
            clusters=study.clusters,
            epsilon=study.epsilon,
            expected_users=study.users,
            seed=2 * seed + i,
            **about,
        )
        for i in (0, 1)
    ]
    labels = [(first, plans[0]), (second, plans[1])]
    tables = [
        simulate(plan, points, study.users, random_state=2 * seed + i)
        for i, (points, plan) in enumerate(labels)
    ]
    rng = np.random.default_rng(seed)
    solution = explained(tables, study.clusters, rng, repeats=0)
    told = compared(("one", "other"), [[table] for table in tables], solution, rng)
    centers, radius = told.result.centers, plans[0].radius
    means, shares = zip(*(_true(points, centers, radius) for points in (first, second)), strict=True)
    wanted = shares[1] - shares[0]
    held = [each.low <= wanted[each.group] <= each.high for each in told.differences]
    figures = _held_figures(told, means)
    moved = np.array([each.moved for each in told.differences] or [False])
    changed = np.argsort(-np.abs(wanted))[: 2 if study.method == "shift" else 0]
    return {
        "shares": len(held),
        "held_shares": int(sum(held)),
        "figures": len(figures),
        "held_figures": int(sum(figures)),
        "none": int(study.method == "null"),
        "alarm": int(study.method == "null" and moved.any()),
        "figure_alarm": int(study.method == "null" and any(each.moved for each in told.figures)),
        "changed": len(changed),
        "seen": int(moved[changed].sum()),
        "by": float(np.abs(wanted[changed]).mean()) if len(changed) else np.nan,
        "said": told.visible[0] if told.differences else np.nan,
        "forecast": plans[0].comparison(kind=_kind(study)).seen,
    }


def _true(
    points: NDArray[np.float64], centers: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    lengths = np.linalg.norm(points, axis=1) / radius
    inside = points / np.maximum(lengths, 1.0)[:, None]
    return own_means((inside, np.ones(len(points))), centers)


def _held_figures(told: object, means: Sequence[NDArray[np.float64]]) -> list[bool]:
    """Return which intervals hold the difference of the true means' own figures."""
    from coterie.centers.comparing import _apart, _Place

    schema, nothing = told.result.features, np.zeros((means[0].shape[1],) * 2)  # type: ignore[attr-defined]
    held, figures = [], iter(told.figures)  # type: ignore[attr-defined]
    for before, after in zip(*means, strict=True):
        for _, _, _, _, true, _, _ in _apart(schema, _Place(before, nothing), _Place(after, nothing)):
            stated = next(figures)
            held.append(stated.low - 1e-9 <= true <= stated.high + 1e-9)
    return held


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return what held, study by study, as Markdown."""
    rows = [_row(study.name, runs[study.name]) for study in grid if runs[study.name]]
    rows.append(_row("**all**", [run for study in grid for run in runs[study.name]]))
    head = ["study", "pairs", "shares held", "figures held", "alarm", "alarm, figures", "seen"]
    return harness.table([*head, "by, points", "seen in 4 of 5: said", "forecast"], rows)


def _row(name: str, some: Sequence[Figures]) -> list[object]:
    def rate(key: str, of: str, bar: Bar) -> str:
        total = sum(run[of] for run in some)
        if not total:
            return "–"
        share = sum(run[key] for run in some) / total
        return f"{share:.1%} {harness.tick(bar.met(share))}"

    def points(key: str) -> str:
        some_of = [value for run in some if not np.isnan(value := float(run.get(key, np.nan)))]
        return f"{100 * np.median(some_of):.1f}" if some_of else "–"

    return [
        name,
        len(some),
        rate("held_shares", "shares", HELD),
        rate("held_figures", "figures", HELD),
        rate("alarm", "none", ALARM),
        rate("figure_alarm", "none", ALARM),
        rate("seen", "changed", SEEN),
        points("by"),
        points("said"),
        points("forecast"),
    ]


def _kind(study: Study) -> str:
    return "separated" if study.data in ("demo", "mixture") else "real"


def read_tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return a share's deviation over the noise of its rows, of mixtures and of real data, as Markdown."""
    rows, found = [], dict[str, list[float]]()
    for study in grid:
        some = [run for run in runs[study.name] if not np.isnan(run["said"])]
        each = [run["said"] / run["forecast"] * READ[_kind(study)] for run in some]
        if each:
            found.setdefault(_kind(study), []).append(float(np.median(each)))
            rows.append([study.name, len(each), _kind(study), f"{np.median(each):.2f}"])
    rows += [
        ["**median of studies**", len(some), kind, f"**{np.median(some):.2f}**, in use {READ[kind]:g}"]
        for kind, some in found.items()
    ]
    return harness.table(["study", "pairs", "kind", "deviation over noise"], rows)


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "compare.csv", seeds=100)


def main() -> None:
    """Run what is missing of one of the two; each has a file of its own."""
    parser = harness.parser_of(BENCHMARK, __doc__)
    parser.add_argument("--calibrate", action="store_true")
    options, chosen = parser.parse_args(), BENCHMARK
    if options.calibrate:
        out = RESULTS / "compare_calibration.csv"
        chosen = Benchmark(CALIBRATION, play, read_tables, out, seeds=5, first_seed=70_000)
        options.seeds = min(options.seeds, 5)
    raise SystemExit(harness.play_grid(chosen, options) > 0)
