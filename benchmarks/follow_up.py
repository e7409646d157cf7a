"""What a first wave knows of the ball and of the directions that the next plan asks about.

    python -m benchmarks follow_up [--directions | --questions] [--seeds 1] [--only NAME …]

Where the constants of `plan/follow_up.py` and `centers/directions.py` come from. A first wave of calibration
data (none that is reported on) is decoded without repeated fits, and compared with its people:

*off*      the ball's center from everybody's mean, over √d·deviation of the mean that the rows tell
*wide*     the population's spread, E|x - mean|², over the true one
*held*     share of the people within 1, 1.1 and 1.2 times the root of the population's mean square distance
           from its mean, and half of what is not known of that added; in few dimensions within the ball
           that is to hold 97 %
*between*  of people's spread outside the twelve directions in which they differ most: what lies between
           the groups of non-private k-means

`--directions` decodes nothing (directions.csv): of what lies between those groups, which part the twelve
directions hold that halfspaces name, that halfspaces and the second moment of the same reports name
(`centers.spectrum`), and the best.

`--questions` asks the others, half of the people or more, everything that may be asked, whatever the
plan would choose, and compares what both waves recover with one round of as many (questions.csv). Ways are
compared, not decoders: for time each fit is one population of 1,000 atoms, without repeats.

*part*        of the people who answered first
*edge*        of the noise in the first wave, over people's spread: how well directions are known
*groups*      found by the first wave; 1 where it told none apart
*alpha*       how far the first wave's rows trust round groups; NaN where nothing stood clear of the noise
*sure*        whether it found round groups beyond doubt
*suits*       radius of the ball that the first wave suggests, over the first one
*inside*      spread that the population of both waves has inside the directions, over the true one
*whole*       people's spread by the lengths of whole points alone, over the true one
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import harness, statements
from benchmarks.harness import MILLION, RESULTS, Benchmark, Figures, Runs, Study
from benchmarks.poisoned_waves import found_by
from benchmarks.populations import non_private, one_center
from coterie import Aggregate, Plan, Result
from coterie.centers import explain, population
from coterie.centers.directions import spread
from coterie.centers.evidence import Evidence
from coterie.centers.population import shrunk_mean
from coterie.centers.repeats import own_means
from coterie.centers.spectrum import FLAT, spectrum
from coterie.engines.simulate import simulate
from coterie.geometry.ball import SCALE
from coterie.metrics import normalized_objective, recovered
from coterie.plan import follow_up
from coterie.plan.follow_up import FEW, ball_after, unsure_center
from coterie.protocols.codeword.oracles.rows import mean_rest, rows_of
from coterie.protocols.codeword.table import CodewordTable

SAMPLE = 6_000  # people are like these, where nothing is decoded
MARGINS = (1.0, 1.1, 1.2)
SETS = {
    **{"segment": 7, "spambase": 6, "ring": 4, "movement_libras": 8, "wdbc": 4},
    **{"sonar": 5, "ionosphere": 5, "vehicle": 5, "magic": 6, "phoneme": 5},
}
GRID = (
    *(
        Study(f"{name}-{people // 1000}k-eps-2", name, people, clusters, 2.0)
        for name, clusters in SETS.items()
        for people in (10_000, 50_000)
    ),
    *(  # off the middle
        Study(f"mixed-{d}-10k-eps-1", "mixture", 10_000, 4, 1.0, dimension=d, separation=8.0)
        for d in (20, 30)
    ),
)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one first wave, and compare what it knows with its people."""
    source, plan = statements.people_of(study, seed, folder)
    points = np.asarray(source.points, dtype=np.float64)
    found = found_by(simulate(plan, points, study.users, random_state=seed), seed)
    center, radius = ball_after(found)
    shares, places = found.population.weights, found.population.points
    shares = shares / shares.sum()
    spread = float(shares @ ((places - shares @ places) ** 2).sum(axis=1)) + found.population.scatter
    away = np.linalg.norm(points - np.array(center), axis=1)
    mean = points.mean(axis=0)
    unsure = unsure_center(found)
    reach = [math.hypot(margin * math.sqrt(spread), unsure / 2) for margin in MARGINS]
    few = plan.dimension <= FEW
    held = [float((away <= (radius if few else one)).mean()) for one in reach]
    true = float(((points - mean) ** 2).sum(axis=1).mean())
    return {
        "dimension": plan.dimension,
        "off": float(np.linalg.norm(np.array(center) - mean)) / unsure,
        "wide": spread / true,
        **{f"held_{margin:g}": one for margin, one in zip(MARGINS, held, strict=True)},
        "between": math.nan if few else between_outside(points, non_private(source, study.clusters, seed)),
    }


