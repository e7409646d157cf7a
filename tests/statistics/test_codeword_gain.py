"""How far a sent codeword leans towards the input: κ and c₂, against real codewords and real reports.

Given the codewords, the law of the index is known exactly, so the mean of ⟨v,w'⟩ over the secret draw is
computed and not sampled; what is left is the spread between people's codewords, which is small. The second
test goes the whole way: points in, bytes out, codewords regenerated from the bytes, mean against the input.
All seeds are fixed; a threshold of six standard errors has a false alarm rate of 2e-9 for a fresh seed.
"""

import dataclasses
import math

import numpy as np
import pytest

from benchmarks.guarantees import rotation_bias
from coterie.coins import SimulationCoins
from coterie.engines import play
from coterie.geometry.ball import SCALE, quantize
from coterie.geometry.cells import CrossPolytopeCells
from coterie.geometry.lift import lift
from coterie.geometry.rotation import Rotation
from coterie.plan import Plan
from coterie.plan.views import CrossPolytope
from coterie.privacy.odds import BASE_ODDS, largest_odds
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.protocols.codeword.oracles.cell_sums import cell_sums, direction_variance, embedding_matrix
from coterie.randomizers.codeword import CodewordRandomizer, best_cap
from coterie.wire.rows import Rows
from coterie.wire.stream import PublicStream, signs_of

SIGMAS = 6  # standard errors a mean may be off by
PROMISE = 1e-3  # relative error of κ that is promised for ε ≤ 4
PEOPLE = 40_000
CODEWORDS, EMBEDDING, LIFTED = 256, 128, 102


