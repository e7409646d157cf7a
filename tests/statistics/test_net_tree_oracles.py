"""The oracles against their stated laws: unbiased, of the stated variance, within the stated bound.

Thresholds: a mean of m draws is off by more than MEAN_Z standard errors with probability 6e-7; a variance
estimated from m normal draws has relative error √(2/m), and m is chosen so that 10 % is beyond 5 of them.
"""

import math

import numpy as np
import pytest

from benchmarks.baselines.privunit import PrivUnit, cap_share
from coterie.geometry.halfspaces import mean_coordinate
from coterie.privacy.odds import largest_odds
from coterie.protocols.paper.net_tree.oracles.explicit_hist import ExplicitHist
from coterie.protocols.paper.net_tree.oracles.explicit_hist_vector import ExplicitHistVector
from coterie.protocols.paper.net_tree.oracles.signs import PathMasks
from coterie.protocols.paper.net_tree.parameters import NetTreeParameters
from coterie.randomizers.response import BinaryResponse
from coterie.randomizers.sphere import (
    NORMAL_SCALE,
    directions_of,
    djw_norm,
    lifted,
    normal_table,
)

MEAN_Z = 5.0
RUNS_WITHIN_BOUND = 0.95
FAILURE = 0.05  # β of the bounds under test
SCALING = 0.15
DIGIT_BITS = 4
BUCKETS = np.stack([np.repeat([3, 5], 16), np.tile(np.arange(16), 2)], axis=1)  # (32, 2): two prefixes


def simulate(generator, buckets, response, people):
    """One level of ExplicitHist answers, with the law of the protocol and numpy's coins."""
    masks = PathMasks(generator.integers(0, 16, people), generator.integers(0, 16, (people, 1)))
    paths = BUCKETS[buckets]
    parity = np.bitwise_count(masks.root & paths[:, 0]) + np.bitwise_count(masks.digits[:, 0] & paths[:, 1])
    signs = 1 - 2 * (parity & 1).astype(np.int8)
    flips = generator.random(people) < 1 - response.odds / response.total
    return masks, signs, np.where(flips, -1, 1).astype(np.int8)


def bounds(people, epsilon, dimension):
    """The errors of a count and of a vector sum that none of 32 buckets exceeds, each but for β."""
    odds = {"count_odds": largest_odds(epsilon), "vector_odds": largest_odds(epsilon)}
    parameters = NetTreeParameters(levels=1, ratio=2, projected=2, scale=1.0, **odds)
    return parameters.oracle_errors(dimension=dimension, people=people, failure=2 * FAILURE, nodes=32)


def frequencies(seed, people, epsilon, skew=0.0):
    generator = np.random.default_rng(seed)
    response = BinaryResponse(largest_odds(epsilon))
    buckets = np.where(generator.random(people) < 0.5, 0, generator.integers(0, 32, people))
    masks, signs, noise = simulate(generator, buckets, response, people)
    oracle = ExplicitHist((signs * noise)[None], masks, response, DIGIT_BITS)
    true = np.bincount(buckets, minlength=32)
    return oracle, oracle.frequencies(1, BUCKETS) * (1 + skew) - true, true


def test_explicit_hist_is_unbiased_with_the_stated_variance():
    people, runs = 400, 2000
    found = np.array([frequencies(seed, people, 1.0)[1] for seed in range(runs)])
    scale = BinaryResponse(largest_odds(1.0)).scale
    # An empty-ish bucket: variance n·c² - f; buckets 1.. hold about n/64 people each.
    deviation = math.sqrt(people * scale**2 - people / 64)
    assert np.abs(found[:, 1:].mean(axis=0)).max() < MEAN_Z * deviation / math.sqrt(runs)
    measured = found[:, 1:].var()
    relative = measured / (people * scale**2 - people / 64)
    assert abs(relative - 1) < 0.05
    for wrong in (0.9, 1.1):  # noise ten per cent too small or too large
        assert abs(relative * wrong**2 - 1) > 0.05
    skewed = np.array([frequencies(seed, people, 1.0, skew=0.2)[1][0] for seed in range(300)])
    assert abs(skewed.mean()) > MEAN_Z * deviation / math.sqrt(300)  # a scale 20 % off is seen as bias


def test_explicit_hist_errors_stay_within_the_bound():
    hits = 0
    for seed in range(200):
        _, error, _ = frequencies(seed, 300, 0.5)
        hits += np.abs(error).max() <= bounds(300, 0.5, 8)[0]
    assert hits >= RUNS_WITHIN_BOUND * 200


def root_mean_square(make, seeds):
    return math.sqrt(np.mean([np.mean(make(seed) ** 2) for seed in seeds]))


