"""Theorem 22's guarantee with its constants (that noise-free decoding keeps it: tests/paper)."""

import math
from dataclasses import replace

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.net_sizes import packing_ratio
from coterie.geometry.nets import NetFamily
from coterie.plan import Plan
from coterie.plan.approximation import approximation, complete_nodes, most_nodes
from coterie.plan.tree import TreeDecoding
from coterie.randomizers.sphere import djw_norm

LETTER = {"constants": "theory"}  # the paper's decoder


def theory(users=200_000, **options):
    return Plan.design(2, 4, 1.0, users, protocol="net-tree", constants="theory", levels=5, **options)


def test_the_additive_error_grows_as_root_n_and_one_over_epsilon():
    def noise(users, epsilon):  # the part that is the oracles' alone
        plan = Plan.design(2, 4, epsilon, users, protocol="net-tree", constants="theory", levels=5)
        found = plan.approximation(LETTER)
        return found.count_error, found.vector_error

    base = noise(10**6, 0.5)
    assert np.array(noise(16 * 10**6, 0.5)) / base == pytest.approx([4, 4], rel=1e-6)
    assert np.array(noise(10**6, 0.125)) / base == pytest.approx([4, 4], rel=0.01)


def test_the_errors_are_the_oracles_bounds():
    from coterie.aggregate import Aggregate
    from coterie.centers.net_tree import oracles_of

    plan = theory(1000)
    table = Aggregate(plan)
    table.add(np.zeros((1000, plan.report_width), dtype=np.uint8))
    frequencies, vectors = oracles_of(table.table)
    found = plan.approximation(LETTER, people=1000, failure=0.1)
    nodes = sum(complete_nodes(plan.parameters))
    assert found.count_error == pytest.approx(frequencies.bound(0.05, nodes))
    assert found.vector_error == pytest.approx(vectors.bound(0.05, nodes))


def test_the_union_is_over_the_complete_tree():
    # BuildTree chooses its nodes by the noise, so the bound must cover all that it could have asked for.
    plan = theory()
    assert plan.approximation(LETTER, nodes=10).count_error == plan.approximation(LETTER).count_error
    shape = plan.parameters
    nets = NetFamily.from_key(bytes(16), 2, 5)
    assert complete_nodes(shape)[0] >= len(nets.roots_children())


def test_units_and_options():
    plan = theory()
    assert plan.additive_error(LETTER) == plan.approximation(LETTER).additive
    far = replace(plan, radius=3.0)
    assert far.additive_error(LETTER) == pytest.approx(9 * plan.additive_error(LETTER))
    assert plan.additive_error(LETTER, solver_ratio=163.0) > 10 * plan.additive_error(LETTER)
    assert plan.approximation(LETTER, solver_ratio=163.0).ratio > 163
    assert plan.additive_error(LETTER, nodes=100) < plan.additive_error(LETTER)
    with pytest.raises(PlanError, match="solver_ratio must be in"):
        plan.additive_error(LETTER, solver_ratio=0.5)


def test_practical_constants_and_other_protocols_guarantee_nothing():
    assert math.isinf(Plan.design(2, 4, 1.0, 10**6, protocol="net-tree").additive_error())
    small = {**LETTER, "expansion": 3}  # a too small for any theta, and not every node is expanded
    assert math.isinf(theory().approximation(small).ratio)
    assert math.isinf(theory().approximation({**LETTER, "strays": 0.5}).ratio)
    with pytest.raises(PlanError, match="has no option 'depth'; known: constants, alpha"):
        theory().additive_error({"depth": 3})
    with pytest.raises(PlanError, match="states no approximation ratio"):
        Plan.design(2, 4, 1.0, 10**6).additive_error()


def by_the_page(plan, decoding, *, beta=0.1, xi=0.05, kappa=1.0):
    """Return ratio and t as the module's text has them."""
    tree, n, k, d = plan.parameters, plan.expected_users, plan.clusters, plan.dimension
    q, depth, gamma = tree.ratio, tree.levels, decoding.rounds
    levels = complete_nodes(tree)
    most = most_nodes(tree, k * decoding.expansion * decoding.rounds, levels)  # N
    charged = 0.0  # 2g/θ²
    if any(k * decoding.expansion <= level for level in levels[:-1]):
        theta = packing_ratio(tree.projected) * (decoding.expansion ** (1 / tree.projected) - 1) - q / (q - 1)
        charged = 2 * (q / (q - 1)) ** 2 / theta**2
    projects = tree.projected < d
    share = beta / 2 if projects else beta
    share -= tree.shared_chance(people=n, nodes=most)
    eta, eta_vector = tree.oracle_errors(dimension=d, people=n, failure=share, nodes=sum(levels))
    unmatched = most * eta  # U
    moved = (q / (q - 1)) ** 2 * (  # m
        3 * unmatched / q**2
        + (n / (q**2 - 1) + unmatched / q**2) / 2**gamma
        + (n + unmatched) / q ** (2 * depth)
    )
    cells = kappa * (9 * unmatched + (1 + 1 / xi) * moved)  # beyond κ(1+ξ)·OPT
    ratio = (1 + xi) * kappa * (1 + xi) + (1 + 1 / xi) * charged * ((1 + xi) * kappa + 1)
    error = (1 + xi) * cells + 16 * (1 + xi) * unmatched + (1 + 1 / xi) * moved
    if projects:
        ratio, error = ratio * (1 + xi) ** 2, error * (1 + xi) * d / (tree.projected * tree.scale**2)
    error += 8 * (eta + eta_vector) * most
    if rho := tree.bias:
        wrong = 2 * rho / (1 - rho)
        ratio, error = ratio * (1 + rho) / (1 - rho), 2 * error / (1 - rho) + 2 * wrong**2 * n
    return ratio, error


