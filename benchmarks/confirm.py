"""Whether what a wave that confirms says is true: intervals, sets that hold at once, sizes of tests.

    python -m benchmarks confirm [--seeds 6] [--only NAME …]

Ten real sets; the people of the second wave are drawn from them, and asked about published centers of four
kinds:

*found*     what a first wave of a third of the people gives, by the product's own path.
*nonsense*  random places of the ball, or random people.
*null*      two centers that cut everybody in two, so far apart that one between them would explain as much,
            and two that nobody is nearest to: what the tests must reject as often as their size says. Eight
            plans a run.
*reports*   nonsense again, with every report made and read (20,000 people) where others draw the table from
            its law.

Of every figure: is the truth of the people nearest to the published center within its interval? All at 90 %.
*Said* leaves out intervals that are the whole range, of groups too small to be seen. *Better* is the squared
error of the centers over that of the published ones, and over that of the second wave's own means.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness, records
from benchmarks.harness import RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import source_of
from coterie import Plan, Result, decode
from coterie.centers.explain import explain
from coterie.centers.repeats import own_means
from coterie.engines.simulate import simulate
from coterie.protocols.codeword.decode import rows_of_all

POINTS = 4_000  # people are like these
USERS = 100_000
MADE = 20_000  # reports, where they are made
FIRST_WAVE = 0.35
NULLS = 8  # plans of a run whose null hypotheses are true
KINDS = ("found", "nonsense", "null", "reports")
HELD = Bar("held", at_least=0.88, at_most=0.92)
AT_ONCE = Bar("at once", at_least=0.86, at_most=0.97)
SIZE = Bar("rejected", at_least=0.03, at_most=0.07)
SETS = {
    **{"digits": 10, "optdigits": 10, "letter": 10, "penbased": 10, "satimage": 7, "texture": 8},
    **{"segment": 7, "magic": 6, "spambase": 6, "adult": 4},
}
GRID = tuple(
    Study(
        f"{name}-{kind}-eps-{epsilon:g}",
        data=name,
        users=MADE if kind == "reports" else USERS,
        clusters=4 if kind == "null" else clusters,
        epsilon=epsilon,
        method=kind,
    )
    for name, clusters in SETS.items()
    for kind in KINDS
    for epsilon in (1.0, 4.0)
)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed, and compare all that it says with the people."""
    rng = np.random.default_rng([seed, zlib.crc32(study.name.encode())])
    points = people_of(study, seed, folder)
    about = {"features": records.SCHEMA} if study.data == "adult" else {"dimension": points.shape[1]}
    facts = {"clusters": study.clusters, "epsilon": study.epsilon, "seed": int(rng.integers(1 << 31))}
    first = Plan.design(expected_users=study.users, **about, **facts)  # type: ignore[arg-type]
    points = drawn_in(points, first.radius)
    total: Figures = {}
    for _ in range(NULLS if study.method == "null" else 1):
        centers = {"found": found, "null": null}.get(study.method, nonsense)(study, first, points, rng)
        plan = first.follow_up(published(first, centers), study.users, confirm=True)
        how = "reports" if study.method == "reports" else "law"
        table = simulate(plan, points, study.users, random_state=int(rng.integers(1 << 31)), by=how)
        figures = judged(plan, decode(table), points, null_of_both=study.method == "null")
        total = {name: total.get(name, 0) + value for name, value in figures.items()}
    return total


def people_of(study: Study, seed: int, folder: Path) -> NDArray[np.float64]:
    """Return what people are like, at most `POINTS` of them: (m, d)."""
    source = records.records(folder) if study.data == "adult" else source_of(study, seed, folder).points
    chosen = np.random.default_rng(seed).permutation(len(source))[:POINTS]
    return np.asarray(source[np.sort(chosen)], dtype=np.float64)


