"""Theorem 22's guarantee with its constants (that noise-free decoding keeps it: tests/paper)."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from coterie.centers import LocalSearch
from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plan import Plan
from coterie.protocols.paper.approximation import (
    EXCHANGED,
    approximation,
    complete_nodes,
    expands_all,
    sums_of_noise,
)
from coterie.protocols.paper.net_tree.parameters import BIAS
from coterie.protocols.paper.nets.nets import NetFamily
from coterie.protocols.paper.nets.sizes import most_nodes, packing_ratio
from coterie.protocols.paper.tree.build import BuildParameters, build_tree
from coterie.protocols.paper.tree.parameters import TreeDecoding
from coterie.randomizers.sphere import djw_norm
from tests.plans import needs

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


def test_the_union_is_over_the_complete_tree():
    # BuildTree chooses its nodes by the noise, so the bound must cover all that it could have asked for.
    plan = theory()
    assert plan.approximation(LETTER, nodes=10).count_error == plan.approximation(LETTER).count_error


@pytest.mark.parametrize(
    ("dimension", "levels", "ratio"), [(1, 1, 4), (1, 4, 2), (2, 3, 2), (2, 2, 3), (3, 1, 4)]
)
def test_no_level_has_more_nodes_than_the_complete_tree(dimension, levels, ratio):
    class Everybody:
        reports = 10

        def frequencies(self, level, paths):
            return np.full(len(paths), 10.0)

        def deviation(self, level):
            return 0.0

    nets = NetFamily.from_key(bytes(16), dimension, levels, ratio)
    grown = build_tree(nets, Everybody(), BuildParameters(1, 10**6, 1)).tree
    shape = SimpleNamespace(projected=dimension, levels=levels, ratio=ratio)
    for level, most in zip(grown.levels[1:], complete_nodes(shape), strict=True):
        assert len(level) <= most
    assert np.linalg.norm(grown.leaf_points(), axis=1).max() <= 1 + ratio**-levels + 1e-9  # r of the text


def test_units_and_options():
    plan = theory()
    assert plan.additive_error(LETTER) == plan.approximation(LETTER).additive
    far = replace(plan, radius=3.0)
    assert far.additive_error(LETTER) == pytest.approx(9 * plan.additive_error(LETTER))
    perfect = plan.additive_error(LETTER, solver_ratio=1.0)
    assert plan.additive_error(LETTER, solver_ratio=9.0) > 1.5 * perfect
    assert plan.additive_error(LETTER, solver_ratio=1.0, nodes=100) < perfect
    with pytest.raises(PlanError, match="solver_ratio must be in"):
        plan.additive_error(LETTER, solver_ratio=0.5)


def test_the_ratio_is_that_of_the_solver_really_used():
    found = theory().approximation(LETTER)
    assert found.ratio == pytest.approx(1.5 * EXCHANGED)
    some = {**LETTER, "expansion": 10**4}  # every node is expanded, or not: then it is local search
    assert theory().approximation(some) == found
    some["expansion"] = 100  # four times that is less than the 414 nodes of level 4
    assert theory().approximation(some) == theory().approximation(some, solver_ratio=LocalSearch.ratio)
    assert LocalSearch.ratio < theory().approximation(LETTER, solver_ratio=LocalSearch.ratio).ratio
    # The same tree by scikit-learn's KMeans, which has no ratio; one that the caller has is the caller's.
    to_the_letter = {"expansion": 71736, "strays": 0.0}
    assert math.isinf(theory().approximation(to_the_letter).ratio)
    assert theory().approximation(to_the_letter, solver_ratio=1.0).ratio <= 1.5


def test_practical_constants_and_other_protocols_guarantee_nothing():
    assert math.isinf(Plan.design(2, 4, 1.0, 10**6, protocol="net-tree").additive_error())
    small = {**LETTER, "expansion": 3}  # a too small for any theta, and not every node is expanded
    assert math.isinf(theory().approximation(small).ratio)
    assert math.isinf(theory().approximation({**LETTER, "strays": 0.5}).ratio)
    with pytest.raises(PlanError, match="has no option 'depth'; known: constants, alpha"):
        theory().additive_error({"depth": 3})
    with pytest.raises(PlanError, match="states no approximation ratio"):
        Plan.design(2, 4, 1.0, 10**6, protocol="lsh-tree").additive_error()


@pytest.mark.parametrize("projected", [1, 6])
def test_a_practical_projection_serves_no_slack_and_loses_people(projected):
    plan = Plan.design(100, 8, 1.0, 10**6, protocol="net-tree", projected=projected)
    for settings in ({}, {"slack": 1.0}, {"slack": 1.0, "jl_constant": 0.01}):  # C, then Λ
        assert math.isinf(plan.approximation(LETTER, solver_ratio=1.0, **settings).ratio)
    inside = replace(plan, parameters=replace(plan.parameters, scale=0.1 * plan.parameters.scale))
    known = {"slack": 1.0, "jl_constant": 0.01, "solver_ratio": 1.0}
    assert math.isfinite(inside.approximation(LETTER, **known).ratio)
    assert math.isinf(inside.approximation(LETTER, **{**known, "slack": 0.05}).ratio)  # d' does not serve it
    assert math.isinf(inside.approximation(LETTER, **{**known, "jl_constant": math.inf}).ratio)


def test_a_scale_that_throws_people_out_of_the_ball_and_an_unknown_bias_guarantee_nothing():
    plan = theory()
    for scale, proved in ((0.5, True), (1.5, False)):
        scaled = replace(plan, parameters=replace(plan.parameters, scale=scale))
        assert math.isfinite(scaled.approximation(LETTER).ratio) == proved
    options = {"protocol": "net-tree", "randomizer": "codeword", "constants": "theory"}
    assert math.isfinite(Plan.design(2, 4, 10.0, 10**6, **options).approximation(LETTER).ratio)
    assert math.isinf(Plan.design(2, 4, 10.1, 10**6, **options).approximation(LETTER).ratio)


def by_the_page(plan, decoding, *, beta=0.1, xi, kappa):
    """Return ratio and t as the module's text has them."""
    tree, n, k, d = plan.parameters, plan.expected_users, plan.clusters, plan.dimension
    q, depth, gamma, rho = tree.ratio, tree.levels, decoding.rounds, tree.bias
    levels, g = complete_nodes(tree), (q / (q - 1)) ** 2
    most = most_nodes(levels, k * decoding.expansion * decoding.rounds * q**tree.projected)
    projects = tree.projected < d
    share = beta / 2 if projects else beta
    eta, eta_vector = tree.oracle_errors(dimension=d, people=n, failure=share, nodes=sum(levels))
    leaves, r, of_optimum = levels[-1], q**-depth, 0.0
    moved = (1 + rho) * n / q ** (2 * depth)
    if any(k * decoding.expansion <= level for level in levels[:-1]):
        leaves, r = most, 1 / (q - 1)
        theta = packing_ratio(tree.projected) * (decoding.expansion ** (1 / tree.projected) - 1) - q / (q - 1)
        of_optimum = 2 * g / theta**2
        moved += g * (3 * most * eta / q**2 + ((1 + rho) * n / (q**2 - 1) + most * eta / q**2) / 2**gamma)
    cells = kappa * ((2 + r) ** 2 * leaves * eta + (1 + 1 / xi) * moved)  # beyond κ(1+ξ)·OPT
    ratio = (1 + xi) * kappa * ((1 + xi) + (1 + 1 / xi) * of_optimum) + (1 + 1 / xi) * of_optimum
    error = (1 + xi) * cells + (2 + 2 * r) ** 2 * (1 + xi) * leaves * eta + (1 + 1 / xi) * moved
    if projects:
        ratio, error = ratio * (1 + xi) ** 2, error * (1 + xi) * d / (tree.projected * tree.scale**2)
    last = 8 * (eta + eta_vector) * leaves
    if rho:
        wrong = 2 * rho / (1 - rho)
        ratio *= (1 + rho) / (1 - rho)
        return ratio, (error + 2 * last) / (1 - rho) + 2 * wrong**2 * n
    return ratio, error + last


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
    settings = {"solver_ratio": kappa, "slack": 0.9, "jl_constant": 0.1}
    found = plan.approximation(LETTER, **settings)
    ratio, error = by_the_page(plan, decoding, kappa=kappa, xi=0.9)
    assert found.ratio == pytest.approx(ratio, rel=1e-12)
    assert found.additive == pytest.approx(error, rel=1e-12)
    assert (found.failure, found.slack, found.nodes > 1) == (0.1, 0.9, True)
    assert found == approximation(plan.parameters, decoding, plan.facts, failure=0.1, **settings)


