"""Where the paper must be read with care: a test for each entry of docs/theory/errata.md, in its order."""

import math
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.reproduction.coresets import partition_cost, transport_cost
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.errors import PlanError
from coterie.geometry.ball import SCALE, quantize
from coterie.geometry.lift import lift
from coterie.plan import Plan, theory_constants
from coterie.privacy.odds import largest_odds
from coterie.privacy.renyi import Influence, gaussian_curve, least_scale, renyi_epsilon
from coterie.protocols.paper.coreset import WeightedPointSet
from coterie.protocols.paper.net_tree.oracles.explicit_hist import ExplicitHist
from coterie.protocols.paper.net_tree.oracles.signs import PathMasks
from coterie.protocols.paper.nets.nets import NetFamily
from coterie.protocols.paper.nets.projection import Projection
from coterie.protocols.paper.tree.build import BuildParameters, build_tree, compute_threshold
from coterie.protocols.paper.tree.design import PRACTICAL_SHRINK
from coterie.protocols.vector_sums.encode import VectorSumEncoder
from coterie.randomizers.response import BinaryResponse
from coterie.randomizers.sphere import djw_norm
from coterie.randomizers.split_and_mix import SplitAndMix
from tests.plans import needs


class Noisy:
    """An oracle of pure noise around nothing."""

    reports = 1000

    def frequencies(self, level, paths):
        return np.random.default_rng(level).normal(0, 50, len(paths))

    def deviation(self, level):
        return 50.0


def test_e1_the_threshold_reads_noisy_frequencies_and_sums_stay_unclamped():
    nets = NetFamily.from_key(bytes(16), 2, 3)
    weighed = build_tree(nets, Noisy(), BuildParameters(2, 8, 5))
    clamped = np.maximum(weighed.leaf_frequencies(), 0).sum()
    unclamped = weighed.leaf_frequencies().sum()
    leaves = weighed.tree.leaf_count
    # Clamping a sum over L empty leaves adds 0.4·σ·L to what should be about zero.
    assert clamped > 0.3 * 50 * leaves
    assert abs(unclamped) < 5 * 50 * math.sqrt(leaves)


def test_e2_the_roots_frequency_is_not_encoded():
    class Refusing(Noisy):
        def frequencies(self, level, paths):
            assert level >= 1
            return np.zeros(len(paths))

    nets = NetFamily.from_key(bytes(16), 2, 3)
    assert len(build_tree(nets, Refusing(), BuildParameters(1, 1, 2)).tree.levels) == 2


@pytest.mark.parametrize("dimension", [3, 30, 100])
def test_e3_the_footnotes_norm_is_constant_in_the_dimension(dimension):
    footnote = (
        math.pi
        * math.sqrt(dimension)
        * math.exp(math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2 + 1))
    )
    assert footnote == pytest.approx(math.pi * math.sqrt(2), rel=0.2)  # Θ(1), so the answer would be biased
    assert djw_norm(dimension, 1.0) == pytest.approx(math.sqrt(math.pi * dimension / 2), rel=0.1)  # Θ(√d)


def test_e4_projection_costs_shrink_by_the_smaller_over_the_larger_dimension():
    # The proof of the main theorem has (d/d')·cost_S(φ); a projection lowers costs, so it is d'/d.
    generator = np.random.default_rng(2)
    points = WeightedPointSet(generator.standard_normal((300, 40)) / 10, np.ones(300))
    parts = np.arange(300) % 3
    basis = Projection.from_key(bytes(16), 40, 8, 1.0).basis
    low = partition_cost(WeightedPointSet(points.points @ basis, np.ones(300)), parts)
    assert low / partition_cost(points, parts) == pytest.approx(8 / 40, rel=0.2)


