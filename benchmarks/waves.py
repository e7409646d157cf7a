"""What other people add: waves, each asked what the earlier ones' results make the best question.

    python -m benchmarks waves [--seeds 8] [--only NAME …]

Tables are drawn by their law. Every study is played twice with as many people: in one round, and in waves,
each plan designed after the result of those before (`Plan.follow_up`) and all tables decoded together.
*Recovered* is the share of the way from one center to non-private k-means; *gain* is that of the waves less
that of one round. *Directions* counts the studies whose last plan asked for directions. Of the waves' result
it is told what held, as in `benchmarks statements`: means, shares and figures of the people nearest to each
center, all at 90 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import harness, statements
from benchmarks.harness import MILLION, RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.populations import non_private, one_center
from coterie import decode
from coterie.centers.explain import explain
from coterie.engines.simulate import simulate
from coterie.metrics import normalized_objective, recovered
from coterie.protocols.codeword.decode import rows_of_all

HALVES = (0.5, 0.5)
BALL_FIRST = (0.1, 0.45, 0.45)


def _recovered(least: float) -> Bar:
    return Bar("recovered", at_least=least)


def _gain(least: float) -> Bar:
    return Bar("gain", at_least=least)


GRID = (
    Study("digits-1e5-eps-2", "digits", 100_000, 10, 2, waves=HALVES, bar=_recovered(0.60)),
    Study("digits-1e6-eps-4", "digits", MILLION, 10, 4, waves=HALVES, bar=_recovered(0.92)),
    Study("optdigits-1e5-eps-2", "optdigits", 100_000, 10, 2, waves=HALVES, bar=_gain(0.03)),
    Study("r100-1e6-eps-1", "mixture", MILLION, 8, waves=HALVES, bar=_gain(-0.01)),
    Study("r8-1e6-eps-1", "mixture", MILLION, 8, separation=8, waves=HALVES, bar=_gain(-0.01)),
    Study(
        "digits-off-1e6-eps-1", "digits-off", MILLION, 10, 1, waves=BALL_FIRST,
        bar=_recovered(0.65), worst=_recovered(0.45),
    ),
    Study(
        "digits-off-1e6-eps-2", "digits-off", MILLION, 10, 2, waves=BALL_FIRST,
        bar=_recovered(0.83), worst=_recovered(0.45),
    ),
    Study("letter-1e5-eps-2", "letter", 100_000, 10, 2, waves=HALVES),
    Study("texture-1e5-eps-2", "texture", 100_000, 8, 2, waves=HALVES),
    Study("satimage-1e5-eps-1", "satimage", 100_000, 7, 1, waves=HALVES),
)  # fmt: skip


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed, in one round and in waves."""
    source, plan = statements.people_of(study, seed, folder)
    points = np.asarray(source.points, dtype=np.float64)
    best = non_private(source, study.clusters, seed)
    whole = simulate(plan, points, study.users, random_state=seed)
    single = explain(rows_of_all([whole]), study.clusters, np.random.default_rng(seed), repeats=0)
    centers = single.centers * plan.radius  # the ball's center is the origin
    tables, asked = [], plan
    for number, share in enumerate(study.waves):
        people = round(share * study.users)
        if tables:
            asked = asked.follow_up(decode(tables, random_state=seed), people)
        tables.append(simulate(asked, points, people, random_state=100 * seed + number))
    result = decode(tables, random_state=seed)
    told = statements.judged(result, points, plan, best)
    one = recovered(
        normalized_objective(points, centers),
        one_center=one_center(points),
        non_private=normalized_objective(points, best),
    )
    return {**told, "one_round": one, "gain": told["recovered"] - one, "asked": asked.coordinates}


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return what waves add, as Markdown."""
    rows = []
    for study in grid:
        if not (some := runs[study.name]):
            continue
        groups, figures = (sum(run[key] for run in some) for key in ("groups", "figures"))
        means = {
            key: float(np.mean([run[key] for run in some])) for key in ("recovered", "one_round", "gain")
        }
        worst = min(run["recovered"] for run in some)
        bars = [study.bar.shown(means[study.bar.figure])] if study.bar else []
        bars += [f"worst {study.worst.shown(worst)}"] if study.worst else []
        held = [f"{sum(run[f'held_{key}'] for run in some) / groups:.0%}" for key in ("means", "shares")]
        rows.append(
            [
                study.name,
                " + ".join(f"{share:g}" for share in study.waves),
                len(some),
                f"{means['one_round']:.3f}",
                f"**{means['recovered']:.3f}**",
                f"{worst:.3f}",
                f"{means['gain']:+.3f}",
                sum(run["asked"] < run["dimension"] for run in some),
                *held,
                f"{sum(run['held_figures'] for run in some) / figures:.0%}",
                f"{np.mean([run['explained_held'] for run in some]):.0%}",
                ", ".join(bars),
            ]
        )
    head = ["study", "waves", "seeds", "one round", "waves recover", "worst", "gain", "directions"]
    return harness.table([*head, "means held", "shares", "figures", "explained", "bar"], rows)


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "waves.csv", seeds=8)
