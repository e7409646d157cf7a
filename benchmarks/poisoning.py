"""What hostile clients do to the centers, and whether the table shows it: `python -m benchmarks poisoning`.

    attack x share of hostile people -> largest move of a center (in radii), what the detector says

n = 100,000, k = 4, ε = 1, separation 8, the default design and its decoder; 20 dimensions, where every attack
is played, 100 and 300, and 900, where no second moment is kept. Hostile people replace honest ones and push
towards one public target. Then a plan with one group more than there are, whose spare center a few of them
can take: what is found at their target, and the least share of liars that `result.fragile` states of it. Then
honest studies of many shapes, by the detector alone.

Writes benchmarks/results/poisoning.json after every seed, and goes on from there; at the end its tables stand
in docs/poisoning.md. `--table` only does the latter.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from coterie import Aggregate, Plan, Result, decode
from coterie.centers.explain import explain
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.plain.files import replacing
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.protocols.codeword.oracles.cell_sums import embedding_matrix
from coterie.protocols.codeword.oracles.rows import rows_of
from coterie.protocols.codeword.oracles.suspicion import suspicions
from coterie.protocols.codeword.table import CodewordTable
from coterie.wire.rows import Rows
from coterie.wire.stream import PublicStream, signs_of
from tools.markdown import reflowed

RESULTS = Path(__file__).parent / "results" / "poisoning.json"
PAGE = Path(__file__).parents[1] / "docs" / "poisoning.md"
MARKS = ("<!-- tables -->", "<!-- /tables -->")  # on the page
USERS, CLUSTERS, EPSILON, SEPARATION = 100_000, 4, 1.0, 8.0
MOVED = 0.25  # of the radius: a center that moved
DETERMINED = 100  # dimensions; at 300 so few people leave honest centers off by more than twice that
BALANCED = 0.63  # share of the codewords, the shortest, among which the energy of the chosen is an honest one
SHORT = 0.4
PLAUSIBLE_LEAN = 1.2  # along the target: as many people to the second moment as to the rows, three

Reports = NDArray[np.uint8]
Vectors = NDArray[np.float64]
Score = Callable[[NDArray[np.float32]], NDArray[np.float32]]


class Forger:
    """Makes reports that push a target, as far as the protocol lets anyone."""

    def __init__(self, plan: Plan, target: Vectors, seed: int, center: Vectors) -> None:
        self._plan, self._target = plan, target
        self._center = center  # of honest people, to be pulled from
        self._encoder = CodewordEncoder(plan)
        self._stream = PublicStream(plan.randomness_key())
        self._embed = embedding_matrix(plan, plan.parameters)  # type: ignore[arg-type]
        self._rng = np.random.default_rng([seed, 99])

    def ids(self, count: int) -> Reports:
        """Return random ids."""
        return np.frombuffer(self._rng.bytes(12 * count), dtype=np.uint8).reshape(-1, 12)

    def false_point(self, count: int) -> Reports:
        """Send a false point with honest coins."""
        points = np.repeat(self._target[None], count, axis=0)
        coins = SimulationCoins(int(self._rng.integers(1 << 32)))
        return self._encoder.encode(points, self.ids(count), coins)

    def best_index(self, count: int, tried: int = 1, **how: Any) -> Reports:
        """Send the codeword that leans most towards the target, of the best of `tried` ids.

        `how` is as for `_choose`.
        """
        best = np.empty((count, 13), dtype=np.uint8)
        for start in range(0, count, 200):
            ids = self.ids(min(200, count - start) * tried)
            indices, scores = self._choose(ids, **how)
            chosen = scores.reshape(-1, tried).argmax(axis=1) + tried * np.arange(len(ids) // tried)
            best[start : start + len(chosen), :12] = ids[chosen]
            best[start : start + len(chosen), 12] = indices[chosen]
        return best

    def _choose(
        self,
        ids: Reports,
        *,
        among: float = 1.0,
        headless: bool = False,
        pull: bool = False,
        score: Score = lambda leans: leans,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the index of the best score for each id, and the score.

        Parameters
        ----------
        ids : ndarray of uint8, shape (n, 12)
        among : float
            Share of the codewords, the shortest ones, to choose from: to escape a test of energy.
        headless : bool
            Lean along the point and not along the coordinate that counts people.
        pull : bool
            Lean away from a center of honest people instead of towards the target.
        score : function
            Of how far a codeword leans, ⟨v,u⟩ for a unit vector u.
        """
        parameters: Any = self._plan.parameters
        head = self._embed[:, self._embed.shape[1] - EXTRA_COORDINATES]
        indices, scores = np.empty(len(ids), dtype=np.int64), np.empty(len(ids))
        for start in range(0, len(ids), 256):
            piece = slice(start, start + 256)
            place = self._center if pull else self._target
            points = np.repeat(place[None], len(ids[piece]), axis=0)
            vectors = self._encoder.scored(points, ids[piece])[1] * (-1 if pull else 1)
            if headless:
                vectors = vectors - np.outer(vectors @ head, head)
            vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
            blocks = self._stream.blocks(ids[piece], 1, parameters.codewords * parameters.embedding // 128)
            signs = signs_of(blocks).reshape(-1, parameters.codewords, parameters.embedding)
            found = score((signs @ vectors.astype(np.float32)[:, :, None])[:, :, 0])  # (n, N)
            if among < 1:
                energy = ((signs @ self._embed.astype(np.float32)) ** 2).sum(axis=2)
                found = np.where(energy <= np.quantile(energy, among, axis=1)[:, None], found, -np.inf)
            indices[piece] = found.argmax(axis=1)
            scores[piece] = found.max(axis=1)
        return indices, scores

    def one_row(self, count: int) -> Reports:
        """Send the best index under ids that were tried until they serve row 0 of the first view."""
        rows = Rows.of(self._plan.parameters)  # type: ignore[arg-type]
        kept: list[Reports] = []
        while sum(map(len, kept)) < count:
            ids = self.ids(1 << 16)
            kept.append(ids[self._stream.choices(ids, rows)[0] == 0])
        ids = np.concatenate(kept)[:count]
        indices, _ = self._choose(ids)
        return np.concatenate([ids, indices[:, None].astype(np.uint8)], axis=1)

    def push_and_pull(self, count: int) -> Reports:
        """Push towards the target and away from honest people by turns, with balanced energy."""
        push = self.best_index(count - count // 2, among=BALANCED)
        pull = self.best_index(count // 2, among=BALANCED, pull=True)
        mixed = np.empty((count, 13), dtype=np.uint8)
        mixed[::2], mixed[1::2] = push, pull
        return mixed

    def plausible(self, count: int) -> Reports:
        """Send the codeword that leans as far as no test tells from people, three people's worth."""
        return self.best_index(count, score=lambda leans: -np.abs(leans - PLAUSIBLE_LEAN))


ATTACKS: dict[str, Callable[[Forger, int], Reports]] = {
    "false point, honest coins": Forger.false_point,
    "plausible index": Forger.plausible,
    "best index": Forger.best_index,
    "best index, short": lambda forger, count: forger.best_index(count, among=SHORT),
    "best index, balanced": lambda forger, count: forger.best_index(count, among=BALANCED),
    "balanced, headless": lambda forger, count: forger.best_index(count, among=BALANCED, headless=True),
    "balanced, push and pull": Forger.push_and_pull,
    "best index, one row": Forger.one_row,
    "best index of 64 ids": lambda forger, count: forger.best_index(count, 64),
    "best index of 1,024 ids": lambda forger, count: forger.best_index(count, 1024),
}
PEOPLE = ("false point, honest coins", "plausible index")  # what a test cannot tell from people
GROUND = ("best index, one row", "best index of 64 ids", "best index of 1,024 ids")  # impossible with tokens
WITH_TOKENS = tuple(name for name in ATTACKS if name not in GROUND)

# dimension -> attack -> share -> seeds; the first of them are decoded, the detector sees all
Played = dict[str, dict[float, int]]
EACH: Played = {
    "false point, honest coins": {0.01: 10, 0.02: 10, 0.05: 10},
    "plausible index": {0.01: 10, 0.05: 10},
    "best index": {0.01: 10, 0.02: 10, 0.05: 10},
    "best index, short": {0.01: 10, 0.05: 10},
    "best index, balanced": {0.01: 10, 0.02: 10, 0.05: 10},
    "balanced, headless": {0.01: 10, 0.05: 10},
    "balanced, push and pull": {0.01: 10, 0.05: 10},
    "best index, one row": {0.01: 10, 0.05: 10},
    "best index of 64 ids": {0.01: 3, 0.05: 3},
    "best index of 1,024 ids": {0.01: 1},
}
STUDIES: dict[int, Played] = {
    20: EACH,
    100: {name: {0.01: 10, 0.05: 10} for name in ("best index", "best index, balanced")},
    300: {name: {0.01: 2, 0.05: 2} for name in ("best index", "best index, balanced")},
    900: {"best index": {0.05: 1}},
}
DECODED = {0.01: 10, 0.02: 3, 0.05: 3}  # seeds that are decoded, too: the moves at 1 % are what is promised
LARGEST = 300  # dimension that the promises are about


SPARE_SEEDS = 3
SPARE: dict[str, tuple[float, ...]] = {  # where the plan asks for one group more than there are
    "plausible index": (0.005, 0.02),
    "best index, balanced": (0.005, 0.02),
    "best index": (0.005, 0.02),
}


class Honest:
    """One study without hostile people, and its table."""

    def __init__(self, seed: int, dimension: int, clusters: int = CLUSTERS) -> None:
        points, centers, _ = gaussian_mixture(
            USERS, dimension, CLUSTERS, separation=SEPARATION, random_state=seed
        )
        self.seed = seed
        self.plan = Plan.design(dimension, clusters, EPSILON, USERS, seed=seed)
        rng = np.random.default_rng([seed, 7])
        ids = np.frombuffer(rng.bytes(12 * USERS), dtype=np.uint8).reshape(-1, 12)
        self.reports = CodewordEncoder(self.plan).encode(points, ids, SimulationCoins([seed, 8]))
        target = rng.normal(size=dimension)
        target *= 0.9 / np.linalg.norm(target)
        self.target = target
        self.forger = Forger(self.plan, target, seed, centers[0])
        self.table = table_of(self.plan, self.reports)
        if clusters == CLUSTERS:
            self.centers = decoded(self.table, seed)
            self.error = moved(centers, self.centers)

    def with_forged(self, forged: Reports) -> CodewordTable:
        """Return the table in which so many of the first people are hostile: sums are linear."""
        table = table_of(self.plan, forged)
        replaced = table_of(self.plan, self.reports[: len(forged)])
        for name, array in table.arrays().items():
            array += self.table.arrays()[name] - replaced.arrays()[name]
        return table


def table_of(plan: Plan, reports: Reports) -> CodewordTable:
    """Return the table of reports."""
    table = CodewordTable.zero(plan)
    table.add(reports)
    return table


def decoded(table: CodewordTable, seed: int) -> Vectors:
    """Return the centers that the default decoder finds."""
    return explain(rows_of(table), CLUSTERS, np.random.default_rng(seed), repeats=0).centers


def said(table: CodewordTable) -> dict[str, Any]:
    """Return what the detector says."""
    tests = suspicions(table)
    return {"by": [one.test for one in tests if one.note], "p_value": tests[0].p_value}


def play(seed: int, dimension: int, wanted: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Return what each attack does to one study; moves are None where the table was not decoded."""
    honest = Honest(seed, dimension)
    study = {"dimension": dimension, "seed": seed}
    found = [{**study, "attack": "none", "share": 0.0, "moved": honest.error, **said(honest.table)}]
    for name, shares in wanted.items():
        forged = ATTACKS[name](honest.forger, int(max(shares) * USERS))
        for share in shares:
            table = honest.with_forged(forged[: int(share * USERS)])
            look = seed < DECODED[share] or name in PEOPLE
            far = moved(honest.centers, decoded(table, seed)) if look else None
            found.append({**study, "attack": name, "share": share, "moved": far, **said(table)})
    return found


def play_spare(seed: int, dimension: int = 20) -> list[dict[str, Any]]:
    """Return what liars do to a study whose plan asks for a group more than there are.

    Of the group nearest to their target: how far it is, its share, whether it stands clear, and the least
    share of liars that could have made it up, or moved it by its radius, as the result states it. Of the
    groups without liars: how far the worst moved, in its own stated radii.
    """
    honest = Honest(seed, dimension, CLUSTERS + 1)

    def result_of(table: CodewordTable) -> Result:
        whole = Aggregate(honest.plan)
        whole.table = table
        return decode(whole, random_state=seed)

    clean, found = result_of(honest.table), []
    for name, shares in {"none": (0.0,), **SPARE}.items():
        forged = np.zeros((0, 13), dtype=np.uint8)
        if name != "none":
            forged = ATTACKS[name](honest.forger, int(max(shares) * USERS))
        for share in shares:
            table = honest.with_forged(forged[: int(share * USERS)]) if share else honest.table
            result = result_of(table)
            apart = np.linalg.norm(result.centers - honest.target, axis=1)
            place = int(apart.argmin())
            pairs = np.linalg.norm(clean.centers[clean.clear][:, None] - result.centers[None], axis=2)
            away = pairs.min(axis=1) / clean.errors[clean.clear]
            found.append(
                {
                    "dimension": dimension,
                    "seed": seed,
                    "attack": name,
                    "share": share,
                    "off": float(apart[place]),
                    "group": float(result.weights[place]),
                    "clear": bool(result.clear[place]),
                    "made": float(result.fragile[place, 0]),
                    "moved": float(result.fragile[place, 1]),
                    "least_move": float(clean.fragile[clean.clear, 1].min()),
                    "others": float(away.max()),
                    **said(table),
                }
            )
    return found


def moved(clean: Vectors, centers: Vectors) -> float:
    """Return the largest move of a center, after the best matching."""
    apart = np.linalg.norm(clean[:, None] - centers[None], axis=2)
    return float(apart[linear_sum_assignment(apart)].max())


def clean_study(number: int) -> dict[str, Any]:
    """Return what the detector says of an honest study of any shape, dimension, ε, model and size."""
    rng = np.random.default_rng([number, 5])
    d, k = int(rng.choice([2, 5, 20, 60, 100, 300])), int(rng.choice([1, 2, 8]))
    epsilon = float(rng.choice([0.5, 1.0, 2.0, 4.0]))
    users = int(rng.choice([5_000, 20_000, 50_000] if d <= 20 else [20_000]))
    mixed = rng.integers(8) == 0 and d <= 100  # amplified: the odds of a report are ten times as steep
    model: dict[str, Any] = {"model": "shuffle", "protocol": "codeword", "delta": 1e-6} if mixed else {}
    if mixed:
        epsilon = 1.0
    points = shapes(rng, users, d, k)
    plan = Plan.design(d, k, epsilon, users, seed=number, **model)
    ids = np.frombuffer(rng.bytes(12 * users), dtype=np.uint8).reshape(-1, 12)
    table = table_of(plan, CodewordEncoder(plan).encode(points, ids, SimulationCoins([number, 4])))
    figures = {"dimension": d, "epsilon": epsilon, "mixed": bool(mixed), "users": users}
    return {"number": number, **figures, **said(table)}


def shapes(rng: np.random.Generator, users: int, d: int, k: int) -> Vectors:
    """Return people of one of the shapes that try a test: one point, a few groups, a cloud, a sphere."""
    kind = rng.integers(4)
    if kind == 0:
        point: Vectors = rng.normal(size=d) / np.sqrt(d)
        return np.repeat(point[None], users, axis=0)
    if kind == 1:
        centers: Vectors = rng.normal(size=(k, d)) / np.sqrt(d)
        scatter: Vectors = rng.normal(size=(users, d)) * 0.05 / np.sqrt(d)
        return centers[rng.integers(k, size=users)] + scatter
    cloud: Vectors = rng.normal(size=(users, d)) / np.sqrt(d)
    return cloud * 0.5 if kind == 2 else cloud / np.linalg.norm(cloud, axis=1, keepdims=True)


def run(kept: dict[str, Any], *, clean: int, dimensions: list[int], most: int) -> None:
    """Play what is not there yet, and write the file after every step."""
    started = time.process_time()
    runs: list[dict[str, Any]] = kept["runs"]
    for dimension in dimensions:
        for seed in range(most):
            same = [one for one in runs if at(one, dimension) and one["seed"] == seed]
            there = {(one["attack"], one["share"]) for one in same}
            wanted = {
                name: left
                for name, shares in STUDIES[dimension].items()
                if (left := [x for x, seeds in shares.items() if seed < seeds and (name, x) not in there])
            }
            if wanted:
                runs += play(seed, dimension, wanted)[bool(there) :]
                save(kept)
                print(f"d = {dimension}, seed {seed}: {time.process_time() - started:.0f} s", flush=True)
    spare: list[dict[str, Any]] = kept.setdefault("spare", [])
    for seed in range(len({one["seed"] for one in spare}), min(most, SPARE_SEEDS)):
        spare += play_spare(seed)
        save(kept)
        print(f"one group too many, seed {seed}: {time.process_time() - started:.0f} s", flush=True)
    for number in range(len(kept["clean"]), clean):
        kept["clean"].append(clean_study(number))
        if number % 10 == 9 or number == clean - 1:
            save(kept)
            print(f"{number + 1} honest studies: {time.process_time() - started:.0f} s", flush=True)


def at(one: dict[str, Any], dimension: int) -> bool:
    """Return whether a run has this dimension."""
    return bool(one["dimension"] == dimension)


def save(kept: dict[str, Any]) -> None:
    """Write the file, whole or not at all."""
    with replacing(RESULTS) as file:
        file.write((json.dumps(kept, indent=1) + "\n").encode())


def tables(kept: dict[str, Any]) -> str:
    """Return the tables in Markdown."""
    lines: list[str] = []
    runs: list[dict[str, Any]] = kept["runs"]
    for dimension in dict.fromkeys(one["dimension"] for one in runs):
        here = [one for one in runs if at(one, dimension)]
        errors = [one["moved"] for one in here if one["attack"] == "none"]
        lines += [
            f"**{dimension} dimensions**, {len(errors)} seeds; without hostile people the worst "
            f"center is off by {np.median(errors):.2f} (median), {max(errors):.2f} (worst).",
            "",
            f"| attack | share | moved: median, worst (seeds) | noticed | by | moved > {MOVED} unnoticed |",
            "|---|---|---|---|---|---|",
        ]
        for name in ("none", *ATTACKS):
            for share in sorted({one["share"] for one in here if one["attack"] == name}):
                chosen = [one for one in here if (one["attack"], one["share"]) == (name, share)]
                seen = sum(bool(one["by"]) for one in chosen)
                far = [one["moved"] for one in chosen if one["moved"] is not None and name != "none"]
                unseen = sum(one["moved"] > MOVED for one in chosen if one["moved"] and not one["by"])
                moves = f"{np.median(far):.2f}, {max(far):.2f} ({len(far)})" if far else "-"
                tests = sorted({test for one in chosen for test in one["by"]})
                by = ", ".join(tests) or "-"
                last = "-" if name == "none" else unseen
                lines.append(f"| {name} | {share:.0%} | {moves} | {seen} of {len(chosen)} | {by} | {last} |")
        lines.append("")
    if spare := kept.get("spare"):
        lines += spare_table(spare)
    honest = kept["clean"]
    flagged = [one for one in honest if one["by"]]
    lines.append(f"Honest studies flagged: {len(flagged)} of {len(honest)}.")
    return "\n".join(lines)


def spare_table(runs: list[dict[str, Any]]) -> list[str]:
    """Return the table of plans with one group too many, in lines of Markdown."""
    lines = [
        f"**One group too many**: 20 dimensions, {CLUSTERS} groups, a plan for {CLUSTERS + 1}, "
        f"{len({one['seed'] for one in runs})} seeds. Of the group nearest to the liars' target: how far it "
        "is off, its share, the least share of liars that its result states, to make it up and to move it; "
        "of the groups without liars how far the worst moved, in its stated radii.",
        "",
        "| liars | share | off | its share | clear | noticed | to make it up | to move it | others |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in ("none", *SPARE):
        for share in sorted({one["share"] for one in runs if one["attack"] == name}):
            some = [one for one in runs if (one["attack"], one["share"]) == (name, share)]

            def middle(field: str, some: list[dict[str, Any]] = some) -> float:
                return float(np.median([one[field] for one in some]))

            clear, seen = sum(one["clear"] for one in some), sum(bool(one["by"]) for one in some)
            lines.append(
                f"| {name} | {share:.1%} | {middle('off'):.2f} | {middle('group'):.1%} "
                f"| {clear} of {len(some)} | {seen} of {len(some)} | {middle('made'):.2%} "
                f"| {middle('moved'):.2%} | {max(one['others'] for one in some):.2f} |"
            )
    return [*lines, ""]


def write_page(text: str) -> None:
    """Put the tables into the page, in the place of those that stand there."""
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page = f"{before}{MARKS[0]}\n\n{reflowed(text)}\n\n{MARKS[1]}{after}"
    with replacing(PAGE) as file:
        file.write(page.encode())


def bars(kept: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return the promises, each with whether it is kept."""
    forged = [one for one in kept["runs"] if one["attack"] not in ("none", *PEOPLE)]
    runs = [one for one in forged if one["dimension"] <= LARGEST]
    small = [
        one
        for one in runs
        if one["share"] == 0.01 and one["attack"] not in GROUND and one["dimension"] <= DETERMINED
    ]
    large = [one for one in runs if one["share"] == 0.05]
    honest = kept["clean"]
    invented = [
        one
        for one in kept.get("spare", [])
        if one["attack"] != "none" and one["clear"] and one["off"] <= MOVED
    ]
    few = [one for one in kept.get("spare", []) if one["share"] <= one["least_move"]]
    return [
        (
            "no group was made up by fewer liars than its result states",
            all(one["made"] <= one["share"] for one in invented),
        ),
        (
            "no group moved by its radius where fewer lied than its result states",
            all(one["others"] <= 1 for one in few),
        ),
        (
            f"1 %, tokens, up to {DETERMINED} dimensions: no center moved by more than {MOVED} unnoticed",
            all(one["by"] or (one["moved"] or 0.0) <= MOVED for one in small),
        ),
        ("5 %: noticed in every study of every attack", all(one["by"] for one in large)),
        (
            "honest studies: at most 1 of 200 flagged",
            sum(bool(one["by"]) for one in honest) <= math.floor(len(honest) / 200),
        ),
    ]


def main() -> int:
    """Play, print the tables and the promises."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="at most, of each study")
    parser.add_argument("--clean", type=int, default=200, help="honest studies")
    parser.add_argument("--dimensions", type=int, nargs="*", default=list(STUDIES))
    parser.add_argument("--fresh", action="store_true", help="start the file anew")
    parser.add_argument("--table", action="store_true", help="only show what the file holds")
    options = parser.parse_args()
    kept: dict[str, Any] = {"runs": [], "clean": []}
    if RESULTS.exists() and not options.fresh:
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    if not options.table:
        run(kept, clean=options.clean, dimensions=options.dimensions, most=options.seeds)
    text = tables(kept)
    write_page(text)
    print(text)
    promises = bars(kept)
    for promise, met in promises:
        print(f"- {promise}: {'yes' if met else 'NO'}")
    return sum(not met for _, met in promises)


if __name__ == "__main__":
    raise SystemExit(main() > 0)