@pytest.mark.parametrize("kappa", [1.0, 9.0])
def test_what_is_not_expanded_is_charged_to_the_optimum(kappa):
    plan, options = theory(ratio=2), {**LETTER, "expansion": 100}
    decoding = TreeDecoding.of(plan.parameters, plan.facts, options)
    assert any(plan.clusters * 100 <= each for each in complete_nodes(plan.parameters)[:-1])
    found = plan.approximation(options, solver_ratio=kappa, slack=0.05)
    ratio, error = by_the_page(plan, decoding, kappa=kappa, xi=0.05)
    assert found.ratio == pytest.approx(ratio, rel=1e-12)
    assert found.ratio > 1.2 * kappa  # it costs
    assert found.additive == pytest.approx(error, rel=1e-12)


def test_every_node_expanded_moves_people_by_the_deepest_cell_alone():
    # Exact oracles, and then noisy ones: the noise is unmatched mass, it moves nobody.
    plan = theory(ratio=2)
    tree, decoding = plan.parameters, TreeDecoding.of(plan.parameters, plan.facts, LETTER)
    facts = replace(plan.facts, expected_users=1000)

    def additive(eta):
        shape = SimpleNamespace(
            levels=tree.levels, ratio=2, projected=2, scale=1.0, bias=0.0,
            oracle_errors=lambda **facts: (eta, 0.0), shared_chance=lambda **facts: 0.0,
        )  # fmt: skip
        return approximation(shape, decoding, facts, slack=0.5, solver_ratio=1.0).additive

    assert additive(0.0) == pytest.approx(3 * 2.5 * 1000 / 4**tree.levels)
    r, leaves = 2.0**-tree.levels, complete_nodes(tree)[-1]
    each = (1.5 * ((2 + r) ** 2 + (2 + 2 * r) ** 2) + 8) * leaves
    assert additive(1.0) - additive(0.0) == pytest.approx(each)