def drawn_in(points: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Return points as devices have them: (m, d)."""
    lengths = np.linalg.norm(points, axis=1) / radius
    return points / np.maximum(lengths, 1.0)[:, None]


def published(plan: Plan, centers: NDArray[np.float64]) -> Any:
    """Return a first wave's result, as far as a plan that confirms needs it."""
    population = SimpleNamespace(
        points=centers, weights=np.ones(len(centers)), scatter=0.0, study_id=plan.id, plan_ids=(plan.id,)
    )
    about = {"middle": plan.center, "radius": plan.radius, "features": plan.features}
    return SimpleNamespace(centers=centers, population=population, **about)


def found(
    study: Study, plan: Plan, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return what a first wave finds; without its errors, which nothing here reads."""
    people = round(FIRST_WAVE / (1 - FIRST_WAVE) * study.users)
    table = simulate(plan, points, people, random_state=int(rng.integers(1 << 31)))
    return explain(rows_of_all([table]), study.clusters, rng, repeats=0).centers * plan.radius


def nonsense(
    study: Study, plan: Plan, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return random places of the ball, or random people."""
    if rng.integers(2):
        return points[rng.choice(len(points), study.clusters, replace=False)]
    places = rng.standard_normal((study.clusters, plan.dimension))
    places *= 0.5 * plan.radius * rng.random((study.clusters, 1)) / np.linalg.norm(places, axis=1)[:, None]
    return np.asarray(places + points.mean(axis=0))


def null(
    study: Study, plan: Plan, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return two centers that one would replace without loss, and two that nobody is nearest to."""
    del study
    middle, line = points.mean(axis=0), rng.standard_normal(plan.dimension)
    line /= np.linalg.norm(line)
    ahead = (points - middle) @ line > 0
    gap = float((points[ahead].mean(axis=0) - points[~ahead].mean(axis=0)) @ line)
    pair = np.array([middle + gap * line, middle - gap * line])
    while True:
        far = rng.standard_normal((2, plan.dimension))
        centers = np.vstack([pair, far * plan.radius / np.linalg.norm(far, axis=1)[:, None]])
        if not own_means((points, np.ones(len(points))), centers)[1][2:].any():
            return centers


def judged(plan: Plan, result: Result, points: NDArray[np.float64], *, null_of_both: bool) -> Figures:
    """Compare what is confirmed with the people, (m, d)."""
    told, centers = result.confirmed, plan.published
    assert told is not None
    assert centers is not None
    means, shares = own_means((points, np.ones(len(points))), centers)
    there = [group for group in told.groups if shares[group.number] > 0]  # of nobody there is no mean
    truths = {group.number: _true_figures(plan, means[group.number]) for group in there}
    whole = [
        estimate.high - estimate.low
        for estimate in _true_figures(plan, np.zeros(plan.dimension), anywhere=True)
    ]
    figures, said = [], []
    for group in there:
        for width, stated, true in zip(whole, group.estimates, truths[group.number], strict=True):
            if stated.what == "concentration" or stated.low > stated.high:  # a cycle's hold more often
                continue
            inside = stated.low - 1e-9 <= true.value <= stated.high + 1e-9
            figures.append(inside)
            if stated.high - stated.low < 0.999 * width:
                said.append(inside)
    at_once = all(
        group.share_together.low <= shares[group.number] <= group.share_together.high for group in told.groups
    ) and all(
        stated.low - 1e-9 <= true.value <= stated.high + 1e-9
        for group in there
        for stated, true in zip(group.together, truths[group.number], strict=True)
        if stated.low <= stated.high
    )
    held_shares = [group.share.low <= shares[group.number] <= group.share.high for group in told.groups]
    own = np.array([_own(result, group.number) for group in there])
    places = [group.number for group in there]
    weights = shares[places]
    errors = [
        float(weights @ ((each - means[places]) ** 2).sum(axis=1))
        for each in (result.centers[places], centers[places], own)
    ]
    away = np.linalg.norm(result.centers[places] - means[places], axis=1)
    empties = [group.empty < told.level for group in told.groups if shares[group.number] == 0]
    return {
        "studies": 1,
        "figures": len(figures),
        "held_figures": int(np.sum(figures)),
        "said": len(said),
        "held_said": int(np.sum(said)),
        "shares": len(held_shares),
        "held_shares": int(np.sum(held_shares)),
        "at_once": int(at_once),
        "groups": len(there),
        "held_radii": int((away <= result.errors[places]).sum()),
        "empty_nulls": len(empties),
        "empty_rejected": int(np.sum(empties)),
        "one_nulls": int(null_of_both),
        "one_rejected": int(null_of_both and told.pairs[0].one < told.level),
        "error_both": errors[0],
        "error_published": errors[1],
        "error_own": errors[2],
    }


def _true_figures(plan: Plan, mean: NDArray[np.float64], *, anywhere: bool = False) -> list[Any]:
    """Return the figures of a mean; with intervals that hold everything if it may be anywhere."""
    if plan.features is not None:
        error = (4 * plan.radius) ** 2 if anywhere else None
        return list(plan.features.describe_point(mean, error))
    ends = plan.radius if anywhere else 0.0
    return [SimpleNamespace(value=float(x), low=float(x) - ends, high=float(x) + ends) for x in mean]


def _own(result: Result, group: int) -> NDArray[np.float64]:
    """Return the second wave's mean of a group by itself; the published center where it sees nobody."""
    assert result.confirmed is not None
    return np.asarray(result.confirmed.groups[group].mean)


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return what held, by set and by kind, as Markdown."""
    parts = []
    for title, key in (("set", lambda study: study.data), ("centers", lambda study: study.method)):
        by_key: dict[str, list[Figures]] = {}
        for study in grid:
            by_key.setdefault(key(study), []).extend(runs[study.name])
        rows = [_row(name, some) for name, some in by_key.items() if some]
        rows.append(_row("**all**", [run for some in by_key.values() for run in some]))
        head = [title, "studies", "intervals", "held", "said", "held", "shares held", "at once", "radii held"]
        head += ["empty: rejected", "one: rejected", "error/published", "error/own"]
        parts.append(harness.table(head, rows))
    return "\n\n".join(parts)


def _row(name: str, some: Sequence[Figures]) -> list[object]:
    def rate(key: str, of: str, bar: Bar | None = None) -> str:
        total = sum(run[of] for run in some)
        if not total:
            return "–"
        share = sum(run[key] for run in some) / total
        return f"{share:.1%}" + (f" {harness.tick(bar.met(share))}" if bar else "")

    both, published_, own = (
        np.array([run[f"error_{name}"] for run in some]) for name in ("both", "published", "own")
    )
    return [
        name,
        sum(run["studies"] for run in some),
        sum(run["figures"] for run in some),
        rate("held_figures", "figures", HELD),
        sum(run["said"] for run in some),
        rate("held_said", "said", HELD),
        rate("held_shares", "shares", HELD),
        rate("at_once", "studies", AT_ONCE),
        rate("held_radii", "groups"),
        rate("empty_rejected", "empty_nulls", SIZE),
        rate("one_rejected", "one_nulls", SIZE),
        f"{np.median(both / published_):.2f}",
        f"{np.median(both / own):.2f}",
    ]


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "confirm.csv", seeds=6)