@needs("lsh-tree")
def test_e5_levels_are_prefixes_and_centers_lie_inside_by_one_over_r():
    from coterie.protocols.paper.lsh_tree.simhash import SimHash

    codes = SimHash.from_key(bytes(16), 6, 5).codes(np.random.default_rng(0).standard_normal((500, 6)))
    nodes = [len(np.unique(codes >> (5 - level))) for level in range(1, 6)]
    assert nodes == sorted(set(nodes))  # with g_T on every level all levels would be the same
    _, centers, _ = gaussian_mixture(80, 50, 8, 100.0, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1 - 1 / 100)  # 1 - Θ(r) would be negative


def test_e6_the_printed_noise_lacks_the_grid():
    people, dimension, delta = 10_000, 10, 1e-6
    buckets = 2 * people * 10
    influence = Influence(math.ceil((2 * (people + math.sqrt(dimension))) ** 2), buckets * dimension)
    printed = Fraction(20 * math.log(buckets * dimension / delta))
    assert renyi_epsilon(gaussian_curve(influence, printed), delta) > 500
    scaled = least_scale(lambda scale: gaussian_curve(influence, scale), 1.0, delta, parts=1)
    assert renyi_epsilon(gaussian_curve(influence, scaled), delta) <= 1.0
    assert scaled > people  # the noise of a grid of n steps is itself thousands of steps


def test_e7_flooring_lengthens_and_two_buckets_change():
    dimension = 64
    plan = Plan.design(dimension, 4, 1.0, 10_000, protocol="vector-sums", model="shuffle", delta=1e-6)
    edge = np.full((1, dimension), -1 / math.sqrt(dimension))  # on the sphere, every coordinate below zero
    lifted = lift(quantize(edge, None, 1.0)[0], plan.parameters.count_weight) * (plan.parameters.grid / SCALE)
    _, sent, _ = VectorSumEncoder(plan).contributions(edge, np.zeros((1, 12), dtype=np.uint8))
    # As printed: longer than the influence allows.
    assert np.linalg.norm(np.floor(lifted)) > plan.parameters.grid
    assert np.linalg.norm(np.floor(lifted)) <= plan.parameters.grid + math.sqrt(dimension)
    assert np.linalg.norm(sent) <= plan.parameters.grid  # as sent
    # A person may leave one cell and enter another: two vectors of the grid's length, not one.
    assert plan.parameters.influence().squared >= 2 * plan.parameters.grid**2


def test_e8_shares_carry_the_quantized_value_and_sums_are_centered_and_scaled():
    steps, mixer = 1 << 10, SplitAndMix(modulus=1_000_003, shares=5)
    values = np.array([-0.731, 0.25, -0.6])
    quantized = np.trunc(values * steps).astype(np.int64)
    total = mixer.total(mixer.split(quantized, SimulationCoins(0)).ravel())
    assert total < 0  # uncentered it would be about p
    assert total / steps == pytest.approx(values.sum(), abs=len(values) / steps)


def test_e9_the_noise_chooses_which_nodes_are_asked_about():
    # Of many empty nodes BuildTree asks about those that came out large: their errors exceed a bound that
    # was made for as many nodes as were asked about, and keep one that was made for all.
    generator = np.random.default_rng(9)
    nodes, asked, failure, runs = 4000, 10, 0.05, 300
    small, large = (math.sqrt(2 * math.log(2 * count / failure)) for count in (asked, nodes))
    broken = kept = 0
    for _ in range(runs):
        worst = np.sort(generator.standard_normal(nodes))[-asked:].max()
        broken += worst > small
        kept += worst <= large
    assert broken / runs > 0.5  # not 0.05
    assert kept / runs >= 1 - failure
    plan = Plan.design(2, 4, 1.0, 10**5, protocol="net-tree", constants="theory", levels=4)
    assert plan.approximation(nodes=1).count_error == plan.approximation().count_error