def between_outside(points: np.ndarray, centers: np.ndarray) -> float:
    """Return which part of people's spread outside the leading directions lies between groups."""
    away = points - points.mean(axis=0)
    lengths = np.maximum(np.linalg.norm(away, axis=1), 1e-12)
    _, axes = np.linalg.eigh((away / lengths[:, None]).T @ away)
    others = axes[:, :-FLAT]
    equal = np.full(len(points), 1 / len(points))
    means, shares = own_means((away, equal), centers - points.mean(axis=0))
    inside = float(shares @ ((means @ others) ** 2).sum(axis=1))
    return inside / float(((away @ others) ** 2).sum(axis=1).mean())


def play_directions(study: Study, seed: int, folder: Path) -> Figures:
    """Play one first wave, and say how much of what tells groups apart lies in the directions it names."""
    source, plan = statements.people_of(study, seed, folder)
    points = np.asarray(source.points, dtype=np.float64)
    away = non_private(source, study.clusters, seed, starts=1) - points.mean(axis=0)
    views = rows_of(_codewords(simulate(plan, points[:SAMPLE], study.users, random_state=seed)))
    (halves,) = (view for view in views if view.halfspaces)
    about = shrunk_mean(views), 1 - mean_rest(views) ** 2
    named = {
        "halfspaces": spectrum([replace(halves, moment=None)], *about).leading,
        "both": spectrum([halves], *about).leading,
        "best": np.linalg.eigh(np.cov(points.T))[1][:, -FLAT:].T,
    }
    return {name: float(((away @ each.T) ** 2).sum() / (away**2).sum()) for name, each in named.items()}


def direction_tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return how much of what tells groups apart directions hold, as Markdown."""
    ways = ("halfspaces", "both", "best")
    rows = [
        [study.name, len(some), *(f"{np.mean([run[way] for run in some]):.2f}" for way in ways)]
        for study in grid
        if (some := runs[study.name])
    ]
    return harness.table(["first wave", "seeds", *ways], rows)


def play_questions(study: Study, seed: int, folder: Path) -> Figures:
    """Ask the others all that may be asked after the first wave, and compare it with one round."""
    source, plan = statements.people_of(study, seed, folder)
    points = np.asarray(source.points, dtype=np.float64)
    best = normalized_objective(points, non_private(source, study.clusters, seed))
    people, others = (round(part * study.users) for part in study.waves)
    weighed: list[Evidence] = []
    weigh = explain.weigh

    def noted(*given: Any) -> Evidence:
        weighed.append(weigh(*given))
        return weighed[-1]

    with patch.object(explain, "MEMBERS", 1), patch.object(population, "ATOMS", 1000):
        one = found_by(simulate(plan, points, study.users, random_state=seed), seed)
        first = simulate(plan, points, people, random_state=100 * seed)
        with patch.object(explain, "weigh", noted):
            found, edge = first_wave(first, seed)
        center, radius = ball_after(found)
        figures = {
            **{"part": study.waves[0], "edge": edge, "groups": int((found.weights > 0).sum())},
            "alpha": weighed[0].alpha if weighed else math.nan,
            "sure": int(bool(weighed) and weighed[0].sure),
            **{"suits": radius, "moved": float(np.linalg.norm(center))},
            "held": float((np.linalg.norm(points - np.array(center), axis=1) <= radius).mean()),
        }
        results = {"one_round": one, "first": found}
        for question in WAYS:
            told = follow_up.NextQuestion(question, "played")
            with patch.object(follow_up, "next_question", lambda *_, told=told: told):
                asked = plan.follow_up(found, others)
            both = [first, simulate(asked, points, others, random_state=100 * seed + 1)]
            results[question] = found_by(both, seed)
    gained = {
        name: recovered(
            normalized_objective(points, each.centers), one_center=one_center(points), non_private=best
        )
        for name, each in results.items()
    }
    return {**figures, **gained, **_spreads(first, asked, results["directions"], points)}


def first_wave(table: Aggregate, seed: int) -> tuple[Result, float]:
    """Return what a first wave finds, with directions however well they are known, and the noise's edge."""
    views, found = rows_of(_codewords(table)), found_by(table, seed)
    mean, square = shrunk_mean(views), 1 - mean_rest(views) ** 2
    seen = spectrum([view for view in views if view.halfspaces], mean, square)
    edge = seen.edge / (square - float(mean @ mean))
    return replace(found, population=replace(found.population, directions=seen.leading)), edge


