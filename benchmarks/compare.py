"""Whether a comparison of labels is right: intervals of differences, false alarms, changes that are seen.

    python -m benchmarks compare [--seeds 100] [--only NAME …]

Pairs of studies, n people each, groups found on both tables together and read label by label:

*null*      both labels have the same people.
*shift*     of the demo's people, 5 points of one group of 20 % are in another under the second label.
*means*     under the second label all people differ in three features, by 0.2 deviations.
*people*    Adult: women under one label, men under the other; digits: even and odd numbers of the set.

Held: whether the true difference of the people nearest to the common centers is within its interval, for
shares and for all coordinates of means. *Alarm*: any share is called moved where none did. *Seen*: the two
shares that did are, each. *Forecast* is what `Plan.comparison` says is seen in four cases of five, beside
what the comparison itself said.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness, real_data, records
from benchmarks.harness import RESULTS, Bar, Benchmark, Figures, Runs, Study
from coterie import Plan
from coterie.centers.comparing import compared
from coterie.centers.repeats import own_means
from coterie.engines.simulate import simulate
from coterie.features import Schema
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
KINDS = ("null", "shift", "means")
GRID = (
    *(
        Study(
            f"demo-{kind}-eps-{epsilon:g}-{n:.0e}".replace("e+0", "e"),
            data="demo",
            users=n,
            clusters=5,
            epsilon=epsilon,
            method=kind,
        )
        for kind in KINDS
        for epsilon, n in ((2.0, 100_000), (1.0, 300_000))
    ),
    *(
        Study(f"{name}-{kind}-eps-2", data=name, users=100_000, clusters=clusters, epsilon=2.0, method=kind)
        for name, clusters in (("adult", 4), ("digits", 10))
        for kind in ("null", "people")
    ),
)


def people_of(
    study: Study, seed: int, folder: Path
) -> tuple[NDArray[np.float64], NDArray[np.float64], Schema | None]:
    """Return what people of both labels are like, (m, d) each, and the features."""
    rng = np.random.default_rng(seed)
    if study.data == "demo":
        columns, habits = draw_people(POINTS, rng)
        first = SCHEMA.points(columns)
        second = first.copy()
        if study.method == "shift":
            away, into = (np.flatnonzero(habits == group)[: round(SHIFT * POINTS)] for group in MOVED)
            second[away] = first[into]
        elif study.method == "means":
            second += TURN * first.std(axis=0)
        return first, second, SCHEMA
    if study.data == "adult":
        points, schema = records.records(folder), records.SCHEMA
        one = np.array([each == "Female" for each in real_data.adult(folder)["sex"]])
    else:
        points, schema = real_data.load(study.data, folder), None
        one = np.arange(len(points)) % 2 == 0
    if study.method == "null":
        return points, points, schema
    return points[one], points[~one], schema


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
        "said": told.visible[0] if told.differences else np.nan,
        "forecast": plans[0].comparison().seen,
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
    return harness.table([*head, "seen in 4 of 5: said", "forecast"], rows)


def _row(name: str, some: Sequence[Figures]) -> list[object]:
    def rate(key: str, of: str, bar: Bar) -> str:
        total = sum(run[of] for run in some)
        if not total:
            return "–"
        share = sum(run[key] for run in some) / total
        return f"{share:.1%} {harness.tick(bar.met(share))}"

    said, forecast = (float(np.nanmedian([run[key] for run in some])) for key in ("said", "forecast"))
    return [
        name,
        len(some),
        rate("held_shares", "shares", HELD),
        rate("held_figures", "figures", HELD),
        rate("alarm", "none", ALARM),
        rate("figure_alarm", "none", ALARM),
        rate("seen", "changed", SEEN),
        f"{100 * said:.1f} points",
        f"{100 * forecast:.1f} points",
    ]


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "compare.csv", seeds=100)
