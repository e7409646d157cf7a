"""What is proved of the centers, and what floor remains where nothing is.

    python -m benchmarks guarantees [--only theorems|played|rotation|pairs] [--seeds 2] [--runs 200]

*theorems*: ratio and t of `plan.approximation` for the default and for each protocol of the paper at
`constants="theory"`, k = 4, ε = 1 (the default also ε = 4), by formula: for the decoder's own solver (κ =
26.7) and for a perfect one, and the n from which t is below n, what one center in the middle may cost.
*played*: the same plans, played in one and two dimensions: the worst cost of all runs beside ratio·OPT + t,
and the lemmas' η over the 90 % quantile of the largest error of a count, of the default's cells or of the
tree's deepest level. Trees, and the default up to 10⁴ people, are played report by report, the default beyond
by the law of its table. *rotation*: how far the mean of a codeword is from what it
stands for under one public rotation, exactly: the law of a score Σ y_j·v_j has the characteristic function
Π cos(y_j·t), and E[v_j; chosen] is one integral of it. *pairs*: four pairs of tight groups in ten
dimensions, tables drawn from their law, which has no such bias: the excess of the default protocol over
k-means in the open, in squared radii.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

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
from coterie.protocols.paper.net_tree.decode import tree_oracles
from coterie.protocols.paper.tree.encode import TreePaths

RESULTS = FOLDER / "guarantees.json"
SUMS = {"protocol": "net-tree-sums", "model": "shuffle", "delta": 1e-6}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "default": {},
    "default, ε = 4": {"epsilon": 4.0},
    "net-tree": {"protocol": "net-tree"},
    "codewords": {"protocol": "net-tree", "randomizer": "codeword"},
    "net-tree-sums": SUMS,
}
SHUFFLED = {"protocol": "net-tree", "model": "shuffle", "delta": 1e-6}
PLAYED: dict[str, dict[str, Any]] = {  # sums have no reports that could be played: `benchmarks theorem_2`
    "default": {},
    "net-tree": {**PROTOCOLS["net-tree"], "constants": "theory"},
    "codewords": {**PROTOCOLS["codewords"], "constants": "theory"},
    "codewords, shuffled": {**SHUFFLED, "constants": "theory"},
}
# Of each protocol and d: n, and the share of `--runs` that are played, for what they cost.
PLAYED_PEOPLE: dict[str, tuple[tuple[int, float], ...]] = {
    "net-tree": ((10**3, 1), (10**4, 1), (10**5, 1), (10**6, 0.1)),
    "default": ((10**4, 0.1), (10**6, 0.1), (10**10, 0.1)),
    "codewords": ((10**3, 1), (10**4, 0.2), (10**5, 0.02)),
    "codewords, shuffled": ((10**3, 1), (10**4, 0.2), (10**5, 0.02)),
}
BY_REPORTS = 10**4  # up to which the default is played report by report
FAILURE = 0.1  # β of η, and of its quantile
THEORY: dict[str, Any] = {"constants": "theory"}
PEOPLE = (10**3, 10**4, 10**5, 10**6, 10**8, 10**10, 10**12)
ROTATIONS = [(100, 1.0), (100, 2.0), (100, 4.0), (100, 6.0), (100, 8.0), (10, 1.0), (10, 4.0)]  # d, ε
POINTS = 40  # of each, in the ball, five rotations
APART = (0.3, 0.1)  # radii between the two groups of a pair; cells of the views are wider
MANY = (10**6, 10**8, 10**9)


def promise(name: str, dimension: int, people: int) -> tuple[Plan, Approximation, Approximation] | None:
    """Return a plan with its promise for the decoder's own solver and a perfect one; None: refused."""
    options = {"epsilon": 1.0, **PROTOCOLS[name]}
    if name.startswith("default"):  # its solver is its own
        plan = Plan.design(dimension, 4, expected_users=people, **options)
        return plan, (told := plan.approximation()), told
    try:
        plan = Plan.design(dimension, 4, expected_users=people, **options, **THEORY)
    except ValueError:  # sums have a modulus for so many people only
        return None
    return plan, plan.approximation(THEORY), plan.approximation(THEORY, solver_ratio=1.0)