def _spreads(first: Aggregate, asked: Plan, result: Result, points: np.ndarray) -> Figures:
    """Return people's spread inside the directions and in all, as it is told, over the true ones."""
    directions = np.array(asked.directions) / SCALE
    basis = directions / np.sqrt((directions**2).sum(axis=1).mean())  # (m, d)
    away, places = points - points.mean(axis=0), result.population.points
    shares = result.population.weights / result.population.weights.sum()
    inside = float(shares @ (((places - shares @ places) @ basis.T) ** 2).sum(axis=1))
    return {
        "inside": inside / float(((away @ basis.T) ** 2).sum(axis=1).mean()),
        "whole": spread(rows_of(_codewords(first)))[0] / float((away**2).sum(axis=1).mean()),
    }


def _codewords(table: Aggregate) -> CodewordTable:
    assert isinstance(table.table, CodewordTable)
    return table.table


def question_tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return what each question recovers beyond one round, as Markdown, and medians of what it gains."""
    played = [(study.name, run) for study in grid for run in runs[study.name]]
    cases: dict[tuple[object, ...], list[Figures]] = {}
    for name, run in played:
        case = "mixtures" if name.startswith("mixed") else "real", run["part"], run["groups"] > 1
        cases.setdefault(case, []).append(run)
    summary = [
        [kind, part, "groups" if found else "nothing", len(some), *(_gains(some, way) for way in WAYS)]
        for (kind, part, found), some in sorted(cases.items())
    ]
    rows = [
        [
            *(name, run["seed"], f"{run['edge']:.3f}", run["groups"], f"{run['alpha']:.2f}", run["sure"]),
            *(f"{run['suits']:.2f}", f"{run['held']:.0%}", f"{run['first']:.3f}", f"{run['one_round']:.3f}"),
            *(f"{run[way] - run['one_round']:+.3f}" for way in WAYS),
            *(f"{run[key]:.2f}" for key in ("inside", "whole")),
        ]
        for name, run in sorted(played, key=lambda one: (one[1]["groups"] > 1, one[1]["edge"]))
    ]
    head = ["first wave", "seed", "edge", "groups", "alpha", "sure", "suits", "held", "first", "one round"]
    everything = harness.table([*head, *WAYS, "inside", "whole"], rows)
    return f"{everything}\n\n{harness.table(['people', 'part', 'found', 'runs', *WAYS], summary)}"


def _gains(some: Sequence[Figures], way: str) -> str:
    """Return the median of what a question gains over one round, and of how many runs it costs 0.02."""
    gains = [run[way] - run["one_round"] for run in some]
    return f"{np.median(gains):+.3f}, {sum(gain < -0.02 for gain in gains)} lose"


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return what was known, as Markdown: medians, and the least of what was held."""
    rows = []
    played = [run for study in grid for run in runs[study.name]]
    for name, few in (("more than 12 dimensions", False), ("at most 12", True)):
        some = [run for run in played if (run["dimension"] <= FEW) is few]
        if some:
            middle = {key: float(np.nanmedian([run[key] for run in some])) for key in ("off", "wide")}
            held = [[run[f"held_{margin:g}"] for run in some] for margin in MARGINS]
            between = [run["between"] for run in some if run["between"] == run["between"]]
            uneven = float(np.std([run["wide"] for run in some]))
            rows.append(
                [
                    name, len(some), f"{middle['off']:.2f}", f"{middle['wide']:.2f} ± {uneven:.2f}",
                    *(f"{np.median(one):.0%}, {min(one):.0%}" for one in held),
                    f"{np.median(between):.2f}" if between else "-",
                ]
            )  # fmt: skip
    head = ["first waves", "runs", "off", "wide", *(f"held by {margin:g}" for margin in MARGINS), "between"]
    return harness.table(head, rows)


