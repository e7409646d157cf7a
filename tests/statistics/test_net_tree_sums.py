"""Theorem 2 over the net tree: sent and drawn sums agree, the error is flat in n, the centers are right."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from coterie.centers import decode
from coterie.centers.net_tree import nets_of, tree_oracles
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.encode.net_tree_sums import NetTreeSumEncoder
from coterie.engines import Inline, drawn_table
from coterie.metrics import normalized_objective
from coterie.oracles.tree_sums import TreeSums
from coterie.plan import Plan
from coterie.plan.net_tree_sums import NetTreeSumParameters

FALSE_ALARM = 1e-7
FLAT = 0.20  # relative change of the error from 10^5 to 10^6 people


def plan_of(people, dimension=2, clusters=4, **options):
    return Plan.design(
        dimension, clusters, 1.0, people, protocol="net-tree-sums", model="shuffle", delta=1e-6,
        minimum_batch=people, **options,
    )  # fmt: skip


def ids_of(people, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (people, 12), dtype=np.uint8)


def true_table(plan, points):
    rows, vectors, _ = NetTreeSumEncoder(plan).contributions(points, ids_of(len(points)))
    table = np.zeros((plan.parameters.rows, plan.parameters.coordinates), dtype=np.int64)
    np.add.at(table, rows, vectors[:, None])
    return table


def test_sent_sums_are_the_true_ones_bit_for_bit_and_carry_the_stated_noise(monkeypatch):
    people, options = 2000, {"levels": 2, "buckets": 32}
    points, _, _ = gaussian_mixture(people, 2, 4, 5.0, 1)
    plan = plan_of(people, **options)
    # Without the noise nothing but the sums is left: every bit is right.
    with monkeypatch.context() as patched:
        patched.setattr(NetTreeSumParameters, "noise_scale", Fraction(0))
        reports = NetTreeSumEncoder(plan).encode(points, ids_of(people), SimulationCoins(0))
    table = Inline().aggregate(plan, [reports]).table
    assert (plan.parameters.sums().centered(table.sums) == true_table(plan, points)).all()
    # With it, sent and drawn sums carry the same.
    reports = NetTreeSumEncoder(plan).encode(points, ids_of(people), SimulationCoins(1))
    sigma = plan.parameters.total_noise(people) * plan.parameters.grid
    sent = plan.parameters.sums().centered(Inline().aggregate(plan, [reports]).table.sums)
    sent -= true_table(plan, points)
    assert stats.kstest(sent.ravel() / sigma, "norm").pvalue > FALSE_ALARM
    drawn = np.concatenate(
        [
            plan.parameters.sums().centered(drawn_table(plan, points, SimulationCoins(seed))[0].table.sums)
            - true_table(plan, points)
            for seed in range(20)
        ]
    ).ravel()  # 3,840 numbers
    assert stats.kstest(drawn / sigma, "norm").pvalue > FALSE_ALARM
    total = float(((drawn / sigma) ** 2).sum())
    assert 2 * min(stats.chi2.cdf(total, drawn.size), stats.chi2.sf(total, drawn.size)) > FALSE_ALARM
    for wrong in (0.85, 1.15):  # a wrong scale is seen
        assert (
            2 * min(stats.chi2.cdf(total / wrong**2, drawn.size), stats.chi2.sf(total / wrong**2, drawn.size))
            < FALSE_ALARM
        )


def oracle_errors(people, seed):
    """Errors of counts and sums at the children of the root and at the deepest nodes that people are in."""
    plan = plan_of(people, seed=seed)
    points, _, _ = gaussian_mixture(people, 2, 4, 20.0, seed)
    oracle = TreeSums(drawn_table(plan, points, SimulationCoins(seed))[0].table)
    nets = nets_of(plan)
    paths = nets.paths(nets.representatives(points))
    counts, vectors = [], []
    for level in (1, plan.parameters.levels):
        nodes, inverse = np.unique(paths[:, : level + 1], axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        truth = np.zeros((len(nodes), 2))
        np.add.at(truth, inverse, points)
        counts.append(oracle.frequencies(level, nodes) - np.bincount(inverse))
        vectors.append((oracle.sums(level, nodes) - truth).ravel())
    # A median, because some of thousands of nodes share a bucket.
    return np.median(np.abs(np.concatenate(counts))), np.median(np.abs(np.concatenate(vectors)))


def test_the_error_is_flat_in_the_people():
    few, many = (
        np.mean([oracle_errors(people, seed) for seed in range(2)], axis=0) for people in (10**5, 10**6)
    )
    assert np.abs(many / few - 1).max() < FLAT
    assert few[0] == pytest.approx(0.6745 * 19.2 * 2**0.5, rel=0.15)  # σ/b, of a curator's size


@pytest.mark.parametrize(("dimension", "clusters", "at_most"), [(2, 4, 0.003), (100, 8, 0.002)])
def test_theorem_2_end_to_end(dimension, clusters, at_most):
    people = 200_000
    for seed in range(2):
        points, _, _ = gaussian_mixture(people, dimension, clusters, 100.0, 40 + seed)
        plan = plan_of(people, dimension, clusters, seed=seed)
        result = decode(drawn_table(plan, points, SimulationCoins(seed))[0], random_state=seed)
        assert normalized_objective(points, result.centers) <= at_most
        assert result.supported == clusters
        assert result.guarantee.epsilon == 1.0


def test_the_letter_of_the_paper_decodes_too():
    people = 100_000
    points, _, _ = gaussian_mixture(people, 2, 4, 100.0, 7)
    plan = plan_of(people)
    result = decode(drawn_table(plan, points, SimulationCoins(7))[0], random_state=0, strays=0.0)
    assert normalized_objective(points, result.centers) < 0.003
    assert result.tree.pooled.all()


def test_phantoms_are_found_out():
    # So few buckets that empty nodes share theirs with people: without a second look they would be leaves.
    people = 20_000
    points = np.repeat([[0.8, 0.0], [-0.5, 0.6]], people // 2, axis=0)
    phantoms = left = 0
    for seed in range(40):
        other = plan_of(people, clusters=2, buckets=40, levels=4, seed=seed)
        table = drawn_table(other, points, SimulationCoins(seed))[0]
        confirmed, plain = tree_oracles(table.table, floored=True)
        nets = nets_of(other)
        mine = {tuple(path) for path in nets.paths(nets.representatives(points[[0, -1]]))[:, :2].tolist()}
        names = nets.roots_children()
        paths = np.stack([nets.root_words(names), nets.digits(names)], axis=1)
        empty = np.array([tuple(path) not in mine for path in paths.tolist()])
        before, after = plain.frequencies(1, paths), confirmed.frequencies(1, paths)
        phantoms += int((before[empty] > 5000).sum())
        left += int((after[empty] > 5000).sum())
        assert (after[~empty] > 5000).all()  # nobody real is lost, not even where two real nodes share
    assert phantoms > 10
    assert left <= phantoms // 5
