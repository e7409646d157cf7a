"""Whether the number of clusters is found: the mixture with k = 8, r = 8, d = 100, from simulated rows.

    python benchmarks/auto_k.py [--seeds 50] [--users 1000000] [--epsilon 1]

Rows are drawn from their law, the true row of a sample of the mixture plus normal noise of the plan's known
deviation, instead of from a million reports a seed: the same numbers, a hundred times faster. The plan says 8
clusters; up to 18 are looked for.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coterie import Plan
from coterie.centers.choose import choose_clusters, most_clusters
from coterie.datasets import gaussian_mixture
from coterie.oracles.rows import Frame, Lift, ViewRows
from coterie.plan.codeword import CodewordParameters
from coterie.plan.views import Halfspaces

SAMPLE = 40_000  # people whose true rows stand for everybody's
CHUNK = 8000


def simulated_rows(
    plan: Plan, points: NDArray[np.float64], people: int, rng: np.random.Generator
) -> list[ViewRows]:
    """Return the rows that `people` like the points would give, with noise of the plan's deviation."""
    parameters = plan.parameters
    assert isinstance(parameters, CodewordParameters)
    gain = parameters.randomizer.gain(parameters.embedding)
    second = parameters.randomizer.second_gain(parameters.embedding)
    spread = math.sqrt(1 + second / (plan.dimension + 2)) / gain
    lift = Lift.from_count_weight(parameters.count_weight, plan.dimension)
    frame = Frame(np.zeros(plan.dimension), 1.0)
    total = sum(view.weight for view in parameters.views)
    views = []
    for number, view in enumerate(parameters.views):
        share = people * view.weight / total
        geometry = view.geometry(plan.randomness_key, number, plan.dimension)
        each = share / view.rows if isinstance(view, Halfspaces) else share
        deviations = np.full(view.rows, spread / math.sqrt(each))
        shape = (view.rows, plan.dimension + 2)
        rows = ViewRows(np.zeros(shape), deviations, int(share), geometry, np.arange(view.rows), frame, lift)
        parts = np.array_split(points, -(-len(points) // CHUNK))
        true = sum(rows.predicted(part, np.full(len(part), 1 / len(points))) for part in parts)
        noise = deviations[:, None] * rng.standard_normal(shape)
        views.append(replace(rows, vectors=true + noise))
    return views


def main() -> None:
    """Print the number found for each seed, and how often it is right and within one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=50_000)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--dimension", type=int, default=100)
    parser.add_argument("--separation", type=float, default=8.0)
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    found = []
    for seed in range(given.first_seed, given.first_seed + given.seeds):
        points, _, _ = gaussian_mixture(
            SAMPLE, given.dimension, given.clusters, separation=given.separation, random_state=seed
        )
        plan = Plan.design(given.dimension, given.clusters, given.epsilon, given.users, seed=seed)
        rng = np.random.default_rng(seed)
        views = simulated_rows(plan, points, given.users, rng)
        started = time.perf_counter()
        found.append(choose_clusters(views, most_clusters(given.clusters), rng))
        print(f"seed {seed}: {found[-1]} clusters, {time.perf_counter() - started:.1f} s", flush=True)
    off = np.abs(np.array(found) - given.clusters)
    print(f"right in {(off == 0).mean():.0%}, within one in {(off <= 1).mean():.0%} of {len(off)} seeds")


if __name__ == "__main__":
    main()