DIRECTIONS = tuple(
    Study(f"{name}-{people // 1000}k-eps-{epsilon:g}", name, people, SETS[name], epsilon)
    for name in ("movement_libras", "spambase", "sonar", "wdbc", "ionosphere")
    for people, epsilon in ((50_000, 1.0), (50_000, 2.0), (50_000, 4.0))
)
ASKED: dict[str, dict[str, object]] = {  # of more than twelve dimensions
    **{
        name: about
        for name, about in statements.OTHERS.items()
        if name not in ("magic", "phoneme", "mixed-10")
    },
    **{
        name: {"data": name, "clusters": clusters}
        for name, clusters in (
            *(("credit", 6), ("celeba", 6), ("faces", 6), ("health", 6), ("crime", 6), ("patches", 8)),
            *(("twonorm", 2), ("marketing", 6)),
        )
    },
    "mixed-40": {"data": "mixture", "clusters": 16, "separation": 6.0, "dimension": 40},
    "mixed-80": {"data": "mixture", "clusters": 5, "separation": 50.0, "dimension": 80},
}
PARTS = {"": (0.5, 0.5), "-third": (0.3, 0.7), "-tenth": (0.1, 0.9)}
HALVES, THIRD, TENTH = PARTS
WAYS = ("ball", "directions")
QUESTIONS = tuple(
    Study(
        f"{name}-{users:.0e}-eps-{epsilon:g}{part}".replace("e+0", "e"),
        users=users, epsilon=epsilon, waves=PARTS[part], **about,  # type: ignore[arg-type]
    )
    for users, epsilon, part in (
        *((100_000, 2.0, HALVES), (100_000, 1.0, HALVES), (MILLION, 1.0, HALVES), (100_000, 4.0, HALVES)),
        *((100_000, 1.0, THIRD), (100_000, 2.0, TENTH), (100_000, 2.0, THIRD), (30_000, 1.0, HALVES)),
    )
    for name, about in ASKED.items()
)  # fmt: skip
BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "follow_up.csv", seeds=1, first_seed=1000)


def main() -> None:
    """Run what is missing of one of the three."""
    parser = harness.parser_of(BENCHMARK, __doc__)
    for name in ("directions", "questions"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    chosen = BENCHMARK
    if options.directions:
        chosen = replace(
            BENCHMARK,
            grid=DIRECTIONS,
            play=play_directions,
            tables=direction_tables,
            out=RESULTS / "directions.csv",
        )
    elif options.questions:
        out = RESULTS / "questions.csv"
        chosen = Benchmark(QUESTIONS, play_questions, question_tables, out, seeds=1, first_seed=20_000)
    raise SystemExit(harness.play_grid(chosen, options) > 0)
