import numpy as np
import pytest
from sklearn.cluster import KMeans

from coterie.aggregate import Aggregate
from coterie.centers import decode
from coterie.coins import SimulationCoins
from coterie.errors import DecodeError
from coterie.plan import Plan
from coterie.protocols.paper.net_tree.decode import decode as decode_net_tree
from coterie.protocols.paper.net_tree.encode import NetTreeEncoder

CENTERS = np.array([[0.8, 0.0], [-0.4, 0.7], [-0.4, -0.7]])


def collect(plan, points, seed=0):
    ids = np.frombuffer(SimulationCoins(seed).bytes(12 * len(points)), dtype=np.uint8).reshape(-1, 12)
    table = Aggregate(plan)
    table.add(NetTreeEncoder(plan).encode(points, ids, SimulationCoins(seed + 1)))
    return table


@pytest.fixture(scope="module")
def study():
    plan = Plan.design(2, 3, 8.0, 30_000, protocol="net-tree", center=(5.0, -3.0), radius=2.0, seed=1)
    points = CENTERS[np.arange(30_000) % 3] + np.random.default_rng(0).normal(0, 0.03, (30_000, 2))
    return plan, collect(plan, np.array([5.0, -3.0]) + 2.0 * points)


def gaps(centers):
    true = np.array([5.0, -3.0]) + 2.0 * CENTERS
    return np.linalg.norm(true[:, None] - centers, axis=2).min(axis=1)


def test_three_clusters_are_found_in_the_plans_coordinates(study):
    plan, table = study
    result = decode(table, random_state=0)
    assert gaps(result.centers).max() < 0.25
    assert result.weights == pytest.approx([1 / 3] * 3, abs=0.05)
    assert (result.supported, result.notes, result.count) == (3, (), 30_000)
    assert (gaps(result.centers) < 4 * result.errors.max()).all()
    assert result.plan_id == plan.id
    assert result.guarantee.epsilon == 8.0


def test_the_population_is_exported_in_the_plans_coordinates(study):
    _, table = study
    found = decode(table, random_state=0).population
    assert found.weights.sum() == pytest.approx(1, abs=0.1)
    again = KMeans(3, n_init=10, random_state=0).fit(found.points, sample_weight=found.weights)
    assert gaps(again.cluster_centers_).max() < 1.0  # cells are coarse; they lie where people are


def test_the_same_reports_and_seed_give_the_same_result(study):
    plan, table = study
    reports = table.table.reports
    again = Aggregate(plan)
    again.add(reports[::-1])
    first, second = decode(table, random_state=3), decode(again, random_state=3)
    assert (first.centers == second.centers).all()


def test_a_solver_can_be_passed(study):
    _, table = study
    solver = KMeans(3, n_init=3, random_state=0)
    result = decode(table, random_state=0, solver=solver)
    assert gaps(result.centers).max() < 0.25


def test_the_papers_decoder_to_the_letter_runs_on_the_same_reports(study):
    _, table = study
    letter = {"expansion": 4, "rounds": 15, "strays": 0.0}
    outcome = decode_net_tree([table], 3, np.random.default_rng(0), **letter).tree
    assert outcome.pooled.all()  # every leaf counts
    assert outcome.centers.shape == (3, 2)
    assert outcome.weights.sum() == pytest.approx(30_000, rel=0.3)


def test_a_projected_study_finds_centers_in_all_dimensions():
    generator = np.random.default_rng(1)
    centers = np.zeros((2, 30))
    centers[0, 0], centers[1, 1] = 0.9, -0.9
    points = centers[np.arange(40_000) % 2] + generator.normal(0, 0.005, (40_000, 30))
    plan = Plan.design(30, 2, 12.0, 40_000, protocol="net-tree", seed=5)
    result = decode(collect(plan, points), random_state=0)
    assert np.linalg.norm(centers[:, None] - result.centers, axis=2).min(axis=1).max() < 0.3
    assert result.population.points.shape[1] == 30


def test_too_few_reports_give_k_centers_and_a_warning_in_words():
    plan = Plan.design(2, 4, 0.5, 100, protocol="net-tree")
    result = decode(collect(plan, np.zeros((100, 2))), random_state=0)
    assert result.centers.shape == (4, 2)
    assert np.isfinite(result.centers).all()
    assert np.isfinite(result.weights).all()
    assert "the paper's protocol says little" in result.notes[0]
    assert "None of the groups stands clear of the privacy noise" in result.notes[1]


def test_nothing_cannot_be_decoded():
    plan = Plan.design(2, 4, 0.5, 100, protocol="net-tree")
    with pytest.raises(DecodeError, match="empty"):
        decode(Aggregate(plan))
