"""What liars in the first wave can do to the next plan, and whether anything shows it.

    python -m benchmarks poisoned_waves [--seeds 40] [--only NAME …]

The first people's reports are made, those of liars forged (`poisoning`), the second plan follows from their
table, and honest people answer it (their table is drawn by its law). Both are decoded together.

*ball*        20 dimensions, 10,000 people and then 90,000, ε = 1: the plan may move and shrink the ball.
*directions*  40 dimensions, 50,000 and 50,000, ε = 0.35: no groups are found, and directions asked for.
*confirm*     20 dimensions, 50,000 and 50,000, ε = 1, a plan for one group more than there are: the liars
              make that one up, and the others are asked about it.
*honest*      real sets, 50,000 and 50,000, ε = 2, without liars: nothing may be noticed.

A *worse* center is one whose distance from its true group's mean is larger than without the liars by more
than its stated radius; a study is played without them only where some center misses its group. *Noticed* is
what a note says of reports, waves or the ball, *held* the share of the people whom the second plan's ball
holds. Of made-up groups: in how many studies the first wave had one (within 0.3 radii of the liars' target),
and in how many of those the second did not confirm it. The first wave is decoded without repeated fits: no
figure of the next plan but the farthest sure center needs them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from benchmarks import harness, statements
from benchmarks.harness import RESULTS, Bar, Benchmark, Figures, Runs, Study
from benchmarks.poisoning import ATTACKS, Forger
from coterie import Aggregate, Plan, Result, decode
from coterie.centers.dress import dress
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines.simulate import simulate
from coterie.protocols.codeword.decode import explained
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.protocols.codeword.oracles.rows import unit_points

GROUPS = 4
ALIKE = 10_000  # points that the people of the second wave are like
FAR, MIDDLE = 0.9, 0.0  # length of the liars' target
NEAR = 0.3  # of the radius: a group that liars made up
NOTICED = re.compile(r"The reports look as|The waves do not speak|ball misses its people")
SAFE = Bar("noticed or none worse", at_least=0.95)
FALSE = Bar("noticed", at_most=0.05)
LIARS = (  # attack, length of its target
    ("balanced", "best index, balanced", FAR),
    ("middle", "best index, balanced", MIDDLE),
    ("plausible", "plausible index", FAR),
)
CASES: dict[str, dict[str, object]] = {
    "ball": {"epsilon": 1.0, "dimension": 20, "separation": 8.0, "waves": (0.1, 0.9)},
    "directions": {"epsilon": 0.35, "dimension": 40, "separation": 3.0, "waves": (0.5, 0.5)},
    "confirm": {"epsilon": 1.0, "dimension": 20, "separation": 8.0, "waves": (0.5, 0.5)},
}
SETS = {"segment": 7, "magic": 6, "spambase": 6, "ring": 4, "phoneme": 5, "ionosphere": 5, "vehicle": 5}


def _study(case: str, liars: str, share: float) -> Study:
    clusters = GROUPS + (case == "confirm")
    name = f"{case}-{liars}" + f"-{share:.0%}" * (share > 0)
    bar = {0.0: FALSE, 0.02: SAFE}.get(share)
    return Study(name, "mixture", 100_000, clusters, method=f"{liars} {share}", bar=bar, **CASES[case])  # type: ignore[arg-type]


GRID = (
    *(_study(case, "none", 0.0) for case in CASES),
    *(_study("ball", liars, 0.02) for liars, *_ in LIARS),
    *(_study("ball", "balanced", share) for share in (0.01, 0.05)),
    *(_study("directions", "balanced", share) for share in (0.01, 0.02, 0.05)),
    *(_study("confirm", "balanced", share) for share in (0.01, 0.02, 0.05)),
    *(
        Study(f"honest-{name}", name, 100_000, clusters, 2.0, waves=(0.5, 0.5), method="none 0", bar=FALSE)
        for name, clusters in SETS.items()
    ),
)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed, and without its liars where some center misses its group."""
    if study.name.startswith("honest-"):
        return play_honest(study, seed, folder)
    liars, share = study.method.split()
    run = played(study, seed, liars, float(share))
    harmed = liars != "none" and worse(run, {})
    if harmed:
        harmed = worse(run, played(study, seed, "none", 0.0))
    return {**run, "worse": int(harmed)}