def played(name: str, dimension: int, people: int, runs: int) -> dict[str, Any]:
    """Play one protocol; return its worst cost over n beside the promise, and η's room."""
    costs, errors, replaced = [], [], 0
    default = name == "default"
    for seed in range(runs):
        generator = np.random.default_rng(seed)
        some = min(people, 10**4) if default else people  # of whom a table by law has as many as it likes
        places = generator.uniform(-0.9, 0.9, (4, dimension)) / math.sqrt(dimension)
        points = places[generator.integers(4, size=some)] + generator.normal(0, 0.01, (some, dimension))
        points /= np.maximum(np.linalg.norm(points, axis=1), 1.0)[:, None]
        plan = Plan.design(dimension, 4, 1.0, people, seed=seed, **PLAYED[name])
        if default and people > BY_REPORTS:
            table = simulate(plan, points, people, random_state=seed)
        else:
            table = play(plan, points, SimulationCoins(seed))
        if default:  # what is stated besides takes nine tenths of the time, and no part in the centers
            found = explained([table], 4, np.random.default_rng(seed), repeats=0).centers
            replaced += not squared_distances(found, _net(plan).places).min(axis=1).any()
        else:
            found = decode(table, random_state=seed, **THEORY).centers
        near = squared_distances(points, places).argmin(axis=1)
        best = np.array([points[near == each].mean(axis=0) for each in set(near)])  # at least the optimum
        costs.append((normalized_objective(points, found), normalized_objective(points, best)))
        error = _cell_error if default else _count_error
        errors.append(error(plan, table, points))
    told = plan.approximation() if default else plan.approximation(THEORY)
    cost, optimum = max(costs)
    largest, stated = np.array(errors).T
    return {
        "protocol": name, "d": dimension, "n": people, "runs": runs,
        "worst cost": cost, "its optimum": optimum, "ratio": told.ratio, "t/n": told.additive / people,
        "violated": sum(c > told.ratio * o + told.additive / people for c, o in costs),
        "eta over measured": float(stated.mean() / np.quantile(largest, 1 - FAILURE)),
        "replaced": replaced,
    }  # fmt: skip


def _net(plan: Plan) -> NetCells:
    (net,) = (view for view in plan.parameters.views if isinstance(view, Net))  # type: ignore[attr-defined]
    return NetCells.from_points(net.points)


def _cell_error(plan: Plan, table: Aggregate, points: NDArray[np.float64]) -> tuple[float, float]:
    """Return the largest error of a cell's share of the people, and the bound for as many cells."""
    parameters, cells = plan.parameters, _net(plan)
    assert isinstance(parameters, CodewordParameters)
    known = net_costs(rows_of(table.table))  # type: ignore[arg-type]
    assert known is not None
    true = np.bincount(cells.of(quantize(points, None, 1.0)[0]), minlength=len(cells.places)) / len(points)
    logarithm = math.log(2 * len(true) / FAILURE)
    return float(np.abs(known.shares - true).max()), sum_noise(parameters, table.count, (1, 1), logarithm)


def _count_error(plan: Plan, table: Aggregate, points: NDArray[np.float64]) -> tuple[float, float]:
    """Return the largest error of a count on the deepest level, and η for as many nodes."""
    tree: Any = plan.parameters
    paths = TreePaths(plan, tree)
    dimension = points.shape[1]
    axis = np.linspace(-1, 1, 2_001 if dimension == 1 else 61)  # cells are far wider
    grid = np.stack(np.meshgrid(*[axis] * dimension), axis=-1).reshape(-1, dimension)
    nodes = np.unique(paths.of(quantize(grid[(grid**2).sum(axis=1) <= 1], None, 1.0)[0]), axis=0)
    mine = paths.of(quantize(points, None, 1.0)[0])
    seen, counts = np.unique(np.concatenate([nodes, mine]), axis=0, return_counts=True)
    counts -= (seen[:, None] == nodes).all(axis=2).any(axis=1)
    estimated = tree_oracles(table.table)[0].frequencies(tree.levels, seen)
    eta, _ = tree.oracle_errors(dimension=dimension, people=len(points), failure=2 * FAILURE, nodes=len(seen))
    return float(np.abs(estimated - counts).max()), eta  # half of β is the counts'