PLANS = {
    "bits": theory(),
    "a finer net": theory(ratio=3),
    "projected": Plan.design(
        20, 4, 1.0, 10**6, protocol="net-tree", constants="theory", projected=2, levels=4
    ),
    "codewords": Plan.design(
        2, 4, 1.0, 10**6, protocol="net-tree", constants="theory", levels=4, randomizer="codeword"
    ),
}


@pytest.mark.parametrize("kappa", [1.0, 9.0])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_guarantee_is_the_one_of_the_text(plan, kappa):
    decoding = TreeDecoding.of(plan.parameters, plan.facts, LETTER)
    assert all(plan.clusters * decoding.expansion > each for each in complete_nodes(plan.parameters)[:-1])
    found = plan.approximation(LETTER, solver_ratio=kappa)
    ratio, error = by_the_page(plan, decoding, kappa=kappa)
    assert found.ratio == pytest.approx(ratio, rel=1e-12)
    assert found.additive == pytest.approx(error, rel=1e-12)
    assert (found.failure, found.nodes > 1) == (0.1, True)
    assert found == plan.approximation(LETTER, failure=0.1, slack=0.05, solver_ratio=kappa)
    facts = {"dimension": plan.dimension, "clusters": plan.clusters, "people": plan.expected_users}
    assert found == approximation(plan.parameters, decoding, **facts, solver_ratio=kappa)


@pytest.mark.parametrize("kappa", [1.0, 9.0])
def test_what_is_not_expanded_is_charged_to_the_optimum(kappa):
    plan, options = PLANS["bits"], {**LETTER, "expansion": 100}
    decoding = TreeDecoding.of(plan.parameters, plan.facts, options)
    assert any(plan.clusters * 100 <= each for each in complete_nodes(plan.parameters)[:-1])
    found = plan.approximation(options, solver_ratio=kappa)
    ratio, error = by_the_page(plan, decoding, kappa=kappa)
    assert found.ratio == pytest.approx(ratio, rel=1e-12)
    assert found.ratio > 1.2 * kappa  # it costs
    assert found.additive == pytest.approx(error, rel=1e-12)


def test_bounds_of_the_oracles_are_those_of_their_text():
    nodes, failure, people, dimension = 1000.0, 0.02, 50_000, 2
    bits, words = PLANS["bits"].parameters, PLANS["codewords"].parameters
    counts, vectors = bits.oracle_errors(dimension=dimension, people=people, failure=failure, nodes=nodes)
    assert counts == pytest.approx(
        bits.count_response.scale * math.sqrt(2 * people * math.log(2 * nodes / 0.01)), rel=1e-12
    )
    norm = djw_norm(dimension + 1, bits.vector_response.scale)
    assert vectors == pytest.approx(
        (norm + 1) * math.sqrt(people) * (1 + math.sqrt(2 * math.log(nodes / 0.01))), rel=1e-12
    )
    counts, vectors = words.oracle_errors(dimension=dimension, people=people, failure=failure, nodes=nodes)
    gain, second = words.randomizer.gain(words.embedding), words.randomizer.second_gain(words.embedding)
    b, a = 0.5, math.sqrt(0.75)
    count, vector = words.variances(dimension)
    assert count == pytest.approx((1 + second * b * b) / (gain * b) ** 2, rel=1e-12)
    assert vector == pytest.approx((dimension + second * a * a) / (gain * a) ** 2, rel=1e-12)
    largest = words.levels * math.sqrt(words.embedding) / gain
    logarithm = math.log(2 * nodes / 0.01)
    assert counts == pytest.approx(
        math.sqrt(2 * words.levels * people * count * logarithm) + 2 / 3 * largest / b * logarithm, rel=1e-12
    )
    logarithm = math.log(nodes / 0.01)
    length = math.sqrt(words.levels * people * vector)
    assert vectors == pytest.approx(
        length * (1 + math.sqrt(2 * logarithm)) + 4 / 3 * largest / a * logarithm, rel=1e-12
    )


def test_bounds_of_sums_are_those_of_their_text():
    plan = Plan.design(3, 4, 1.0, 5_000, protocol="net-tree-sums", model="shuffle", delta=1e-6)
    sums = plan.parameters
    nodes, people = 200.0, 5_000
    counts, vectors = sums.oracle_errors(dimension=3, people=people, failure=0.02, nodes=nodes)
    sigma = float(sums.noise_scale) * math.sqrt(people) / sums.grid
    assert sums.total_noise(people) == pytest.approx(sigma, rel=1e-12)
    b = sums.count_weight / SCALE
    a = math.sqrt(1 - b * b)
    assert counts == pytest.approx(sigma * math.sqrt(2 * math.log(2 * nodes / 0.01)) / b, rel=1e-12)
    tails = math.sqrt(3) + math.sqrt(2 * math.log(nodes / 0.01))
    assert vectors == pytest.approx((sigma * tails + people * math.sqrt(3) / sums.grid) / a, rel=1e-9)
    assert sums.shared_chance(people=100, nodes=10) == pytest.approx(1000 / sums.buckets)
    assert sums.shared_chance(people=people, nodes=1e12) == 1.0