def played(study: Study, seed: int, liars: str, share: float) -> Figures:
    """Play two waves, so many of the first people being liars."""
    first, others = (round(part * study.users) for part in study.waves)
    points, centers, _ = gaussian_mixture(
        first, study.dimension, GROUPS, separation=study.separation, random_state=seed
    )
    plan = Plan.design(study.dimension, study.clusters, study.epsilon, first, seed=seed)
    rng = np.random.default_rng([seed, 7])
    ids = np.frombuffer(rng.bytes(12 * first), dtype=np.uint8).reshape(-1, 12)
    reports = CodewordEncoder(plan).encode(points, ids, SimulationCoins([seed, 8]))
    direction, target = rng.normal(size=study.dimension), np.zeros(study.dimension)
    if liars != "none":
        name, length = next((name, length) for key, name, length in LIARS if key == liars)
        target = length * direction / np.linalg.norm(direction)
        forged = ATTACKS[name](Forger(plan, target, seed, centers[0]), round(share * first))
        reports[: len(forged)] = forged
    table = Aggregate(plan)
    table.add(reports.tobytes())
    found = found_by(table, seed)
    asked = plan.follow_up(found, others, confirm=study.name.startswith("confirm"))
    like = points[:ALIKE]  # whom other people are like
    both = [table, simulate(asked, like, others, random_state=seed)]
    result = decode(both, random_state=seed)
    made_up = np.linalg.norm(found.centers - target, axis=1) <= NEAR * plan.radius
    confirmed = result.clear[: len(made_up)] & made_up if asked.confirms else made_up
    return {
        **facts(result, asked, like),
        "made_up": int(liars != "none" and bool(made_up.any())),
        "confirmed": int(liars != "none" and bool(confirmed.any())),
        **missed(result, centers),
    }


def play_honest(study: Study, seed: int, folder: Path) -> Figures:
    """Play waves of real people."""
    source, plan = statements.people_of(study, seed, folder)
    points = np.asarray(source.points, dtype=np.float64)
    first, others = (round(part * study.users) for part in study.waves)
    table = simulate(plan, points, first, random_state=seed)
    asked = plan.follow_up(found_by(table, seed), others)
    both = [table, simulate(asked, points, others, random_state=seed + 1)]
    return facts(found_by(both, seed), asked, points)


def found_by(tables: Aggregate | Sequence[Aggregate], seed: int) -> Result:
    """Return what tables say, without repeated fits."""
    given = [tables] if isinstance(tables, Aggregate) else tables
    clusters = given[-1].plan.clusters
    return dress(explained(given, clusters, np.random.default_rng(seed), repeats=0), given)


def facts(result: Result, asked: Plan, points: NDArray[np.float64]) -> Figures:
    """Return what was asked in the second wave, how many its ball holds, and what is noticed."""
    lengths = np.linalg.norm(unit_points(asked, points), axis=1)
    return {
        "coordinates": asked.coordinates,
        "radius": asked.radius,
        "held": float((lengths < 1 - 1e-9).mean()),
        "noticed": int(any(NOTICED.search(note) for note in result.notes)),
    }


def missed(result: Result, centers: NDArray[np.float64]) -> Figures:
    """Return how far the center of each true group is off, and the radius that is stated of it."""
    apart = np.linalg.norm(centers[:, None] - result.centers[None], axis=2)
    _, own = linear_sum_assignment(apart)
    off = {f"off_{group}": float(apart[group, one]) for group, one in enumerate(own)}
    return {**off, **{f"stated_{group}": float(result.errors[one]) for group, one in enumerate(own)}}


def worse(run: Figures, clean: Figures) -> bool:
    """Return whether a center is farther off than without liars by more than its stated radius."""
    return any(
        run[f"off_{group}"] - clean.get(f"off_{group}", 0.0) > run[f"stated_{group}"]
        for group in range(GROUPS)
    )


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return what liars did, as Markdown."""
    rows = []
    for study in grid:
        if not (some := runs[study.name]):
            continue
        case, number = study.name.split("-")[0], len(some)
        lied = "none" not in study.method
        seen = sum(run["noticed"] for run in some)
        harmed = sum(run["worse"] for run in some) if lied else 0
        safe = sum(bool(run["noticed"]) or not run["worse"] for run in some) if lied else 0
        made = sum(run["made_up"] for run in some) if lied else 0
        kept = sum(run["confirmed"] for run in some) if lied else 0
        held = [run["held"] for run in some]
        rows.append(
            [
                study.name,
                number,
                sum(run["coordinates"] < 13 and case == "directions" for run in some) or "-",
                f"{np.median(held):.0%}, {min(held):.0%}",
                f"{seen} of {number}",
                f"{harmed} of {number}" if lied else "-",
                f"{safe} of {number}" if lied else "-",
                f"{made - kept} of {made}" if case == "confirm" and lied else "-",
                study.bar.shown((safe if lied else seen) / number) if study.bar else "",
            ]
        )
    head = [
        "study",
        "seeds",
        "directions",
        "held: median, least",
        "noticed",
        "worse",
        "noticed or none worse",
    ]
    return harness.table([*head, "made up, not confirmed", "bar"], rows)


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "poisoned_waves.csv", seeds=40)