def test_explicit_hist_error_grows_as_root_n_and_one_over_epsilon():
    base = root_mean_square(lambda s: frequencies(s, 500, 0.4)[1][1:], range(60))
    larger = root_mean_square(lambda s: frequencies(s, 8000, 0.4)[1][1:], range(60))
    stricter = root_mean_square(lambda s: frequencies(s, 500, 0.1)[1][1:], range(60))
    assert larger / base == pytest.approx(4, rel=SCALING)
    assert stricter / base == pytest.approx(4, rel=SCALING)


# ---------------------------------------------------------------- vectors


def vector_errors(seed, people, epsilon, dimension=8):
    generator = np.random.default_rng(seed)
    response = BinaryResponse(largest_odds(epsilon))
    vectors = generator.standard_normal((people, dimension))
    vectors *= generator.random((people, 1)) / np.linalg.norm(vectors, axis=1, keepdims=True)
    quantized = np.rint(vectors * 2**20)
    buckets = generator.integers(0, 32, people)
    masks, signs, noise = simulate(generator, buckets, response, people)
    words = generator.integers(0, 1 << 16, (people, dimension + 1)).astype(">u2")
    directions = directions_of(words.view(np.uint8), dimension + 1)
    heights = np.einsum("ij,ij->i", directions.astype(float), lifted(quantized))
    answers = np.where(heights >= 0, 1, -1).astype(np.int8) * signs * noise
    oracle = ExplicitHistVector(
        answers[None],
        masks,
        djw_norm(dimension + 1, response.scale),
        lambda piece, level: directions[piece],
        DIGIT_BITS,
        dimension,
    )
    true = np.zeros((32, dimension))
    np.add.at(true, buckets, vectors)
    return oracle, oracle.part_sums(1, BUCKETS, np.arange(len(BUCKETS)), len(BUCKETS)), true


def test_vector_sums_are_unbiased():
    runs = 600
    errors = np.array([found - true for _, found, true in (vector_errors(s, 200, 1.0) for s in range(runs))])
    deviation = djw_norm(9, BinaryResponse(largest_odds(1.0)).scale) * math.sqrt(200 / 9)
    assert np.abs(errors.mean(axis=0)).max() < MEAN_Z * deviation / math.sqrt(runs)
    measured = np.mean(np.sum(errors**2, axis=2))  # d of the d+1 coordinates of B²
    assert measured == pytest.approx(
        200 * djw_norm(9, BinaryResponse(largest_odds(1.0)).scale) ** 2 * 8 / 9, rel=0.05
    )


def test_vector_sums_stay_within_the_bound():
    hits = 0
    for seed in range(200):
        _, found, true = vector_errors(seed, 200, 0.5)
        hits += np.linalg.norm(found - true, axis=1).max() <= bounds(200, 0.5, 8)[1]
    assert hits >= RUNS_WITHIN_BOUND * 200


def test_vector_error_grows_as_root_n_and_one_over_epsilon():
    def error(people, epsilon):
        def one(seed):
            _, found, true = vector_errors(seed, people, epsilon)
            return found - true

        return root_mean_square(one, range(30))

    base = error(300, 0.4)
    assert error(4800, 0.4) / base == pytest.approx(4, rel=SCALING)
    assert error(300, 0.1) / base == pytest.approx(4, rel=SCALING)


def test_part_sums_are_the_sums_of_their_buckets():
    oracle, found, _ = vector_errors(0, 500, 1.0)
    parts = np.arange(32) % 3
    pooled = oracle.part_sums(1, BUCKETS, parts, 4)
    for part in range(3):
        assert pooled[part] == pytest.approx(found[parts == part].sum(axis=0), rel=1e-4, abs=1e-2)
    assert not pooled[3].any()


# ---------------------------------------------------------------- randomizers


@pytest.mark.parametrize("dimension", [2, 5, 101])
def test_djw_norm_makes_the_one_bit_answer_unbiased(dimension):
    # E[sgn⟨u,x⟩·u/‖u‖] = gain·x, measured with the public directions; the footnote's constant is rejected.
    people = 200_000 if dimension < 50 else 60_000
    generator = np.random.default_rng(dimension)
    point = generator.standard_normal(dimension)
    point /= np.linalg.norm(point)
    words = generator.integers(0, 1 << 16, (people, dimension)).astype(">u2")
    unit = directions_of(words.view(np.uint8), dimension).astype(float)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    mean = (np.sign(unit @ point)[:, None] * unit).mean(axis=0)
    along, across = mean @ point, np.linalg.norm(mean - (mean @ point) * point)
    assert along == pytest.approx(mean_coordinate(dimension), abs=MEAN_Z / math.sqrt(people * dimension))
    assert across < MEAN_Z / math.sqrt(people)
    footnote = (
        math.sqrt(dimension) * math.pi * math.gamma((dimension + 1) / 2) / math.gamma(dimension / 2 + 1)
    )
    assert abs(along * footnote - 1) > 0.5
    assert djw_norm(dimension, 1.0) * along == pytest.approx(1, abs=0.02)


