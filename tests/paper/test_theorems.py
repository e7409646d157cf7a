"""Theorems 1 and 2 end to end, at constants for which they are proved: every inequality of their chain.

The bounds of Theorem 22 are made of quantities that one study shows: unmatched and moved mass, the cost of
the coreset, of the partition and of the centers. Each step is checked with what was measured, and then the
whole.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans

from benchmarks.reproduction.coresets import cost, leaf_indices, partition_cost
from coterie.centers import LocalSearch, decode
from coterie.coins import SimulationCoins
from coterie.engines import drawn_table, play
from coterie.plan import Plan
from coterie.protocols.paper.approximation import sums_of_noise
from coterie.protocols.paper.coreset import WeightedPointSet
from coterie.protocols.paper.net_tree.decode import tree_oracles
from coterie.protocols.paper.net_tree_sums.oracle import TreeSums
from tests.plans import needs

THEORY = {"constants": "theory"}
FAILURE = 1e-6  # β, so that a study that breaks its bound is no chance
RARE = (
    1e-3  # β of Theorem 2, which the buckets pay for; sums over leaves stay far below N times the worst one
)
SUMS = {"protocol": "net-tree-sums", "model": "shuffle", "delta": 1e-6}


class Exact:
    """k-means on a line, solved exactly: parts are intervals, found by dynamic programming (κ = 1)."""

    def __init__(self, clusters):
        self.clusters = clusters

    def fit(self, X, y=None, sample_weight=None):
        order = np.argsort(X[:, 0])
        x, w = X[order, 0], np.ones(len(X)) if sample_weight is None else sample_weight[order]
        sums = [np.concatenate([[0.0], np.cumsum(w * x**power)]) for power in range(3)]

        def mean(i, j):
            return (sums[1][j] - sums[1][i]) / (sums[0][j] - sums[0][i])

        def interval(i, j):  # cost of points i to j - 1 in one part
            return sums[2][j] - sums[2][i] - (sums[1][j] - sums[1][i]) * mean(i, j)

        count = len(x)
        best = {(0, 0): (0.0, ())}
        for part in range(1, min(self.clusters, count) + 1):
            for j in range(part, count + 1):
                best[part, j] = min(
                    (best[part - 1, i][0] + interval(i, j), (*best[part - 1, i][1], (i, j)))
                    for i in range(part - 1, j)
                    if (part - 1, i) in best
                )
        self.inertia_, parts = best[min(self.clusters, count), count]
        self.cluster_centers_ = np.array([[mean(*part)] for part in parts])
        return self


def people_of(seed, dimension, count):
    """Three uneven groups and a tenth of the people anywhere."""
    generator = np.random.default_rng(seed)
    centers = generator.uniform(-0.8, 0.8, (3, dimension)) / math.sqrt(dimension)
    points = centers[generator.choice(3, count, p=[0.6, 0.3, 0.1])]
    points = points + generator.normal(0, 0.05, points.shape)
    points[::10] = generator.uniform(-1, 1, points[::10].shape) / math.sqrt(dimension)
    return points / np.maximum(1, np.linalg.norm(points, axis=1, keepdims=True))


def check_the_chain(plan, points, result, promise, kappa):
    """Check each step of the proof of Theorem 22, where nothing is projected, and then its statement."""
    tree, xi, n = result.tree, promise.slack, len(points)
    shape, people = plan.parameters, WeightedPointSet(points, np.ones(n))
    rho, r = shape.bias, float(shape.ratio) ** -shape.levels
    index = leaf_indices(tree.tree, points)
    leaves = tree.tree.leaf_points()
    true = np.bincount(index, minlength=len(leaves))
    unmatched = np.abs(true - tree.coreset.weights).sum()  # Lemma 16
    moved = ((points - leaves[index]) ** 2).sum()
    assert unmatched <= len(leaves) * promise.count_error + rho * n
    assert moved <= n * r**2
    # Lemma 9, both ways, and the solver between them.
    coreset = tree.coreset
    open_ = KMeans(plan.clusters, n_init=5, random_state=0).fit(points)
    here = coreset.weights @ ((leaves - tree.projected_centers[tree.parts]) ** 2).sum(axis=1)
    least = KMeans(plan.clusters, n_init=5, random_state=0).fit(leaves, sample_weight=coreset.weights + 1e-9)
    assert here <= kappa * least.inertia_ + 1e-6
    beside = cost(coreset, open_.cluster_centers_)
    assert beside <= (1 + xi) * open_.inertia_ + (2 + r) ** 2 * unmatched + (1 + 1 / xi) * moved
    parts = tree.parts[index]
    left = ((points - tree.projected_centers[parts]) ** 2).sum()
    assert left <= (1 + xi) * here + (2 + 2 * r) ** 2 * (1 + xi) * unmatched + (1 + 1 / xi) * moved
    # The last term, twice for a bias.
    averaged = 8 * (promise.count_error + promise.vector_error) * len(leaves)
    found, wrong = cost(people, result.centers), 2 * rho / (1 - rho)
    assert (
        found <= partition_cost(people, parts) + (2 if rho else 1) * averaged / (1 - rho) + 2 * wrong**2 * n
    )
    assert found <= promise.ratio * open_.inertia_ + promise.additive
    return found, open_.inertia_


def check_the_exchanges(plan, points, table, result, promise):
    """Check each step of the proof for exchanges among all leaves, and then its statement."""
    tree, n, shape, k = result.tree, len(points), plan.parameters, plan.clusters
    rho, r, d = shape.bias, float(shape.ratio) ** -shape.levels, plan.dimension
    exchange, averaged, most = sums_of_noise(shape, replace(plan.facts, expected_users=n), promise.failure)
    index, leaves = leaf_indices(tree.tree, points), tree.tree.leaf_points()
    assert len(leaves) <= most
    true = np.bincount(index, minlength=len(leaves))
    oracle = {"net-tree-sums": lambda held: (TreeSums(held),) * 2}.get(plan.protocol, tree_oracles)
    counts, vectors = oracle(table.table)
    paths = tree.tree.levels[-1].paths
    wrong = counts.frequencies(shape.levels, paths) - true
    assert (np.abs(leaves).max(axis=1) <= 1 + r).all()
    # No exchange lowers the estimated cost, and noise adds E' at most to what it changes.
    apart = ((leaves[:, None] - leaves) ** 2).sum(axis=2)
    chosen = ((leaves[:, None] - tree.projected_centers) ** 2).sum(axis=2).argmin(axis=0)
    assert (leaves[chosen] == tree.projected_centers).all()
    now = apart[:, chosen].min(axis=1)
    others = np.stack(
        [
            np.minimum(apart, np.delete(apart[:, chosen], leaving, axis=1).min(axis=1)[:, None])
            - now[:, None]
            for leaving in range(k)
        ]
    )  # (k, leaves, who comes): what each leaf's people pay more
    coming = np.setdiff1d(np.arange(len(leaves)), chosen)
    gains = np.einsum("l,klc->kc", true + wrong, others[:, :, coming])
    assert gains.min() >= -0.01 * exchange
    added = np.abs(np.einsum("l,klc->kc", wrong, others)).max()
    assert added <= exchange + 4 * rho * n
    # What the exchanges leave, beside the best centers anywhere; then the leaves' people, and their means.
    near = n * r**2
    best = KMeans(k, n_init=5, random_state=0).fit(leaves, sample_weight=true + 1e-9).inertia_
    assert true @ now <= 25 * best + 5 / 3 * (k * (1.01 * exchange + 4 * rho * n) + 4 * near)
    parts = tree.parts[index]
    left = ((points - tree.projected_centers[parts]) ** 2).sum()
    assert math.sqrt(left) <= math.sqrt(true @ now) + math.sqrt(near)
    sums = np.zeros((k, d))
    np.add.at(sums, parts, points)
    missed = np.linalg.norm(vectors.part_sums(shape.levels, paths, tree.parts, k) - sums, axis=1).sum()
    missed += np.abs(np.bincount(tree.parts, wrong, minlength=k)).sum()
    assert missed <= averaged + 4 * rho * n
    people, wide = WeightedPointSet(points, np.ones(n)), 2 * rho / (1 - rho)
    found = cost(people, result.centers)
    bent = (2 if rho else 1) * 6 * averaged / (1 - rho) + 2 * wide**2 * n
    assert found <= partition_cost(people, parts) + bent
    open_ = KMeans(k, n_init=5, random_state=0).fit(points).inertia_
    assert found <= promise.ratio * open_ + promise.additive
    return found, open_, added / exchange, missed / averaged


@pytest.mark.parametrize("randomizer", ["djw", "codeword"])
@pytest.mark.parametrize(("dimension", "count"), [(1, 60_000), (2, 30_000)])
def test_theorem_1_end_to_end_at_the_theorys_constants(randomizer, dimension, count):
    options = {"protocol": "net-tree", "randomizer": randomizer, **THEORY}
    for seed in range(2):
        plan, points = (
            Plan.design(dimension, 3, 4.0, count, **options, seed=seed),
            people_of(seed, dimension, count),
        )
        table = play(plan, points, SimulationCoins(seed))
        result = decode(table, random_state=seed, **THEORY)
        promise = plan.approximation(THEORY, failure=FAILURE)
        _, _, *rooms = check_the_exchanges(plan, points, table, result, promise)
        assert min(rooms) > 1e-3  # of the noise that is allowed, at any exchange and beta = 1e-6
        clamped = decode(table, random_state=seed, solver=LocalSearch(3, random_state=seed), **THEORY)
        promise = plan.approximation(THEORY, failure=FAILURE, solver_ratio=LocalSearch.ratio)
        check_the_chain(plan, points, clamped, promise, LocalSearch.ratio)


@needs("net-tree-sums")
@pytest.mark.parametrize(("epsilon", "seed"), [(1.0, 0), (4.0, 1)])
def test_theorem_2_end_to_end_at_the_theorys_constants_where_it_says_something(epsilon, seed):
    # On a line k-means can be solved exactly: κ = 1, and t is less than what one center may cost.
    count = 50_000
    plan = Plan.design(1, 3, epsilon, count, **SUMS, **THEORY, beta=RARE, minimum_batch=count, seed=seed)
    points = people_of(seed, 1, count)
    table = drawn_table(plan, points, SimulationCoins(seed))[0]
    promise = plan.approximation(THEORY, failure=RARE, solver_ratio=1.0)
    result = decode(table, random_state=seed, solver=Exact(3), **THEORY)
    found, best = check_the_chain(plan, points, result, promise, 1.0)
    assert result.tree.shared == 0
    assert promise.ratio <= 1.5 * (1 + 1e-9)
    assert promise.additive < 0.7 * count
    assert found < best + 0.01 * count  # and what is found is much better
    own, promise = decode(table, random_state=seed, **THEORY), plan.approximation(THEORY, failure=RARE)
    check_the_exchanges(plan, points, table, own, promise)
    assert promise.additive < 0.7 * count


@needs("net-tree-sums")
def test_the_chain_sees_people_who_are_missing():
    count = 50_000
    plan, points = (
        Plan.design(1, 3, 4.0, count, **SUMS, **THEORY, minimum_batch=count, seed=0),
        people_of(0, 1, count),
    )
    table = drawn_table(plan, points, SimulationCoins(0))[0]
    promise = plan.approximation(THEORY, solver_ratio=1.0)
    result = decode(table, random_state=0, solver=Exact(3), **THEORY)
    with pytest.raises(AssertionError):
        check_the_chain(plan, points[: 9 * count // 10], result, promise, 1.0)
