"""Codewords through the levels of a net tree: unbiased, with the noise they state, as √n and 1/ε."""

import math

import numpy as np
import pytest

from benchmarks.net_tree import codeword_oracle_errors
from coterie.centers import decode
from coterie.centers.tight.subspace import signal_subspace
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import play
from coterie.geometry.ball import SCALE, quantize
from coterie.geometry.hadamard import fwht
from coterie.geometry.lift import lift
from coterie.metrics import normalized_objective
from coterie.plan import Plan
from coterie.protocols.paper import k_means
from coterie.protocols.paper.net_tree.decode import codeword_oracle
from coterie.protocols.paper.net_tree.encode_codeword import CodewordTreeEncoder
from coterie.protocols.paper.net_tree.parameters import BIAS
from coterie.protocols.paper.net_tree.report_codeword import CodewordTreeStream
from coterie.wire.stream import signs_of

SIGMAS = 6  # standard errors; a false alarm of 2e-9
SCALING = 0.15


def plan_of(people, epsilon=1.0, dimension=4, **options):
    return Plan.design(dimension, 4, epsilon, people, protocol="net-tree", randomizer="codeword", **options)


def mean_reports(plan, vector, people):
    """Means of turned-back reports over the secret draw, computed, and four numbers of known mean 0 for each.

    What is left is the spread of public codewords: scores of all 256 have mean 0, square 1, cube 0 and fourth
    power 3 - 2Σw'⁴, so regressing on their sample moments is fair.
    """
    law, size = plan.parameters.randomizer, plan.parameters.embedding
    stream, generator = CodewordTreeStream(plan), np.random.default_rng(5)
    signs = signs_of(np.arange(256, dtype=np.uint8)[:, None])  # of the bits of each byte: (256, 8)
    first_byte = 256 * np.arange(500 * size // 8).reshape(500, 1, -1)  # each of its own, by person and place
    reports, known = [], []
    for _ in range(people // 500):
        ids = generator.integers(0, 256, (500, 12), dtype=np.uint8)
        turned = stream.rotated(ids, np.tile(vector, (500, 1))).astype(np.float32)
        turned /= np.linalg.norm(turned, axis=1, keepdims=True)
        held = first_byte + stream.codeword_blocks(500)(ids).reshape(500, 256, -1)  # bytes of all codewords
        scores = (turned.reshape(500, -1, 8) @ signs.T).ravel()[held].sum(axis=2)
        chosen = np.argsort(-scores, axis=1, kind="stable")[:, : law.cap]
        weights = np.full(scores.shape, (1 << 24) / law.total, dtype=np.float32)
        np.put_along_axis(weights, chosen, law.odds / law.total, axis=1)
        of_bytes = np.bincount(held.ravel(), np.repeat(weights.ravel(), size // 8), minlength=32 * 500 * size)
        mean = (of_bytes.reshape(500, -1, 256) @ signs).reshape(500, size)
        first, second = stream._rotation_signs(ids)
        reports.append((fwht(fwht(mean) * second) * first)[:, : vector.shape[1]] / size / law.gain(size))
        fourth = 3 - 2 * (turned**4).sum(axis=1)
        squares = scores * scores
        moments = [each.mean(axis=1) for each in (scores, squares, squares * scores, squares * squares)]
        known.append(np.stack([moments[0], moments[1] - 1, moments[2], moments[3] - fourth], axis=1))
    return np.concatenate(reports), np.concatenate(known)


def largest_bias(reports, known, unit):
    """Return how long E[z] - w may be, SIGMAS deviations above what was measured along w and across it."""
    people, heights = len(reports), reports @ unit
    slopes = np.linalg.lstsq(np.column_stack([np.ones(people), known]), heights, rcond=None)[0][1:]
    rest = heights - known @ slopes
    along = abs(rest.mean() - 1) + SIGMAS * rest.std() / math.sqrt(people)
    across = reports - heights[:, None] * unit
    # By the signs of a fresh rotation, coordinates that w has not are 0 in the mean, exactly.
    aside, noise = across.mean(axis=0)[unit != 0], across.var(axis=0)[unit != 0] / people
    square = aside @ aside - noise.sum() + SIGMAS * math.sqrt(2 * (noise**2).sum())  # unbiased, and above it
    return math.sqrt(along**2 + max(square, 0.0))


NIGHTLY = pytest.mark.nightly  # the other half of the grid


@pytest.mark.parametrize(
    ("dimension", "epsilon", "kind", "people"),
    [
        (3, 1.0, "axis", 40_000),
        (3, 4.0, "spread", 60_000),
        (60, 4.0, "axis", 40_000),
        (3, 10.0, "spread", 100_000),
        pytest.param(3, 1.0, "spread", 60_000, marks=NIGHTLY),
        pytest.param(3, 4.0, "axis", 40_000, marks=NIGHTLY),
        pytest.param(60, 4.0, "spread", 60_000, marks=NIGHTLY),
        pytest.param(3, 8.0, "axis", 200_000, marks=NIGHTLY),
        pytest.param(60, 8.0, "spread", 640_000, marks=NIGHTLY),
        pytest.param(60, 10.0, "axis", 200_000, marks=NIGHTLY),
    ],
)
def test_the_mean_of_a_report_is_the_vector_within_the_stated_bias(dimension, epsilon, kind, people):
    plan = plan_of(people, epsilon, dimension, levels=1, projected=min(dimension, 3))
    point = np.eye(dimension)[0] if kind == "axis" else np.full(dimension, 1 / math.sqrt(dimension))
    vector = lift(quantize(0.95 * point[None], None, 1.0)[0], plan.parameters.count_weight)  # (1, D)
    unit = vector[0] / np.linalg.norm(vector)
    reports, known = mean_reports(plan, vector, people)
    assert largest_bias(reports, known, unit) < BIAS
    # Half a percent more would be seen along the vector, and one percent across it.
    aside = np.where(unit != 0, np.random.default_rng(1).standard_normal(len(unit)), 0.0)
    aside -= aside @ unit * unit
    for planted in (unit, -unit, 2 * aside / np.linalg.norm(aside)):
        assert largest_bias(reports + BIAS * planted, known, unit) > BIAS


def test_reports_tell_the_second_moment_of_lifted_vectors_with_its_noise():
    people, dimension = 6_000, 20
    plan = plan_of(people, 8.0, dimension, levels=2, projected=3)
    points = np.repeat(np.eye(dimension)[:3] * 0.9, people // 3, axis=0)
    lifted = lift(quantize(points, None, 1.0)[0], plan.parameters.count_weight) / SCALE
    found = codeword_oracle(play(plan, points, SimulationCoins(3)).table).moment
    off = ~np.eye(dimension + 2, dtype=bool)
    wrong = (found.matrix - lifted.T @ lifted / people)[off] / found.deviation
    # Each entry has noise of this deviation, more by c₂ where people are: near 1 over all of them.
    assert 0.9 < np.sqrt(np.mean(wrong**2)) < 1.35
    assert np.abs(np.diag(found.matrix) - (lifted**2).mean(axis=0)).max() < 0.05
    basis = signal_subspace(found, dimension)
    assert basis.shape[1] == 3
    assert np.linalg.norm(basis[:3]) > 0.95 * math.sqrt(3)


def test_centers_have_the_noise_of_a_few_directions_and_not_of_all(monkeypatch):
    people, dimension = 10_000, 60
    plan = plan_of(people, 8.0, dimension)
    points, centers, _ = gaussian_mixture(people, dimension, 4, 100.0, 0)
    table = play(plan, points, SimulationCoins(0))

    def excess():
        found = decode(table, random_state=0).centers
        return normalized_objective(points, found) - normalized_objective(points, centers)

    few = excess()
    monkeypatch.setattr(k_means, "signal_subspace", lambda *_: np.empty((dimension, 0)))
    assert few < 0.8 * excess()


def test_the_noise_is_the_stated_one_and_scales_as_root_n_and_one_over_epsilon():
    size, stated = {}, {}
    for setting in ((2_000, 1.0), (32_000, 1.0), (2_000, 0.25)):
        found = [codeword_oracle_errors(*setting, seed) for seed in range(4)]
        counts = np.concatenate([counts for counts, _, _ in found])
        lengths = np.concatenate([np.linalg.norm(vectors, axis=1) for _, vectors, _ in found])
        size[setting] = np.array([np.sqrt(np.mean(counts**2)), np.sqrt(np.mean(lengths**2))])
        oracle = found[0][2]
        stated[setting] = np.array([oracle.deviation(1), oracle.vector_deviation(1)])
        assert abs(counts.mean()) < SIGMAS * size[setting][0] / math.sqrt(counts.size / 4)
    base = size[2_000, 1.0]
    assert np.abs(size[32_000, 1.0] / base / 4 - 1).max() < SCALING
    assert np.abs(size[2_000, 0.25] / base / 4 - 1).max() < SCALING
    assert np.abs(base / stated[2_000, 1.0] - 1).max() < 0.1


def test_bounds_hold_for_every_node():
    plan = plan_of(2_000, levels=2, projected=4)
    counts, vectors, _ = codeword_oracle_errors(2_000, 1.0, 9)
    eta, eta_vector = plan.parameters.oracle_errors(
        dimension=4, people=2_000, failure=1e-6, nodes=len(counts)
    )
    assert np.abs(counts).max() < eta
    assert np.linalg.norm(vectors, axis=1).max() < eta_vector


def test_people_are_split_over_the_levels_evenly():
    plan = plan_of(1000, levels=3)
    ids = np.random.default_rng(0).integers(0, 256, (30_000, 12), dtype=np.uint8)
    counts = np.bincount(CodewordTreeStream(plan).choices(ids).levels, minlength=4)[1:]
    assert np.abs(counts - 10_000).max() < SIGMAS * math.sqrt(30_000 * 2 / 9)


def test_it_finds_groups_and_beats_the_bits():
    people = 50_000
    points, centers, _ = gaussian_mixture(people, 3, 3, 50.0, 11)
    best, found = normalized_objective(points, centers), {}
    for randomizer in ("djw", "codeword"):
        found[randomizer] = 0.0
        for seed in range(4):  # one run alone says little
            plan = Plan.design(3, 3, 2.0, people, protocol="net-tree", randomizer=randomizer, seed=seed)
            result = decode(play(plan, points, SimulationCoins([3, seed])), random_state=0)
            found[randomizer] += normalized_objective(points, result.centers) - best
            assert result.tree.projected_centers.shape == (3, 3)
    assert found["codeword"] < found["djw"] / 2
    encoder = CodewordTreeEncoder(plan)
    assert encoder.encode(points[:1], np.zeros((1, 12), dtype=np.uint8), SimulationCoins(0)).shape == (1, 13)


def test_the_letter_of_the_paper_decodes_codewords_too():
    people = 50_000
    points, _, _ = gaussian_mixture(people, 2, 2, 50.0, 12)
    plan = Plan.design(2, 2, 4.0, people, protocol="net-tree", randomizer="codeword", levels=2)
    result = decode(play(plan, points, SimulationCoins(3)), random_state=0, strays=0.0, expansion=4)
    assert result.tree.pooled.all()
    assert normalized_objective(points, result.centers) < 0.2


def test_the_guarantee_carries_the_bias():
    plan = Plan.design(
        2, 4, 1.0, 10**6, protocol="net-tree", randomizer="codeword", constants="theory", levels=5
    )
    bits = Plan.design(2, 4, 1.0, 10**6, protocol="net-tree", constants="theory", levels=5)
    found, other = (each.approximation({"constants": "theory"}, slack=0.05) for each in (plan, bits))
    known = plan.parameters.bias  # of counts and vectors: the lift has b = 1/2
    assert known == pytest.approx(2 * BIAS, rel=1e-5)
    assert found.ratio == pytest.approx(other.ratio * (1 + known) / (1 - known))
    assert found.count_error < other.count_error  # √T against T
    assert found.vector_error < other.vector_error
