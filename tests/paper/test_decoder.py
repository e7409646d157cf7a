"""kMeansDecoder with the oracles' noise switched off, by explicit test doubles (never private)."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans, MiniBatchKMeans

from benchmarks.reproduction.coresets import cost, leaf_indices
from coterie.centers import LocalSearch, decode
from coterie.coins import SimulationCoins
from coterie.engines import play
from coterie.errors import DecodeError
from coterie.plan import Plan
from coterie.protocols import Facts
from coterie.protocols.codeword.oracles.second_moment import SecondMoment
from coterie.protocols.paper.approximation import approximation
from coterie.protocols.paper.coreset import WeightedPointSet
from coterie.protocols.paper.k_means import k_means_decoder
from coterie.protocols.paper.nets.nets import NetFamily
from coterie.protocols.paper.nets.projection import Projection
from coterie.protocols.paper.tree.build import BuildParameters
from coterie.protocols.paper.tree.parameters import TreeDecoding

ALPHA = 0.1  # the decoder's centers may cost this much more than the best ones found


class NoiselessOracle:
    """True frequencies and true vector sums of every node: what the oracles would say without noise."""

    def __init__(self, nets, places, vectors):
        self.reports = len(places)
        self._vectors = vectors
        self._nodes = []
        paths = nets.paths(nets.representatives(places))
        for level in range(1, nets.levels + 1):
            keys, node = np.unique(paths[:, : level + 1], axis=0, return_inverse=True)
            self._nodes.append(({tuple(key): i for i, key in enumerate(keys.tolist())}, node.reshape(-1)))

    def _indices(self, level, paths):
        return np.array(
            [self._nodes[level - 1][0].get(tuple(path), -1) for path in paths.tolist()], dtype=int
        )

    def frequencies(self, level, paths):
        indices = self._indices(level, paths)
        counts = np.bincount(self._nodes[level - 1][1])
        return np.where(indices >= 0, counts[indices], 0).astype(float)

    def deviation(self, level):
        return 0.0

    def part_sums(self, level, paths, parts, count):
        part_of_node = np.full(len(self._nodes[level - 1][0]) + 1, -1)
        part_of_node[self._indices(level, paths)] = parts
        part_of_node[-1] = -1  # buckets that nobody is in
        part = part_of_node[self._nodes[level - 1][1]]
        sums = np.zeros((count, self._vectors.shape[1]))
        np.add.at(sums, part[part >= 0], self._vectors[part >= 0])
        return sums


def mixture(seed, dimension, clusters, spread, count=900):
    generator = np.random.default_rng(seed)
    centers = generator.standard_normal((clusters, dimension))
    centers *= 0.8 / np.linalg.norm(centers, axis=1, keepdims=True)
    points = centers[np.arange(count) % clusters] + generator.normal(0, spread, (count, dimension))
    return points / np.maximum(1, np.linalg.norm(points, axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("dimension", "clusters", "spread"), [(2, 3, 0.05), (2, 4, 0.2), (3, 3, 0.1)])
def test_noise_free_decoder_is_within_alpha_of_the_best(seed, dimension, clusters, spread):
    points = mixture(seed, dimension, clusters, spread)
    nets = NetFamily.from_key(seed.to_bytes(16, "big"), dimension, levels=6)
    oracle = NoiselessOracle(nets, points, points)
    outcome = k_means_decoder(
        nets, oracle, oracle, BuildParameters(clusters, expansion=4, rounds=10), random_state=0
    )
    people = WeightedPointSet(points, np.ones(len(points)))
    best = KMeans(clusters, n_init=30, random_state=1).fit(points).inertia_
    assert cost(people, outcome.centers) <= (1 + ALPHA) * best


@pytest.mark.parametrize("seed", range(3))
def test_noise_free_decoder_with_a_projection(seed):
    # The tree lives in 3 of 20 dimensions; the centers come from the sums in all 20.
    points = mixture(seed, 20, 3, 0.02)
    scale = np.sqrt(20 / 3) / 2
    places, _ = Projection.from_key(seed.to_bytes(16, "big"), 20, 3, scale).apply(points)
    nets = NetFamily.from_key(bytes(16), 3, levels=5)
    oracle = NoiselessOracle(nets, places, points)
    outcome = k_means_decoder(nets, oracle, oracle, BuildParameters(3, 4, 10), random_state=0)
    best = KMeans(3, n_init=30, random_state=1).fit(points).inertia_
    assert cost(WeightedPointSet(points, np.ones(len(points))), outcome.centers) <= (1 + ALPHA) * best


def test_any_solver_in_scikit_learns_manner_will_do():
    points = mixture(0, 2, 3, 0.05)
    nets = NetFamily.from_key(bytes(16), 2, levels=5)
    oracle = NoiselessOracle(nets, points, points)
    parameters = BuildParameters(3, 4, 10)
    outcome = k_means_decoder(
        nets, oracle, oracle, parameters, solver=MiniBatchKMeans(3, n_init=5, random_state=0)
    )
    best = KMeans(3, n_init=30, random_state=1).fit(points).inertia_
    assert cost(WeightedPointSet(points, np.ones(len(points))), outcome.centers) <= 1.3 * best


def test_the_theorys_decoder_takes_a_solver_with_a_ratio_where_it_cannot_exchange_leaves(monkeypatch):
    fitted, really = [], LocalSearch.fit
    monkeypatch.setattr(LocalSearch, "fit", lambda self, *a, **k: fitted.append(1) or really(self, *a, **k))
    plan = Plan.design(2, 3, 4.0, 2000, protocol="net-tree", constants="theory", levels=2)
    table = play(plan, mixture(0, 2, 3, 0.05, count=2000), SimulationCoins(0))
    decode(table, random_state=0)
    assert not fitted
    places = decode(table, random_state=0, constants="theory").tree
    assert not fitted
    apart = np.abs(places.projected_centers[:, None] - places.tree.leaf_points()).max(axis=2)
    assert not apart.min(axis=1).any()  # exchanged leaves
    decode(table, random_state=0, constants="theory", expansion=1)
    assert len(fitted) == 1


def test_leaves_are_exchanged_by_counts_that_may_be_negative():
    nets, clamped = NetFamily.from_key(bytes(16), 1, levels=1, ratio=4), 0

    class Noise:
        reports = 100

        def frequencies(self, level, paths):
            return counts

        def deviation(self, level):
            return 1e-6

        def part_sums(self, level, paths, parts, count):
            return np.zeros((count, 1))

    for seed in range(20):
        counts = np.random.default_rng(seed).normal(5, 30, len(nets.roots_children()))
        outcome = k_means_decoder(
            nets, Noise(), Noise(), BuildParameters(1, 100, 1), proved=True, complete=True, random_state=0
        )
        apart = (outcome.coreset.points - outcome.coreset.points.T) ** 2  # of one center all places are tried
        assert outcome.projected_centers == outcome.coreset.points[(counts @ apart).argmin()]
        clamped += (np.maximum(counts, 0) @ apart).argmin() == (counts @ apart).argmin()
    assert clamped < 15


def test_a_solver_with_foreign_centers_is_refused():
    class Broken:
        def fit(self, X, y=None, sample_weight=None):
            self.cluster_centers_ = np.full((2, 2), np.nan)

    points = mixture(0, 2, 2, 0.05)
    nets = NetFamily.from_key(bytes(16), 2, levels=2)
    oracle = NoiselessOracle(nets, points, points)
    with pytest.raises(DecodeError, match="cluster_centers_ must be finite"):
        k_means_decoder(nets, oracle, oracle, BuildParameters(2, 1, 3), solver=Broken())


def test_centers_stay_in_the_ball_and_empty_parts_at_zero():
    points = mixture(0, 2, 2, 0.05)
    nets = NetFamily.from_key(bytes(16), 2, levels=3)
    oracle = NoiselessOracle(nets, points, 5 * points)  # sums five times too long
    outcome = k_means_decoder(nets, oracle, oracle, BuildParameters(2, 1, 3), random_state=0)
    assert np.linalg.norm(outcome.centers, axis=1) == pytest.approx(1.0)


def test_partition_and_means_are_the_papers():
    # c_j is the mean of exactly the people whose leaf is closest to c'_j.
    points = mixture(4, 2, 3, 0.1)
    nets = NetFamily.from_key(bytes(16), 2, levels=4)
    oracle = NoiselessOracle(nets, points, points)
    outcome = k_means_decoder(nets, oracle, oracle, BuildParameters(3, 2, 10), random_state=0)
    part = outcome.parts[leaf_indices(outcome.tree, points)]
    for j in range(3):
        assert outcome.centers[j] == pytest.approx(points[part == j].mean(axis=0))
        assert outcome.weights[j] == np.sum(part == j)


class WithAPhantom(NoiselessOracle):
    """Lifted sums (a·x, b, rest), and an empty node whose count alone came out high."""

    lifted_deviation, counting, weight = 10.0, 2, 0.5  # b

    def __init__(self, nets, points, phantom):
        rest = np.sqrt(np.maximum(0, 1 - (points**2).sum(axis=1)))
        point = np.sqrt(1 - self.weight**2)
        lifted = np.column_stack([point * points, np.full(len(points), self.weight), point * rest])
        super().__init__(nets, points, lifted)
        self.moment = SecondMoment(lifted.T @ lifted / len(lifted), 1e-3)
        self._phantom, self._counted = phantom, 200.0

    def frequencies(self, level, paths):
        return super().frequencies(level, paths) + self._counted * (paths == self._phantom).all(axis=1)

    def deviation(self, level):
        return 20.0

    def lifted_part_sums(self, level, paths, parts, count):
        sums = self.part_sums(level, paths, parts, count)
        sums[parts[(paths == self._phantom).all(axis=1)], self.counting] += self.weight * self._counted
        return sums

    def lifted_mean(self, sums, lengths):
        return sums[:, :2] / np.sqrt(1 - self.weight**2) / lengths[:, None]

    def lifted_counts(self, sums):
        return sums[:, self.counting] / self.weight


def test_a_leaf_that_only_its_count_makes_takes_no_center():
    points = np.repeat([[0.9, 0.0], [0.45, 0.75], [-0.9, 0.0]], 300, axis=0)  # two groups are near each other
    nets = NetFamily.from_key(bytes(16), 2, 1, 4)
    names = nets.roots_children()
    paths = np.stack([nets.root_words(names), nets.digits(names)], axis=1)
    phantom = paths[np.argmin(np.linalg.norm(nets.points(1, names) - [0.0, -0.9], axis=1))]
    oracle = WithAPhantom(nets, points, phantom)
    outcome = k_means_decoder(nets, oracle, oracle, BuildParameters(3, 1, 10, strays=0.5), random_state=0)
    assert outcome.pooled.sum() == 3
    assert cost(WeightedPointSet.of(points), outcome.centers) < 1
    oracle.lifted_deviation = 1e9  # where nothing stands clear, the counts decide as they are
    assert k_means_decoder(
        nets, oracle, oracle, BuildParameters(3, 1, 10, strays=0.5), random_state=0
    ).pooled.sum() == 4  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_theorem_apx_main_noise_free_decoding_keeps_the_bound_and_it_is_not_empty(seed):
    # With exact oracles t is the depth's alone: the guarantee must hold, and say more than "one center".
    points, levels = mixture(seed, 1, 3, 0.15, count=2000), 7
    nets = NetFamily.from_key(seed.to_bytes(16, "big"), 1, levels)
    oracle = NoiselessOracle(nets, points, points)
    outcome = k_means_decoder(nets, oracle, oracle, BuildParameters(3, 1000, 11), random_state=0)
    shape = SimpleNamespace(
        levels=levels, ratio=2, projected=1, scale=1.0,
        oracle_errors=lambda **facts: (0.0, 0.0), shared_chance=lambda **_: 0.0, bias=0.0,
    )  # fmt: skip
    facts = Facts(dimension=1, clusters=3, epsilon=1.0, expected_users=2000)
    found = approximation(shape, TreeDecoding(1000, 11, 0.0), facts, slack=0.5, solver_ratio=1.0)
    best = KMeans(3, n_init=20, random_state=0).fit(points).inertia_
    away = np.min((points - outcome.centers[:, 0]) ** 2, axis=1).sum()
    assert away <= found.ratio * best + found.additive
    assert found.additive < 0.05 * len(points)
