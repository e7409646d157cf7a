import re
from pathlib import Path

import numpy as np
import pytest

from coterie import LocalKMeans, Plan, decode
from coterie.centers import LocalSearch
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import play
from coterie.errors import DecodeError, PlanError
from coterie.metrics import normalized_objective
from coterie.protocols.paper.lsh_tree.decode import leaves_of
from coterie.protocols.paper.lsh_tree.oracle import LevelSums
from coterie.protocols.paper.lsh_tree.tree import lsh_leaves

ROOT = Path(__file__).parents[5]
SWITCHES = [
    {},
    {"randomizer": "privunit"},
    {"split": "budget"},
    {"split": "deepest"},
    {"count": "joint"},
    {"levels": 4},
]


@pytest.mark.parametrize("options", SWITCHES, ids=str)
def test_every_switch_finds_separated_clusters(options):
    points, _, _ = gaussian_mixture(60_000, 10, 3, 50, random_state=3)
    plan = Plan.design(10, 3, 8.0, len(points), protocol="lsh-tree", seed=5, **options)
    result = decode(play(plan, points, SimulationCoins(1)), random_state=0)
    one_center = normalized_objective(points, points.mean(axis=0, keepdims=True))
    assert normalized_objective(points, result.centers) < 0.6 * one_center
    assert result.centers.shape == (3, 10)
    assert 0.9 < result.weights.sum() < 1 + 1e-9  # what noise may have made has no weight


def test_the_threshold_is_the_decoders():
    points, _, _ = gaussian_mixture(20_000, 6, 3, 50, random_state=0)
    table = play(Plan.design(6, 3, 8.0, 20_000, protocol="lsh-tree"), points, SimulationCoins(0))
    few, many = (decode(table, random_state=0, threshold=times).tree.leaves for times in (1e6, 0.0))
    assert len(few.weights) <= 2 < len(many.weights)  # only the root is branched, or every node
    with pytest.raises(PlanError, match="threshold must be in"):
        decode(table, threshold=-1.0)
    with pytest.raises(DecodeError, match="lsh-tree has no option 'strays'; known: threshold"):
        decode(table, strays=0.5)


def test_the_same_table_and_seed_give_the_same_centers():
    points, _, _ = gaussian_mixture(5000, 6, 2, 8, random_state=0)
    table = play(Plan.design(6, 2, 4.0, 5000, protocol="lsh-tree"), points, SimulationCoins(0))
    first, again = (decode(table, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(first.centers, again.centers)


def test_centers_come_in_the_plan_s_coordinates():
    points, _, _ = gaussian_mixture(20_000, 4, 2, 50, random_state=2)
    shift = np.array([10.0, 0.0, -3.0, 1.0])
    plan = Plan.design(4, 2, 8.0, 20_000, protocol="lsh-tree", center=shift.tolist(), radius=2.0)
    result = decode(play(plan, 2 * points + shift, SimulationCoins(0)), random_state=0)
    assert np.linalg.norm(result.centers - shift, axis=1).max() <= 2.0 + 1e-9
    assert normalized_objective(2 * points + shift, result.centers) < 1.0


def test_few_reports_still_give_k_centers_and_a_caution():
    plan = Plan.design(5, 4, 0.5, 10, protocol="lsh-tree")
    result = decode(play(plan, np.zeros((10, 5)), SimulationCoins(0)), random_state=0)
    assert result.centers.shape == (4, 5)
    assert np.isfinite(result.centers).all()
    assert result.notes


def test_estimator_plays_it():
    points, _, _ = gaussian_mixture(20_000, 5, 2, 20, random_state=1)
    model = LocalKMeans(2, epsilon=8.0, protocol="lsh-tree", radius=1.0, random_state=0).fit(points)
    assert model.plan_.protocol == "lsh-tree"
    assert model.result_.supported == 2


def test_branching_is_at_the_threshold_exactly():
    levels = [np.array([10.0, 9.99]), np.array([4.0, 6.0, 5.0, 5.0])]
    assert [codes.tolist() for codes in lsh_leaves(levels, 10.0)] == [[1], [0, 1]]


def test_leaves_partition_the_deepest_codes():
    generator = np.random.default_rng(0)
    levels = [generator.uniform(0, 10, 1 << depth) for depth in (1, 2, 3, 4, 5)]
    covered = [
        deep
        for depth, codes in enumerate(lsh_leaves(levels, 5.0), start=1)
        for code in codes
        for deep in range(code << (5 - depth), (code + 1) << (5 - depth))
    ]
    assert sorted(covered) == list(range(32))


def test_without_noise_the_leaves_are_the_true_means():
    level = LevelSums(np.array([30.0, 70.0]), np.array([[3.0], [-35.0]]), 1.0, 1.0)
    leaves = leaves_of([level], 1e9)
    np.testing.assert_allclose(leaves.points, [[0.1], [-0.5]])
    np.testing.assert_allclose(leaves.weights, [30, 70])


def test_leaves_that_came_out_negative_are_left_out():
    level = LevelSums(np.array([-3.0, 70.0]), np.array([[3.0], [-35.0]]), 1.0, 1.0)
    assert leaves_of([level], 1e9).weights.tolist() == [70.0]
    nothing = LevelSums(np.array([-3.0, -1.0]), np.array([[3.0], [-35.0]]), 1.0, 1.0)
    assert len(leaves_of([nothing], 1e9).weights) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_real_reports_give_the_figures_of_the_reproduction(epsilon):
    """Ten public trees: of this code, as `python -m benchmarks reproduction` has stored them."""
    stored = (ROOT / "benchmarks/results/reproduction/runs.csv").read_text(encoding="utf-8")
    of_epsilon = re.compile(rf"^n=1000000 d=100 k=8 eps={epsilon:g} r=100 lsh-tree,7000\d,([\d.]+),", re.M)
    found = []
    for seed in range(70_000, 70_010):
        points, _, _ = gaussian_mixture(10**6, 100, 8, 100, seed, dtype=np.float32)
        plan = Plan.design(100, 8, epsilon, 10**6, protocol="lsh-tree", seed=seed)
        result = decode(play(plan, points, SimulationCoins([seed, 0])), random_state=seed)
        found.append(normalized_objective(points, result.centers))
    assert found == pytest.approx([float(each) for each in of_epsilon.findall(stored)], rel=0.01)


def test_the_lsh_tree_takes_a_solver_and_shows_its_leaves():
    points, _, _ = gaussian_mixture(20_000, 3, 2, 20, random_state=0)
    table = play(Plan.design(3, 2, 8.0, 20_000, protocol="lsh-tree"), points, SimulationCoins(0))
    result = decode(table, random_state=0, solver=LocalSearch(2, random_state=0))
    assert normalized_objective(points, result.centers) < 0.2
    assert result.tree.parts.shape == result.tree.leaves.weights.shape

    class TooMany:
        def fit(self, X, y=None, sample_weight=None):
            self.cluster_centers_ = np.zeros((3, 3))

    with pytest.raises(DecodeError, match="found 3 centers where the plan asks for 2"):
        decode(table, solver=TooMany())