def test_e10_bernstein_is_not_enough_for_the_discrete_gaussian_and_sub_gaussian_tails_are():
    d, delta, epsilon = 100, 1e-6, 1.0
    sigma = 10 * math.log(d / delta) / epsilon  # C = 1
    moved = 2.0  # replacing a vector of length 1
    mean, variance = moved**2 / (2 * sigma**2), moved**2 / sigma**2
    largest = 2 * sigma * math.sqrt(2 * math.log(2 * d / delta))  # M
    away = epsilon - mean
    bernstein = 0.5 * away**2 / (variance + moved * largest * away / (3 * sigma**2))
    assert bernstein == pytest.approx(11.1, abs=0.1)
    assert bernstein < math.log(2 / delta) == pytest.approx(14.5, abs=0.1)
    assert away**2 / (2 * variance) > 4000  # sub-Gaussian
    influence = Influence(math.ceil(moved**2), d)
    assert renyi_epsilon(gaussian_curve(influence, Fraction(sigma)), delta) < epsilon


def test_e11_bottoms_of_noisy_frequencies_differ_by_eta_a_node():
    true, eta = np.zeros(50), 7.0
    noisy = true + eta  # eta-accurate at every node
    assert np.sort(noisy)[:40].sum() - np.sort(true)[:40].sum() == 40 * eta  # not O(40)


def test_e12_the_coreset_is_one_of_the_projected_points():
    # OPT of S' is that of S times Λ²·d'/d: a factor of a hundred apart with the paper's own scale.
    generator = np.random.default_rng(12)
    points = WeightedPointSet(generator.standard_normal((300, 40)) / 10, np.ones(300))
    parts = np.arange(300) % 3
    scale = math.sqrt(0.01 / math.log(300 / 0.1) * 40 / 8)
    projected, _ = Projection.from_key(bytes(16), 40, 8, scale).apply(points.points)
    ratio = partition_cost(WeightedPointSet(projected, np.ones(300)), parts) / partition_cost(points, parts)
    assert ratio == pytest.approx(scale**2 * 8 / 40, rel=0.2)
    assert ratio < 0.002


def test_e13_the_length_of_a_sum_needs_no_log_of_the_dimension():
    # Bounded differences: E‖Σ‖ ≤ √n, and one vector moves it by 2. The bound holds at every dimension, and
    # the factor √log(d/β) of the coordinatewise bound is not in it.
    generator = np.random.default_rng(13)
    people, failure = 400, 0.01
    bound = math.sqrt(people) * (1 + math.sqrt(2 * math.log(1 / failure)))
    for dimension in (2, 30, 1000):
        vectors = generator.standard_normal((40, people, dimension))
        vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
        assert np.linalg.norm(vectors.sum(axis=1), axis=1).max() <= bound


def test_c1_the_threshold_groups_by_ka_not_by_m_over_k_times_a():
    # ⌊m/ka⌋ is ⌊m/(ka)⌋: read as ⌊(m/k)·a⌋ the loop would ask for sums of a negative number of nodes.
    frequencies = np.sort(np.random.default_rng(0).uniform(0, 9, 10))
    k, a = 2, 4
    assert math.floor(len(frequencies) / k * a) * k * a > len(frequencies)
    assert compute_threshold(frequencies, k * a, 50) in (0, 10)


def test_c2_logarithms_are_to_base_two():
    # T and Γ must satisfy 2^(-2T) ≤ 1/n and n/2^Γ ≤ 1, which the proof uses; natural logarithms do not.
    n = 200_000
    constants = theory_constants(dimension=2, clusters=4, expected_users=n)
    assert 2.0 ** (-2 * constants.levels) <= 1 / n
    assert n / 2**constants.rounds <= 1
    assert 2.0 ** (-2 * math.ceil(0.5 * math.log(n))) > 1 / n
    assert n / 2 ** math.ceil(math.log(n)) > 1


@needs("lsh-tree")
def test_c3_leaves_count_everybody_once_and_nodes_do_not():
    from coterie.protocols.paper.lsh_tree.tree import lsh_leaves

    levels = [np.array([9.0, 2.0]), np.array([8.0, 1.0, 2.0, 0.0])]
    leaves = lsh_leaves(levels, threshold=5.0)
    counted = sum(float(values[codes].sum()) for values, codes in zip(levels, leaves, strict=True))
    assert counted == 11  # everybody once
    assert sum(float(values.sum()) for values in levels) == 22


