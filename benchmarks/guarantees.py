"""What is proved of the centers, and what floor remains where nothing is.

    python -m benchmarks guarantees [--only theorems|played|rotation|pairs] [--seeds 2]
    python -m benchmarks guarantees --only played [--protocols NAME …] [--runs 200] [--workers 1]

*theorems*: ratio and t of `plan.approximation` for the default and for each protocol of the paper at
`constants="theory"`, k = 4, ε = 1 (the default also ε = 4), by formula, for the decoder's own search; and the
n from which t is below n, what one center in the middle may cost. *played*: the same plans, played in one and
two dimensions: the worst cost of all runs beside ratio·OPT + t, and the lemmas' η over the 90 % quantile of
the largest error of a count, of the default's cells or of the tree's deepest level. Up to 10⁴ people are
played report by report (codewords through trees up to 10³); beyond, ten thousand places stand for all people,
and the table of the default, and all counts and sums of a tree, are drawn from the law that they have for
many people. (Of codewords that law has no bias.) A run of the default takes some three seconds, one of a tree
less than one.
*rotation*: how far the mean of a codeword is from what it
stands for under one public rotation, exactly: the law of a score Σ y_j·v_j has the characteristic function
Π cos(y_j·t), and E[v_j; chosen] is one integral of it; and of the plans that have cells with places, what the
worst point of the ball has, in root mean squares over rotations. *pairs*: four pairs of tight groups in ten
dimensions, tables drawn from their law, which has no such bias: the excess of the default protocol over
k-means in the open, in squared radii.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.harness import RESULTS as FOLDER
from benchmarks.harness import machine, write_json
from coterie import Aggregate, Plan, decode
from coterie.centers.solution import squared_distances
from coterie.coins import SimulationCoins
from coterie.engines import play, simulate
from coterie.geometry.ball import SCALE, quantize
from coterie.geometry.cells import NetCells
from coterie.geometry.lift import lift
from coterie.metrics import normalized_objective
from coterie.plan import Approximation
from coterie.plan.views import Net
from coterie.protocols.codeword.approximation import sum_noise
from coterie.protocols.codeword.decode import explained
from coterie.protocols.codeword.oracles.cell_sums import embedding_matrix
from coterie.protocols.codeword.oracles.net_costs import net_costs
from coterie.protocols.codeword.oracles.rows import rows_of
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.protocols.paper.approximation import expands_all
from coterie.protocols.paper.k_means import k_means_decoder
from coterie.protocols.paper.net_tree.decode import tree_oracles
from coterie.protocols.paper.tree.build import BuildParameters
from coterie.protocols.paper.tree.decode import nets_of
from coterie.protocols.paper.tree.encode import TreePaths
from coterie.protocols.paper.tree.parameters import TreeDecoding, TreeParameters

RESULTS = FOLDER / "guarantees.json"
SUMS = {"protocol": "net-tree-sums", "model": "shuffle", "delta": 1e-6}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "default": {},
    "default, ε = 4": {"epsilon": 4.0},
    "net-tree": {"protocol": "net-tree"},
    "codewords": {"protocol": "net-tree", "randomizer": "codeword"},
    "codewords, shuffled": {"protocol": "net-tree", "model": "shuffle", "delta": 1e-6},
    "net-tree-sums": SUMS,
}
# What is played, and for how many people; sums have no reports that could be played: `benchmarks theorem_2`.
PLAYED: dict[str, tuple[int, ...]] = {
    "default": (10**4, 10**6, 10**10),
    "net-tree": (10**3, 10**4, 10**5, 10**6),
    "codewords": (10**3, 10**4, 10**5, 10**6),
    "codewords, shuffled": (10**3, 10**4, 10**5, 10**6),
}
FAILURE = 0.1  # β of η, and of its quantile
THEORY: dict[str, Any] = {"constants": "theory"}
PEOPLE = (10**3, 10**4, 10**5, 10**6, 10**8, 10**10, 10**12)
CELLS_OF = (1, 2, 5, 12)  # dimensions whose cells have places: the worst point of each rotation
TURNS = 40  # rotations of those
ROTATIONS = [(100, 1.0), (100, 2.0), (100, 4.0), (100, 6.0), (100, 8.0), (10, 1.0), (10, 4.0)]  # d, ε
POINTS = 40  # of each, in the ball, five rotations
APART = (0.3, 0.1)  # radii between the two groups of a pair; cells of the views are wider
MANY = (10**6, 10**8, 10**9)


def promise(name: str, dimension: int, people: int) -> tuple[Plan, Approximation] | None:
    """Return a plan with its promise; None: refused."""
    options = {"epsilon": 1.0, **PROTOCOLS[name]}
    if name.startswith("default"):
        plan = Plan.design(dimension, 4, expected_users=people, **options)
        return plan, plan.approximation()
    try:
        plan = Plan.design(dimension, 4, expected_users=people, **options, **THEORY)
    except ValueError:  # sums have a modulus for so many people only
        return None
    return plan, plan.approximation(THEORY)


class DrawnTree:
    """Counts and vector sums of the nodes of a tree, drawn from the law that they have for many people."""

    def __init__(self, plan: Plan, points: NDArray[np.float64], generator: np.random.Generator) -> None:
        self.plan, self.reports, self._generator = plan, plan.expected_users, generator
        self._points, self._each = points, plan.expected_users / len(points)
        self._paths = TreePaths(plan, TreeParameters.of(plan)).of(quantize(points, None, 1.0)[0])
        noise = TreeParameters.of(plan).leaf_noise(dimension=plan.dimension, people=self.reports)
        self._count, self._vector = math.sqrt(noise.count), math.sqrt(noise.vector / plan.dimension)
        self.largest = 0.0  # error of a count on the deepest level

    def frequencies(self, level: int, paths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the counts of nodes of one level; each is asked for once."""
        errors = self._count * self._generator.standard_normal(len(paths))
        self.largest = float(np.abs(errors).max())
        return np.asarray(self._each * np.bincount(self._places(level, paths), minlength=len(paths)) + errors)

    def deviation(self, level: int) -> float:
        """Return the deviation of a count."""
        return self._count

    def part_sums(
        self, level: int, paths: NDArray[np.int64], parts: NDArray[np.int64], count: int
    ) -> NDArray[np.float64]:
        """Return the vector sum of each part."""
        sums = np.zeros((count, self._points.shape[1]))
        np.add.at(sums, parts[self._places(level, paths)], self._each * self._points)
        held = np.sqrt(np.bincount(parts, minlength=count))[:, None]
        return np.asarray(sums + self._vector * held * self._generator.standard_normal(sums.shape))

    def _places(self, level: int, paths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the node of each point, of a level that has a node for every point."""
        both = np.concatenate([paths, self._paths[:, : level + 1]])
        nodes = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
        place = np.zeros(nodes.max() + 1, dtype=np.int64)
        place[nodes[: len(paths)]] = np.arange(len(paths))
        return place[nodes[len(paths) :]]

    def centers(self, seed: int) -> NDArray[np.float64]:
        """Return the centers that the theory's decoder finds."""
        tree = TreeParameters.of(self.plan)
        decoding = TreeDecoding.of(tree, self.plan.facts, THEORY)
        grown = BuildParameters(self.plan.clusters, decoding.expansion, decoding.rounds)
        every = expands_all(tree, grown.group)
        return k_means_decoder(
            nets_of(self.plan), self, self, grown, proved=True, complete=every, random_state=seed
        ).centers


def play_one(name: str, dimension: int, people: int, seed: int) -> tuple[float, float, float, bool]:
    """Play one study; return its cost, the optimum or more, a count's largest error, and was it replaced."""
    generator = np.random.default_rng(seed)
    some = min(people, 10**4)  # of whom a law has as many as it likes
    places = generator.uniform(-0.9, 0.9, (4, dimension)) / math.sqrt(dimension)
    points = places[generator.integers(4, size=some)] + generator.normal(0, 0.01, (some, dimension))
    points /= np.maximum(np.linalg.norm(points, axis=1), 1.0)[:, None]
    plan, replaced = plan_of(name, dimension, people, seed), False
    if name == "default":  # what is stated besides takes nine tenths of the time, and no part in the centers
        if by_law(name, people):
            table = simulate(plan, points, people, random_state=seed)
        else:
            table = play(plan, points, SimulationCoins(seed))
        with threadpool_limits(limits=1):
            found = explained([table], 4, np.random.default_rng(seed), repeats=0).centers
        replaced = not squared_distances(found, _net(plan).places).min(axis=1).any()
        error = _cell_error(plan, table, points)
    elif by_law(name, people):
        tree = DrawnTree(plan, points, generator)
        found, error = tree.centers(seed), tree.largest
    else:
        table = play(plan, points, SimulationCoins(seed))
        found, error = decode(table, random_state=seed, **THEORY).centers, _count_error(plan, table, points)
    near = squared_distances(points, places).argmin(axis=1)
    best = np.array([points[near == each].mean(axis=0) for each in set(near)])
    return normalized_objective(points, found), normalized_objective(points, best), error, replaced


def plan_of(name: str, dimension: int, people: int, seed: int) -> Plan:
    """Return the plan of what is played."""
    if name == "default":  # whose net follows from the seed
        return Plan.design(dimension, 4, 1.0, people, seed=seed)
    return replace(_tree_plan(name, dimension, people), seed=seed)


@lru_cache
def _tree_plan(name: str, dimension: int, people: int) -> Plan:
    return Plan.design(dimension, 4, 1.0, people, **PROTOCOLS[name], **THEORY)


def by_law(name: str, people: int) -> bool:
    """Return whether tables, or counts, are drawn from their law."""
    return people > (10**3 if name.startswith("codewords") else 10**4)


def played(name: str, dimension: int, people: int, runs: int, workers: int = 1) -> dict[str, Any]:
    """Play one protocol; return its worst cost over n beside the promise, and η's room."""
    seen = on_workers(partial(play_one, name, dimension, people), runs, workers)
    plan = plan_of(name, dimension, people, 0)
    told = plan.approximation(None if name == "default" else THEORY)
    cost, optimum = max(each[:2] for each in seen)
    stated = _cell_bound(plan) if name == "default" else _eta(plan)
    return {
        "protocol": name, "d": dimension, "n": people, "runs": runs,
        "by": "law" if by_law(name, people) else "reports",
        "worst cost": cost, "its optimum": optimum, "ratio": told.ratio, "t/n": told.additive / people,
        "violated": sum(c > told.ratio * o + told.additive / people for c, o, _, _ in seen),
        "eta over measured": stated / float(np.quantile([each[2] for each in seen], 1 - FAILURE)),
        "replaced": sum(each[3] for each in seen),
    }  # fmt: skip


def on_workers(play_seed: Callable[[int], Any], runs: int, workers: int) -> list[Any]:
    """Return what every seed gives."""
    if workers <= 1:
        return [play_seed(seed) for seed in range(runs)]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        return list(pool.map(play_seed, range(runs)))


def _net(plan: Plan) -> NetCells:
    (net,) = (view for view in plan.parameters.views if isinstance(view, Net))  # type: ignore[attr-defined]
    return NetCells.from_points(net.points)


def _cell_error(plan: Plan, table: Aggregate, points: NDArray[np.float64]) -> float:
    """Return the largest error of a cell's share of the people."""
    cells, known = _net(plan), net_costs(rows_of(table.table))  # type: ignore[arg-type]
    assert known is not None
    true = np.bincount(cells.of(quantize(points, None, 1.0)[0]), minlength=len(cells.places)) / len(points)
    return float(np.abs(known.shares - true).max())


def _cell_bound(plan: Plan) -> float:
    """Return what no cell's share is wrong by, with probability 1 - FAILURE."""
    assert isinstance(plan.parameters, CodewordParameters)
    logarithm = math.log(2 * len(_net(plan).places) / FAILURE)
    return sum_noise(plan.parameters, plan.expected_users, (1, 1), logarithm)


def _count_error(plan: Plan, table: Aggregate, points: NDArray[np.float64]) -> float:
    """Return the largest error of a count on the deepest level."""
    tree = TreeParameters.of(plan)
    paths = TreePaths(plan, tree)
    nodes = _deepest(plan)
    mine = paths.of(quantize(points, None, 1.0)[0])
    seen, counts = np.unique(np.concatenate([nodes, mine]), axis=0, return_counts=True)
    counts -= (seen[:, None] == nodes).all(axis=2).any(axis=1)
    estimated = tree_oracles(table.table)[0].frequencies(tree.levels, seen)
    return float(np.abs(estimated - counts).max())


def _eta(plan: Plan) -> float:
    """Return η for as many nodes as the deepest level has."""
    settings = {"dimension": plan.dimension, "people": plan.expected_users, "nodes": len(_deepest(plan))}
    return TreeParameters.of(plan).oracle_errors(failure=2 * FAILURE, **settings)[
        0
    ]  # half of β is the counts'


def _deepest(plan: Plan) -> NDArray[np.int64]:
    """Return the paths of the deepest level's nodes."""
    axis = np.linspace(-1, 1, 2_001 if plan.dimension == 1 else 121)  # cells are far wider
    grid = np.stack(np.meshgrid(*[axis] * plan.dimension), axis=-1).reshape(-1, plan.dimension)
    paths = TreePaths(plan, TreeParameters.of(plan))
    return np.unique(paths.of(quantize(grid[(grid**2).sum(axis=1) <= 1], None, 1.0)[0]), axis=0)


def says_something_from(name: str, dimension: int) -> float:
    """Return the n, in steps of 10^(1/4), from which on t is below n; infinity if it is not up to 10^12."""
    for step in range(12, 49):
        people = round(10 ** (step / 4))
        if (told := promise(name, dimension, people)) and told[1].additive < people:
            return people
    return math.inf


def rotation_bias(plan: Plan, point: NDArray[np.float64]) -> NDArray[np.float64]:  # (D,)
    """Return E[z] - w of a report of this point under the plan's rotation, w being the lifted point."""
    parameters = plan.parameters
    assert isinstance(parameters, CodewordParameters)
    law, turn = parameters.randomizer, embedding_matrix(plan, parameters)
    lifted = lift(quantize(point[None], None, 1.0)[0], parameters.count_weight)[0] / SCALE
    y = turn @ lifted
    y /= np.linalg.norm(y)
    t, x = (np.arange(1500) + 0.5) * 0.006, np.linspace(-7, 7, 2801)
    waves = np.sin(np.outer(t, x))
    cosines = np.cos(np.outer(y, t))
    whole = cosines.prod(axis=0)
    below = 0.5 + (whole / t) @ waves * 0.006 / math.pi  # F(x)
    inside = binom.cdf(law.cap - 1, 255, np.clip(1 - below, 0, 1))  # chance to be in the cap at score x
    transform = waves @ inside * (x[1] - x[0])
    mean = (np.sin(np.outer(y, t)) * whole / cosines) @ transform * 0.006 / math.pi  # E[v_j; in the cap]
    surplus = (law.odds - (1 << 24)) / law.total * 256 / law.gain(parameters.embedding)
    return np.asarray(turn.T @ (surplus * mean - y))


def worst_point(plan: Plan, seed: int, looks: int = 6_000) -> tuple[NDArray[np.float64], float]:
    """Return the point whose weight one rotation bends most, by the largest term of the bias, and how much.

    In root mean squares over rotations (`CodewordRandomizer.gain_error`, whose text has the term). Lifted
    points are (a·u, b, a·u') for (u, u') on a sphere of d + 1 coordinates, looked over and then climbed.
    """
    parameters, generator, d = plan.parameters, np.random.default_rng(seed), plan.dimension
    assert isinstance(parameters, CodewordParameters)
    turn, size = embedding_matrix(plan, parameters), parameters.embedding
    turn = turn / np.linalg.norm(turn, axis=0)
    b = parameters.count_weight / SCALE

    def bent(spheres: NDArray[np.float64]) -> NDArray[np.float64]:  # (m, d+1) -> (m,)
        spheres /= np.linalg.norm(spheres, axis=1, keepdims=True)
        spheres[:, d] = np.abs(spheres[:, d])
        y = math.sqrt(1 - b * b) * spheres @ np.delete(turn, d, axis=1).T + b * turn[:, d]
        fourth = (y**4).sum(axis=1, keepdims=True)
        term = (y**3 - y * fourth) / 3 + y * (fourth - 3 / (size + 2)) / 12
        return np.asarray(np.abs(term @ turn[:, d]) / math.sqrt(2 / (3 * size**3)))

    some = generator.standard_normal((looks, d + 1))
    found = bent(some)
    best, largest = some[found.argmax()], float(found.max())
    step = 0.4
    while step > 1e-3:
        near = best + step / math.sqrt(d + 1) * generator.standard_normal((100, d + 1))
        found = bent(near)
        if found.max() > largest:
            best, largest = near[found.argmax()], float(found.max())
        else:
            step *= 0.75
    return np.asarray(best[:d]), largest


def rotation_biases(dimension: int, epsilon: float) -> NDArray[np.float64]:
    """Return the length of the bias for points all over the ball and several rotations."""
    found = []
    for seed in range(5):
        plan = Plan.design(dimension, 4, epsilon, 10**6, seed=seed)
        generator = np.random.default_rng(seed)
        for number in range(POINTS // 5):
            point = generator.standard_normal(dimension)
            point *= (0.99 if number % 2 else 0.5) / np.linalg.norm(point)
            found.append(np.linalg.norm(rotation_bias(plan, point)))
    return np.array(found)


def pairs(apart: float, people: int, seed: int) -> float:
    """Return the excess over k-means in the open of four pairs of tight groups in ten dimensions."""
    generator = np.random.default_rng(seed)
    places = generator.standard_normal((4, 10))
    places *= 0.8 / np.linalg.norm(places, axis=1, keepdims=True)
    half = generator.standard_normal((4, 10))
    half *= apart / 2 / np.linalg.norm(half, axis=1, keepdims=True)
    centers = np.concatenate([places + half, places - half])
    points = np.repeat(centers, 50, axis=0) + generator.normal(0, 0.005, (400, 10))
    plan = Plan.design(10, 8, 1.0, people, seed=seed)
    found = decode(simulate(plan, points, people, random_state=seed), random_state=seed)
    return normalized_objective(points, found.centers) - normalized_objective(points, centers)


def main() -> None:
    """Print every table, and keep it as JSON beside those that were not asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("theorems", "played", "rotation", "pairs"))
    parser.add_argument("--runs", type=int, default=200, help="of what is played (%(default)s)")
    parser.add_argument(
        "--protocols", nargs="+", choices=tuple(PLAYED), default=tuple(PLAYED), help="to play"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes that play (%(default)s)")
    parser.add_argument("--seeds", type=int, default=2, help="of the pairs (%(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file for the figures (%(default)s)")
    arguments = parser.parse_args()
    asked = {arguments.only} if arguments.only else {"theorems", "played", "rotation", "pairs"}
    found: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    kept = [line for line in found.get("played", []) if line["protocol"] not in arguments.protocols]
    found |= {"machine": machine(), **{each: [] for each in asked}}
    for name in PROTOCOLS if "theorems" in asked else ():
        for dimension in (1, 2):
            for people in PEOPLE:
                if (told := promise(name, dimension, people)) is None:
                    continue
                plan, own = told
                shape = plan.parameters
                line: dict[str, Any] = {"protocol": name, "d": dimension, "n": people}
                if not name.startswith("default"):
                    line |= {"T": shape.levels, "q": shape.ratio}  # type: ignore[attr-defined]
                line |= {"ratio": own.ratio, "t/n": own.additive / people}
                found["theorems"].append(line)
                figures = (f"{key} {value:.4g}" for key, value in line.items() if key != "protocol")
                print(name, *figures, sep="  ", flush=True)
            least = says_something_from(name, dimension)
            known = least if math.isfinite(least) else None
            found["theorems"].append({"protocol": name, "d": dimension, "t below n from": known})
            print(f"{name}, d = {dimension}: t < n from n = {least:.2g}", flush=True)
    grid = [(name, d, n) for name in arguments.protocols for d in (1, 2) for n in PLAYED[name]]
    for name, dimension, people in grid if "played" in asked else ():
        kept.append(line := played(name, dimension, people, arguments.runs, arguments.workers))
        found["played"] = sorted(kept, key=lambda each: list(PLAYED).index(each["protocol"]))
        write_json(arguments.out, found)
        words = (f"{key} {value:.4g}" for key, value in line.items() if not isinstance(value, str))
        print(name, *words, line["by"], sep="  ", flush=True)
    for dimension, epsilon in ROTATIONS if "rotation" in asked else ():
        sizes = np.quantile(rotation_biases(dimension, epsilon), (0.1, 0.5, 1.0)).tolist()
        found["rotation"].append({"d": dimension, "epsilon": epsilon, "quantiles": sizes})
        shown = ", ".join(f"{size:.2%}" for size in sizes)
        print(f"one rotation, d = {dimension}, ε = {epsilon:g}: bias {shown} (a tenth, half, all points)")
    for dimension in CELLS_OF if "rotation" in asked else ():
        roots = [
            worst_point(Plan.design(dimension, 4, 1.0, 10**6, seed=seed), seed)[1] for seed in range(TURNS)
        ]
        found["rotation"].append({"d": dimension, "worst point": sorted(roots)})
        print(
            f"worst points of {TURNS} rotations, d = {dimension}: {np.median(roots):.1f} root mean squares "
            f"of the bias in the median, {max(roots):.1f} at most",
            flush=True,
        )
    for apart, people in [(apart, n) for apart in APART for n in MANY] if "pairs" in asked else ():
        excess = [pairs(apart, people, seed) for seed in range(arguments.seeds)]
        found["pairs"].append({"apart": apart, "n": people, "excess": excess})
        shown = ", ".join(f"{one:.1e}" for one in excess)
        print(f"pairs {apart} apart, n = {people:.0e}: excess {shown} of {apart**2 / 4:.1e}", flush=True)
    write_json(arguments.out, found)