def says_something_from(name: str, dimension: int, perfect: bool) -> float:
    """Return the n, in steps of 10^(1/4), from which on t is below n; infinity if it is not up to 10^12."""
    for step in range(12, 49):
        people = round(10 ** (step / 4))
        found = promise(name, dimension, people)
        if found and (found[2] if perfect else found[1]).additive < people:
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
    parser.add_argument("--seeds", type=int, default=2, help="of the pairs (%(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file for the figures (%(default)s)")
    arguments = parser.parse_args()
    asked = {arguments.only} if arguments.only else {"theorems", "played", "rotation", "pairs"}
    found: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    found |= {"machine": machine(), **{each: [] for each in asked}}
    for name in PROTOCOLS if "theorems" in asked else ():
        for dimension in (1, 2):
            for people in PEOPLE:
                if (told := promise(name, dimension, people)) is None:
                    continue
                plan, own, perfect = told
                shape = plan.parameters
                line: dict[str, Any] = {"protocol": name, "d": dimension, "n": people}
                if not name.startswith("default"):
                    line |= {"T": shape.levels, "q": shape.ratio}  # type: ignore[attr-defined]
                line |= {"ratio": own.ratio, "t/n": own.additive / people}
                if own is not perfect:
                    line |= {"perfect ratio": perfect.ratio, "perfect t/n": perfect.additive / people}
                found["theorems"].append(line)
                figures = (f"{key} {value:.4g}" for key, value in line.items() if key != "protocol")
                print(name, *figures, sep="  ", flush=True)
            least = [says_something_from(name, dimension, perfect) for perfect in (False, True)]
            known = [people if math.isfinite(people) else None for people in least]
            found["theorems"].append({"protocol": name, "d": dimension, "t below n from": known})
            shown = f"{least[0]:.2g}, by a perfect solver {least[1]:.2g}"
            print(f"{name}, d = {dimension}: t < n from n = {shown}", flush=True)
    grid = [(name, d, *each) for name, some in PLAYED_PEOPLE.items() for d in (1, 2) for each in some]
    for name, dimension, people, share in grid if "played" in asked else ():
        line = played(name, dimension, people, max(round(share * arguments.runs), 1))
        found["played"].append(line)
        write_json(arguments.out, found)
        print(
            *(f"{key} {value:.4g}" if key != "protocol" else value for key, value in line.items()), flush=True
        )
    for dimension, epsilon in ROTATIONS if "rotation" in asked else ():
        sizes = np.quantile(rotation_biases(dimension, epsilon), (0.1, 0.5, 1.0)).tolist()
        found["rotation"].append({"d": dimension, "epsilon": epsilon, "quantiles": sizes})
        shown = ", ".join(f"{size:.2%}" for size in sizes)
        print(f"one rotation, d = {dimension}, ε = {epsilon:g}: bias {shown} (a tenth, half, all points)")
    for apart, people in [(apart, n) for apart in APART for n in MANY] if "pairs" in asked else ():
        excess = [pairs(apart, people, seed) for seed in range(arguments.seeds)]
        found["pairs"].append({"apart": apart, "n": people, "excess": excess})
        shown = ", ".join(f"{one:.1e}" for one in excess)
        print(f"pairs {apart} apart, n = {people:.0e}: excess {shown} of {apart**2 / 4:.1e}", flush=True)
    write_json(arguments.out, found)