@pytest.fixture(scope="module")
def sorted_scores():
    """(PEOPLE, N): ⟨v,w'⟩ of every codeword, descending, for random unit vectors and the real stream."""
    rng = np.random.default_rng(0)
    stream = PublicStream(bytes(16))
    rotation = Rotation.from_key(bytes(range(16)), EMBEDDING)
    scores = np.empty((PEOPLE, CODEWORDS))
    for start in range(0, PEOPLE, 8):
        vectors = rng.normal(size=(8, LIFTED))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        rotated = rotation.apply(vectors) / EMBEDDING
        ids = rng.integers(0, 256, size=(8, 12), dtype=np.uint8)
        signs = signs_of(stream.blocks(ids, 1, CODEWORDS * EMBEDDING // 128)).reshape(
            -1, CODEWORDS, EMBEDDING
        )
        scores[start : start + 8] = (signs @ rotated.astype(np.float32)[:, :, None])[:, :, 0]
    scores.sort(axis=1)
    return scores[:, ::-1]


def mean_and_error(values, scores):
    """Mean and standard error, the part explained by the scores' own mean and spread taken out.

    Over all codewords ⟨v,w'⟩ has mean 0 and square 1 exactly, so regressing on their sample values is fair.
    """
    known = np.stack([np.ones(PEOPLE), scores.mean(axis=1), (scores**2).mean(axis=1) - 1], axis=1)
    coefficients = np.linalg.lstsq(known, values, rcond=None)[0]
    rest = values - known[:, 1:] @ coefficients[1:]
    return rest.mean(), rest.std() / math.sqrt(PEOPLE)


def fits(measured, error, claimed, promise):
    return abs(measured - claimed) <= promise * claimed + SIGMAS * error


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_gains_are_right_within_the_promise_and_wrong_ones_are_noticed(sorted_scores, epsilon):
    odds = largest_odds(epsilon)
    randomizer = CodewordRandomizer(CODEWORDS, best_cap(CODEWORDS, odds), odds)
    law = np.full(CODEWORDS, BASE_ODDS / randomizer.total)
    law[: randomizer.cap] = odds / randomizer.total

    kappa, error = mean_and_error(sorted_scores @ law, sorted_scores)
    assert fits(kappa, error, randomizer.gain(EMBEDDING), PROMISE)
    for factor in (0.95, 1.05):
        assert not fits(kappa, error, factor * randomizer.gain(EMBEDDING), PROMISE)

    square, error = mean_and_error(sorted_scores**2 @ law - 1, sorted_scores)
    assert fits(square, error, randomizer.second_gain(EMBEDDING), 3 * PROMISE)
    for factor in (0.95, 1.05):
        assert not fits(square, error, factor * randomizer.second_gain(EMBEDDING), 3 * PROMISE)


def test_the_correction_for_finite_codewords_is_needed(sorted_scores):
    odds = largest_odds(4.0)
    randomizer = CodewordRandomizer(CODEWORDS, best_cap(CODEWORDS, odds), odds)
    law = np.full(CODEWORDS, BASE_ODDS / randomizer.total)
    law[: randomizer.cap] = odds / randomizer.total
    kappa, _ = mean_and_error(sorted_scores @ law, sorted_scores)
    assert abs(randomizer.gain() / kappa - 1) > 2 * abs(randomizer.gain(EMBEDDING) / kappa - 1)


def test_reports_of_one_point_average_to_the_rotated_point():
    plan = Plan.design(dimension=40, clusters=4, epsilon=2.0, expected_users=10_000)
    parameters = dataclasses.replace(plan.parameters, views=(CrossPolytope(64),))
    plan = dataclasses.replace(plan, parameters=parameters)
    people = 60_000
    point = np.random.default_rng(1).normal(size=(1, 40)) / 9
    ids = np.random.default_rng(2).integers(0, 256, size=(people, 12), dtype=np.uint8)
    reports = CodewordEncoder(plan).encode(np.repeat(point, people, axis=0), ids, SimulationCoins(3))

    # What anyone can regenerate: codeword, row and flip. The sign needs the cell, known here.
    stream = PublicStream(plan.randomness_key())
    layout = Rows.of(parameters)
    rows, flips, packed = stream.chosen(ids, reports[:, 12].astype(np.int64), layout, parameters.embedding)
    quantized, _ = quantize(point, plan.center, plan.radius)
    (cell,) = CrossPolytopeCells.from_key(plan.randomness_key("view/0"), 64, 40).of(quantized)
    odd = (np.bitwise_count(cell & rows) + flips) & 1
    codewords = signs_of(packed) * (1.0 - 2.0 * odd)[:, None]  # (n, P)

    embedding = Rotation.from_key(plan.randomness_key("embedding"), parameters.embedding)
    rotated = embedding.apply(lift(quantized, parameters.count_weight))[0] / (parameters.embedding * SCALE)
    kappa = parameters.randomizer.gain(parameters.embedding)
    error = 1 / (kappa * math.sqrt(people))  # of each coordinate of mean / κ, and of any projection

    estimate = codewords.mean(axis=0) / kappa
    assert abs(estimate @ rotated - 1) < SIGMAS * error
    # P coordinates with unit variance: their sum of squares is P, give or take √(2P)
    assert (
        np.sum((estimate - rotated) ** 2)
        < (parameters.embedding + SIGMAS * math.sqrt(2 * parameters.embedding)) * error**2
    )
    for factor in (0.95, 1.05):
        assert abs(estimate @ rotated / factor - 1) > SIGMAS * error

    # The second moment off the diagonal is c₂·w'w'ᵀ: weigh it with w'w'ᵀ, which has Frobenius norm about 1.
    product = codewords.T @ codewords / people
    pattern = np.outer(rotated, rotated)
    np.fill_diagonal(pattern, 0)
    square = np.sum(product * pattern) / np.sum(pattern**2)
    spread = np.std(np.einsum("ni,ij,nj->n", codewords[:5000], pattern, codewords[:5000], optimize=True))
    error = spread / np.sum(pattern**2) / math.sqrt(people)
    claimed = parameters.randomizer.second_gain(parameters.embedding)
    assert abs(square - claimed) < SIGMAS * error + 0.01 * claimed
    for factor in (0.85, 1.15):
        assert abs(square - factor * claimed) > SIGMAS * error + 0.01 * claimed


@pytest.mark.parametrize(
    ("dimension", "epsilon", "people", "tables"),
    [(30, 4.0, 20_000, 1), (30, 1.0, 20_000, 1), (2, 4.0, 4_000, 20)],
)
def test_noise_is_larger_along_the_people_than_on_average(dimension, epsilon, people, tables):
    # Everybody at one point: all cells but one are empty, and their sums lean along everybody's vector.
    # A plan of the plane has 64 of them, so it takes many tables to see it.
    plan = Plan.design(dimension, 2, epsilon, 20_000, seed=3)
    parameters = plan.parameters
    point = np.full(dimension, 0.5 / math.sqrt(dimension))
    crowd = np.tile(point, (people, 1))
    played = [play(plan, crowd, SimulationCoins([4, number])).table for number in range(tables)]
    lifted = lift(quantize(point[None], None, 1.0)[0], parameters.count_weight)[0] / SCALE
    along = across = cells = 0.0
    for view in [view for table in played for view in cell_sums(table)]:
        sums = view.vectors
        empty = np.arange(len(sums)) != (sums @ lifted).argmax()
        heights = sums[empty] @ lifted
        along += float((heights**2).sum()) * view.people
        across += float((sums[empty] ** 2).sum() - (heights**2).sum()) * view.people
        cells += empty.sum()
    stated = direction_variance(parameters, 1, share=1.0)
    other = direction_variance(parameters, 1, share=0.0)
    width = dimension + 2
    noise = SIGMAS * math.sqrt(2 / cells)  # of the mean of so many squared normals
    assert along / cells == pytest.approx(stated, rel=noise + 0.02)
    assert across / (cells * (width - 1)) == pytest.approx(other, rel=noise / math.sqrt(width - 1) + 0.05)
    if epsilon == 4.0:  # the average, taken for the variance of "each" coordinate, is refuted
        average = direction_variance(parameters, 1, share=1 / width)
        assert abs(along / cells / average - 1) > noise + 0.02


def test_one_public_rotation_leaves_a_bias_of_up_to_a_percent_and_its_formula_is_right():
    # The gain is right on average over points and rotations; of one point under one rotation it is not.
    plan = Plan.design(100, 4, 4.0, 10**6, seed=3)
    points = np.random.default_rng(3).standard_normal((8, 100))
    points *= 0.99 / np.linalg.norm(points, axis=1, keepdims=True)
    wrong = np.array([rotation_bias(plan, point) for point in points])
    lengths = np.linalg.norm(wrong, axis=1)
    assert 3 * PROMISE < np.median(lengths) < lengths.max() < 15 * PROMISE
    worst, law = int(lengths.argmax()), plan.parameters.randomizer
    turn = embedding_matrix(plan, plan.parameters)
    y = turn @ (lift(quantize(points[[worst]], None, 1.0)[0], plan.parameters.count_weight)[0] / SCALE)
    y /= np.linalg.norm(y)
    ahead = turn @ wrong[worst] / lengths[worst]  # where it leans
    rng, leaning = np.random.default_rng(4), []
    for _ in range(PEOPLE // 500):
        words = signs_of(rng.integers(0, 256, (500, CODEWORDS, EMBEDDING // 8), dtype=np.uint8))
        scores = words @ y.astype(np.float32)
        weights = np.full(scores.shape, BASE_ODDS / law.total)
        chosen = np.argpartition(-scores, law.cap - 1, axis=1)[:, : law.cap]
        np.put_along_axis(weights, chosen, law.odds / law.total, axis=1)
        leaning.append((weights * (words @ ahead.astype(np.float32))).sum(axis=1))
    measured = np.concatenate(leaning) / law.gain(EMBEDDING) - y @ ahead
    error = measured.std() / math.sqrt(PEOPLE)
    assert abs(measured.mean() - lengths[worst]) < SIGMAS * error
    assert lengths[worst] - PROMISE > SIGMAS * error  # it is no 0.1 %