def test_l1_representatives_of_lattice_nets_leave_the_ball():
    # The paper's nets lie in the ball, a lattice's points need not: up to Σρ_j, not only ρ_1, outside.
    nets = NetFamily.from_key(bytes(16), 6, 4)
    generator = np.random.default_rng(0)
    points = generator.standard_normal((200_000, 6))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    lengths = np.linalg.norm(nets.points(1, nets.representatives(points)[0]), axis=1)
    assert lengths.max() > 1.5  # beyond 1 + ρ_1: taking only those as the root's children would lose people
    assert lengths.max() <= 2


def test_l2_the_constant_four_needs_points_of_the_ball():
    # One unmatched unit at distance 2 + ρ from the center costs (2+ρ)², more than the lemma's 4.
    outside = WeightedPointSet.of([[1.5]], [1.0])
    nothing = WeightedPointSet.of([[0.0]], [0.0])
    center, xi = np.array([[-1.0]]), 1.0
    transport = transport_cost(nothing.points, nothing, outside)
    target = partition_cost(outside, np.array([0]), center)
    source = partition_cost(nothing, np.array([0]), center)
    assert target > (1 + xi) * source + 4 * transport
    assert target <= (1 + xi) * source + (2 + 0.5) ** 2 * transport


def test_i1_theorys_constants_expand_every_node():
    constants = theory_constants(dimension=2, clusters=4, expected_users=200_000, alpha=1.0)
    nets = NetFamily.from_key(bytes(16), 2, 4)
    finest = nets.ratio ** (2 * 9) * 2
    assert 4 * constants.expansion * constants.rounds > finest  # Γka exceeds the whole last level
    with pytest.raises(PlanError, match="cannot be built"):
        Plan.design(500, 8, 1.0, 10**6, protocol="net-tree", constants="theory", jl_constant=0.01)


def test_i2_the_papers_scale_empties_the_upper_levels():
    # Λ of the theorem shrinks a unit vector to about 0.1/√log(n/β); the practical one to two thirds.
    n, d, projected = 10**6, 1000, 10
    points = np.random.default_rng(0).standard_normal((500, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    theory = math.sqrt(0.01 / math.log(n / 0.1) * d / projected)
    shrunk, _ = Projection.from_key(bytes(16), d, projected, theory).apply(points)
    practical, outside = Projection.from_key(
        bytes(16), d, projected, math.sqrt(d / projected) / PRACTICAL_SHRINK
    ).apply(points)
    assert np.linalg.norm(shrunk, axis=1).mean() < 0.03  # five levels deep before anyone is told apart
    assert np.linalg.norm(practical, axis=1).mean() == pytest.approx(1 / PRACTICAL_SHRINK, abs=0.04)
    assert outside <= 20


def test_i3_a_level_of_its_own_is_better_by_the_root_of_t():
    # Pooling nT answers as the lemma does, against reading a level off its own n.
    generator = np.random.default_rng(3)
    people, levels = 2000, 9
    response = BinaryResponse(largest_odds(0.2))
    path = np.array([[5, 3]])
    own, pooled = [], []
    for _ in range(200):
        noise = generator.choice(np.array([-1, 1], dtype=np.int8), levels * people)
        masks = PathMasks(
            generator.integers(0, 16, levels * people), generator.integers(0, 16, (levels * people, 1))
        )
        everything = ExplicitHist(noise[None], masks, response, 4)
        pooled.append(everything.frequencies(1, path)[0])
        level = ExplicitHist(noise[None, :people], masks.of(slice(people)), response, 4)
        own.append(level.frequencies(1, path)[0])
    assert np.std(pooled) / np.std(own) == pytest.approx(math.sqrt(levels), rel=0.2)


def test_i4_a_bucket_for_everybody_is_refused_with_the_numbers():
    options = {"protocol": "vector-sums", "model": "shuffle", "delta": 1e-6, "layout": "hashed"}
    with pytest.raises(PlanError, match=r"20000000"):  # s = 2n/β at β = 0.1
        Plan.design(100, 8, 1.0, 10**6, **options)
