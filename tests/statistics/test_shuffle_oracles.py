"""The oracles of the shuffle model: unbiased, with the noise they state, flat in the number of people.

Real messages are sent, mixed and added up; the same sums drawn from their law must look the same.
"""

import numpy as np
import pytest
from scipy import stats

from benchmarks.reproduction.shuffled_histogram import ShuffledHistogram
from coterie.coins import SimulationCoins
from coterie.engines import Inline, drawn_table
from coterie.plan import Plan
from coterie.protocols.vector_sums.encode import VectorSumEncoder
from coterie.protocols.vector_sums.oracle import mixed_cell_sums

FALSE_ALARM = 1e-7
FLAT = 0.20  # relative change of the error from the fewest to the most people


def plan_of(people, **options):
    return Plan.design(
        3,
        2,
        1.0,
        people,
        protocol="vector-sums",
        model="shuffle",
        delta=1e-6,
        minimum_batch=people,
        **options,
    )


def true_sums(plan, points, ids):
    rows, vectors, _ = VectorSumEncoder(plan).contributions(points, ids)
    sums = np.zeros((plan.parameters.rows, plan.parameters.coordinates))
    np.add.at(sums, rows, vectors)
    return sums


def noise_of(plan, points, seed, *, sent):
    """Decoded sums less the true ones, in deviations that the oracle states; layout cells."""
    coins = SimulationCoins(seed)
    ids = np.frombuffer(SimulationCoins(seed).bytes(12 * len(points)), dtype=np.uint8).reshape(-1, 12)
    if sent:
        table = Inline().aggregate(plan, [VectorSumEncoder(plan).encode(points, ids, coins)])
    else:
        table, _ = drawn_table(plan, points, coins)
    (view,) = mixed_cell_sums(table.table)
    scale = plan.parameters.grid * len(points)
    return ((view.vectors - true_sums(plan, points, ids) / scale) / np.sqrt(view.variance)).ravel()


def spread_p_value(standardized):
    """Two-sided p-value of Σz² under independent standard normals."""
    total, count = float((standardized**2).sum()), standardized.size
    return 2 * min(stats.chi2.cdf(total, count), stats.chi2.sf(total, count))


@pytest.mark.parametrize("sent", [True, False])
def test_sent_and_drawn_sums_have_the_stated_noise(sent):
    people = 200
    plan = plan_of(people, cells=64)
    points = np.random.default_rng(0).normal(0, 0.3, (people, 3))
    # 64 cells × 5 coordinates × 16 seeds: 5,120 numbers tell a tenth of a scale at 8 deviations
    found = np.concatenate([noise_of(plan, points, seed, sent=sent) for seed in range(16)])
    assert stats.kstest(found, "norm").pvalue > FALSE_ALARM
    assert spread_p_value(found) > FALSE_ALARM
    for wrong in (0.9, 1.1):
        assert spread_p_value(found / wrong) < FALSE_ALARM


def test_in_a_hashed_table_every_share_is_sent_and_every_bucket_has_the_stated_noise():
    people = 40
    plan = plan_of(people, layout="hashed", failure=0.5, cells=16)
    parameters, encoder = plan.parameters, VectorSumEncoder(plan)
    assert parameters.cost.messages == parameters.rows * parameters.coordinates * parameters.shares
    points = np.random.default_rng(5).normal(0, 0.4, (people, 3))
    found = []
    for seed in range(8):  # 160 buckets × 5 coordinates × 8 seeds: 6,400 numbers
        coins = SimulationCoins([7, seed])
        ids = np.frombuffer(coins.bytes(12 * people), dtype=np.uint8).reshape(-1, 12)
        reports = encoder.encode(points, ids, coins)
        assert reports.shape[1] == 12 + parameters.cost.messages * parameters.sums().mixer.share_bytes
        table = Inline().aggregate(plan, [reports]).table
        assert (table.people_by_row() == people).all()
        noise = parameters.sums().centered(table.sums) - true_sums(plan, points, ids)
        found.append(noise.ravel() / (float(parameters.noise_scale) * np.sqrt(people)))
    standardized = np.concatenate(found)
    assert spread_p_value(standardized) > FALSE_ALARM
    for wrong in (0.9, 1.1):
        assert spread_p_value(standardized / wrong) < FALSE_ALARM


def test_columns_are_unbiased_and_state_their_noise():
    people = 4000
    plan = plan_of(people, layout="column", cells=8)
    points = np.repeat([[0.7, 0.0, 0.0], [-0.2, 0.5, 0.4]], people // 2, axis=0)
    single = np.random.default_rng(1).permutation(points)
    found = [mixed_cell_sums(drawn_table(plan, single, SimulationCoins([3, s]))[0].table) for s in range(60)]
    for view in range(2):
        vectors = np.stack([each[view].vectors for each in found])  # (60, M, D)
        variance = np.mean([each[view].variance for each in found])
        spread = vectors.var(axis=0, ddof=1).mean()
        assert spread == pytest.approx(variance, rel=0.1)
        total = vectors.mean(axis=0).sum(axis=0)  # over all cells: the mean lifted vector
        wanted = np.mean([[0.7, 0.0, 0.0], [-0.2, 0.5, 0.4]], axis=0) * np.sqrt(1 - 0.2**2)
        assert np.abs(total[:3] - wanted).max() < 6 * np.sqrt(variance * 8 / 60)


def histogram_error(people, seed):
    coins = SimulationCoins([people, seed])
    oracle = ShuffledHistogram.design(1.0, 1e-6, people=people, key=bytes(16), buckets=1024)
    cells = np.random.default_rng(seed).integers(0, 40, people) ** 3  # far fewer cells than buckets
    counts = oracle.count(oracle.encode(cells, coins))
    truth = np.bincount(oracle.hashes[0].of(cells), minlength=1024)
    return oracle.blanket.estimate(counts[0], people) - truth


def test_the_histograms_error_is_that_of_the_central_model_and_flat_in_n():
    errors = {
        n: np.std(np.concatenate([histogram_error(n, s) for s in range(3)])) for n in (10**3, 10**4, 10**5)
    }
    assert max(errors.values()) / min(errors.values()) < 1 + FLAT
    assert errors[10**5] == pytest.approx(6.5, rel=0.1)  # √λ; the central discrete Laplace has √2·2/ε = 2.8


def test_the_vector_sums_error_is_flat_in_n():
    errors = {}
    for people in (10**3, 10**4, 10**5):
        plan = plan_of(people, cells=16)
        points = np.random.default_rng(2).normal(0, 0.3, (people, 3))
        ids = np.frombuffer(SimulationCoins(4).bytes(12 * people), dtype=np.uint8).reshape(-1, 12)
        truth = true_sums(plan, points, ids) / plan.parameters.grid
        found = []
        for seed in range(10):
            (view,) = mixed_cell_sums(drawn_table(plan, points, SimulationCoins([people, seed]))[0].table)
            found.append(view.vectors * people - truth)
        errors[people] = np.std(found)
    assert max(errors.values()) / min(errors.values()) < 1 + FLAT