def test_the_normal_table_is_odd_and_normal():
    table = normal_table().astype(float) / NORMAL_SCALE
    assert (table == -table[::-1]).all()
    assert np.mean(table**2) == pytest.approx(1, abs=1e-3)
    assert np.mean(table**4) == pytest.approx(3, abs=0.02)


def test_lifted_points_lie_on_the_sphere():
    quantized = np.array([[0.0, 0.0], [2.0**20, 0.0], [3000.0, -4000.0]])
    squares = np.sum(lifted(quantized) ** 2, axis=1)
    assert (squares <= 2**40).all()
    assert squares == pytest.approx(2.0**40, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "error"), [(0.5, 2505), (1, 629), (2, 160), (4, 42.8), (8, 12.7)])
def test_privunit_has_the_smallest_variance(epsilon, error):
    best = PrivUnit.best(100, epsilon)
    assert best.squared_norm - 1 == pytest.approx(error, rel=0.005)
    assert best.epsilon == pytest.approx(epsilon)
    half = PrivUnit.with_cap(100, epsilon, 0.5)  # Duchi, Jordan and Wainwright
    assert half.squared_norm == pytest.approx(djw_norm(100, 1 / math.tanh(epsilon / 2)) ** 2)
    assert best.squared_norm <= half.squared_norm
    assert cap_share(100, best.threshold) == pytest.approx(best.cap)


def randomizers(dimension, epsilon):
    """That of Duchi, Jordan and Wainwright, whose cap is half the sphere, and the best one."""
    return [PrivUnit.with_cap(dimension, epsilon, 0.5), PrivUnit.best(dimension, epsilon)]


@pytest.mark.parametrize("randomizer", randomizers(10, 2.0), ids=["half", "best"])
def test_randomizers_of_unit_vectors_are_unbiased_and_of_their_stated_length(randomizer):
    generator = np.random.default_rng(0)
    point = np.ones(10) / math.sqrt(10)
    drawn = randomizer.simulate(np.tile(point, (40_000, 1)), generator)
    assert np.sum(drawn**2, axis=1) == pytest.approx(randomizer.squared_norm)
    assert randomizer.epsilon == pytest.approx(2.0)
    standard_error = math.sqrt(randomizer.squared_norm / 10 / 40_000)
    assert np.abs(drawn.mean(axis=0) - point).max() < MEAN_Z * standard_error
    assert (
        np.abs(1.1 * drawn.mean(axis=0) - point).max() > MEAN_Z * standard_error
    )  # a length 10 % off is seen


def test_one_randomizer_can_stand_in_for_another():
    # ExplicitHistVector over any randomizer: its vectors are the directions, its length the norm.
    people, dimension, epsilon = 4000, 20, 3.0
    generator = np.random.default_rng(5)
    vectors = generator.standard_normal((people, dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    buckets = generator.integers(0, 32, people)
    masks, signs, _ = simulate(generator, buckets, BinaryResponse(largest_odds(1.0)), people)
    true = np.zeros((32, dimension))
    np.add.at(true, buckets, vectors)
    errors = []
    for randomizer in randomizers(dimension, epsilon):
        sent = randomizer.simulate(signs[:, None] * vectors, generator)
        oracle = ExplicitHistVector(
            np.ones((1, people), dtype=np.int8),
            masks,
            math.sqrt(randomizer.squared_norm),
            lambda piece, level, sent=sent: sent[piece],
            DIGIT_BITS,
            dimension,
        )
        found = oracle.part_sums(1, BUCKETS, np.arange(len(BUCKETS)), len(BUCKETS))
        errors.append(np.sum((found - true) ** 2, axis=1).mean())
        assert errors[-1] == pytest.approx(people * randomizer.squared_norm, rel=0.25)
    assert errors[1] < 0.8 * errors[0]


def test_binary_response_lies_as_often_as_it_says():
    from coterie.coins import SimulationCoins

    response = BinaryResponse(largest_odds(1.0))
    lies = response.flips((200_000,), SimulationCoins(1))
    expected = 1 / (math.e + 1)
    assert abs(lies.mean() - expected) < MEAN_Z * math.sqrt(expected * (1 - expected) / 200_000)