def test_the_bias_doubles_the_last_term_alone():
    plan = PLANS["codewords"]
    found = plan.approximation(LETTER, solver_ratio=1.0, slack=0.5)
    rho, leaves = plan.parameters.bias, complete_nodes(plan.parameters)[-1]
    assert rho == pytest.approx(BIAS / 0.5)  # of the counting coordinate, which is half as long
    last = 8 * (found.count_error + found.vector_error) * leaves
    r, n, q = plan.parameters.ratio**-4, 10**6, plan.parameters.ratio
    others = 1.5 * ((2 + r) ** 2 + (2 + 2 * r) ** 2) * found.count_error * leaves
    others += 3 * 2.5 * (1 + rho) * n / q**8
    wrong = 2 * n * (2 * rho / (1 - rho)) ** 2
    assert found.additive == pytest.approx((others + 2 * last) / (1 - rho) + wrong, rel=1e-9)


@pytest.mark.parametrize("randomizer", ["djw", "codeword"])
def test_the_theory_takes_the_shape_and_the_slack_that_make_t_least(randomizer):
    options = {"protocol": "net-tree", "constants": "theory", "randomizer": randomizer}
    plan = Plan.design(2, 4, 1.0, 10**6, **options)
    found = plan.approximation(LETTER)
    for levels in (1, 2, 3, 10):
        for ratio in (2, 3, 4) if levels < 10 else (2,):
            other = Plan.design(2, 4, 1.0, 10**6, **options, levels=levels, ratio=ratio)
            assert other.approximation(LETTER).additive >= found.additive
    for slack in (0.01, 0.05, 0.1, 0.15, 0.2, 0.22):
        assert plan.approximation(LETTER, slack=slack).additive >= 0.999 * found.additive
    more = (1 + plan.parameters.bias) / (1 - plan.parameters.bias) * (1 + 1e-9)
    assert found.ratio <= 1.5 * LocalSearch.ratio * more
    careful = {**LETTER, "alpha": 0.1}
    stricter = Plan.design(2, 4, 1.0, 10**6, **options, alpha=0.1).approximation(careful)
    assert stricter.ratio <= 1.1 * LocalSearch.ratio * more
    assert stricter.additive > found.additive


@pytest.mark.parametrize(("dimension", "users"), [(1, 10**9), (2, 10**11)])
def test_the_theorem_says_something_from_so_many_people_on(dimension, users):
    options = {"protocol": "net-tree", "constants": "theory"}
    for n, says in ((users, True), (users // 10, False)):
        found = Plan.design(dimension, 4, 1.0, n, **options).approximation(LETTER)
        assert (found.additive < n) == says
    million = Plan.design(2, 4, 1.0, 10**6, **options)
    assert million.additive_error(LETTER) < 19 * 10**6
    clamped = million.additive_error(LETTER, solver_ratio=LocalSearch.ratio)
    assert clamped > 7 * million.additive_error(LETTER)  # N counts, each of which has to be right
    deep = Plan.design(2, 4, 1.0, 10**6, **options, levels=10, ratio=2)  # the paper's T and q
    assert deep.additive_error(LETTER, solver_ratio=1.0, slack=0.05) > 10**6 * 10**6


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("clusters", [1, 4])
def test_exchanges_have_the_error_of_the_text(plan, clusters):
    plan = replace(plan, clusters=clusters)
    tree, n, d, beta, xi = plan.parameters, plan.expected_users, plan.dimension, 0.1, 0.07
    decoding = TreeDecoding.of(tree, plan.facts, LETTER)
    assert expands_all(tree, clusters * decoding.expansion)
    settings = {"slack": xi, "jl_constant": 1e-3}
    found = plan.approximation(LETTER, **settings)
    leaves, r, rho = complete_nodes(tree)[-1], tree.ratio**-tree.levels, tree.bias
    projects = tree.projected < d
    exchange, averaged, _ = sums_of_noise(tree, plan.facts, beta / 2 if projects else beta)
    zeta, near = 1.5 / (1 + xi) ** (3 if projects else 1) - 1, (1 + rho) * n * r**2
    t = (1 + zeta) * (25 * (1 + 1 / xi) * near + 5 / 3 * (1.01 * clusters * exchange + 4 * near))
    t = (t + (1 + 1 / zeta) * near) * d / (tree.projected * tree.scale**2) * (1 + xi * projects)
    t += 6 * averaged * (1 + (rho > 0))
    wrong = 2 * rho / (1 - rho)
    assert found.additive == pytest.approx(t / (1 - rho) + 2 * wrong**2 * n, rel=1e-12)
    assert found.ratio == pytest.approx(37.5 * (1 + rho) / (1 - rho), rel=1e-12)
    # The two sums of noise, term by term.
    noise, each, s = tree.leaf_noise(dimension=d, people=n), beta / (6 if projects else 3), 1 + r
    rng = np.random.default_rng(0)
    ball = rng.standard_normal((200_000, tree.projected))
    ball *= ((1 + 2 * r) * rng.uniform(size=(200_000, 1)) ** (1 / tree.projected)) / np.linalg.norm(
        ball, axis=1, keepdims=True
    )
    away = ((ball - s * np.eye(tree.projected)[0]) ** 2).sum(axis=1)
    h1, h, both = leaves * away.mean(), math.sqrt(leaves * (away**2).mean()), 2 if clusters == 1 else 1
    log = (clusters + 1) * math.log(leaves) + math.log(2 / each)
    stated = math.sqrt(2 * noise.count * log * both) * h
    stated += 2 / 3 * (both * noise.largest * h1 + 4 * s**2) * log
    assert exchange == pytest.approx(stated, rel=0.01)
    log = clusters * math.log(leaves) + math.log(2 * clusters / each)
    stated = (
        math.sqrt(2 * noise.count * log) + math.sqrt(noise.vector) * (1 + math.sqrt(2 * log))
    ) * math.sqrt(clusters * leaves)
    stated += 2 / 3 * (noise.largest * leaves + clusters) * log + 4 / 3 * noise.longest * leaves * log
    assert averaged == pytest.approx(stated + noise.rounded, rel=1e-12)


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


@needs("net-tree-sums")
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
    assert sums.shared_chance(occupied=100, nodes=10) == pytest.approx(1000 / sums.buckets)
    assert sums.shared_chance(occupied=people, nodes=1e12) == 1.0
