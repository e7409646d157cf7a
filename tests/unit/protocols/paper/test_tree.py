import numpy as np
import pytest

from benchmarks.reproduction.coresets import images_in, leaf_indices
from coterie.errors import DecodeError
from coterie.protocols.paper.coreset import representative_point_set
from coterie.protocols.paper.nets.nets import NetFamily
from coterie.protocols.paper.tree.build import BuildParameters, WeighedTree, build_tree, floor_of
from coterie.protocols.paper.tree.net_tree import NetTree
from coterie.protocols.paper.tree.prune import pruned

NETS = NetFamily.from_key(bytes(16), dimension=2, levels=3)


class Fixed:
    """An oracle that puts all its weight on one node and its descendants along first children."""

    reports = 100

    def __init__(self, value=100.0, noise=0.0):
        self.value, self.noise = value, noise

    def frequencies(self, level, paths):
        found = np.zeros(len(paths))
        found[0] = self.value
        return found

    def deviation(self, level):
        return self.noise


def test_only_the_heavy_node_is_expanded():
    weighed = build_tree(NETS, Fixed(), BuildParameters(clusters=1, expansion=1, rounds=5))
    assert [int(level.expanded.sum()) for level in weighed.tree.levels] == [1, 1, 1, 0]
    assert weighed.tree.leaf_count == weighed.tree.nodes - 3
    assert weighed.leaf_frequencies().sum() == 100


def test_an_oracle_that_sees_nothing_leaves_the_roots_children():
    weighed = build_tree(NETS, Fixed(0.0), BuildParameters(clusters=1, expansion=1, rounds=5))
    assert [len(level) for level in weighed.tree.levels] == [1, len(NETS.roots_children())]


def test_negative_frequencies_are_clamped_for_the_tree_and_kept_for_sums():
    weighed = build_tree(NETS, Fixed(-50.0), BuildParameters(clusters=1, expansion=1, rounds=5))
    assert weighed.leaf_frequencies().sum() == -50
    assert weighed.leaf_weights().sum() == 0


def test_strays_set_the_floor():
    parameters = BuildParameters(clusters=1, expansion=1, rounds=5, strays=0.5)
    assert len(build_tree(NETS, Fixed(100.0, noise=1000.0), parameters).tree.levels) == 2
    assert len(build_tree(NETS, Fixed(100.0, noise=10.0), parameters).tree.levels) == 4
    assert floor_of(1, 0.5) == 0
    assert floor_of(10**6, 0.5) > floor_of(10**3, 0.5) > 3


def test_a_tree_that_outgrows_its_limit_is_refused():
    with pytest.raises(DecodeError, match="more than 20"):
        build_tree(NETS, Fixed(), BuildParameters(clusters=1, expansion=50, rounds=5, max_nodes=20))


def test_all_descendants_of_a_root_alone():
    tree = NetTree.of_root(NETS)
    assert images_in(tree, np.array([[0.3, 0.3]])).tolist() == [[0.0, 0.0]]
    assert tree.leaf_points().tolist() == [[0.0, 0.0]]


def test_prune_undoes_what_lost_its_people_and_keeps_a_tree():
    tree = NetTree.of_root(NETS).grown(np.array([True]))
    first = len(tree.levels[1])
    expand = np.zeros(first, dtype=bool)
    expand[:3] = True
    tree = tree.grown(expand)
    deeper = np.zeros(len(tree.levels[2]), dtype=bool)
    kept_child = int(np.flatnonzero(tree.levels[2].parents == 2)[0])
    deeper[kept_child] = True
    tree = tree.grown(deeper)
    masses = [np.full(len(level), 0.0) for level in tree.levels]
    masses[1][:3] = (10.0, 10.0, 10.0)
    masses[2][tree.levels[2].parents == 1] = 5.0  # node 1 keeps its people, node 0 loses them
    masses[2][kept_child] = 8.0
    masses[3][:] = 4.0  # below the kept child everything is well
    result = pruned(WeighedTree(tree, tuple(masses), tuple(masses)))
    assert result.tree.levels[1].expanded[:3].tolist() == [False, True, True]
    assert (result.tree.levels[2].parents != 0).all()
    points = np.random.default_rng(0).uniform(-0.7, 0.7, (500, 2))
    assert (leaf_indices(result.tree, points) >= 0).all()
    assert len(result.leaf_weights()) == result.tree.leaf_count
    # the deepest level's parents point to the right nodes after the removal
    level = result.tree.levels[3]
    above = result.tree.levels[2].names[level.parents]
    assert (NETS.parents(level.names) == above).all()


def test_prune_drops_empty_levels():
    tree = NetTree.of_root(NETS).grown(np.array([True]))
    expand = np.zeros(len(tree.levels[1]), dtype=bool)
    expand[0] = True
    tree = tree.grown(expand)
    masses = [np.ones(len(tree.levels[0])), np.ones(len(tree.levels[1])), np.zeros(len(tree.levels[2]))]
    assert len(pruned(WeighedTree(tree, tuple(masses), tuple(masses))).tree.levels) == 2


def test_representative_point_set_clamps_and_checks():
    tree = NetTree.of_root(NETS).grown(np.array([True]))
    frequencies = np.arange(tree.leaf_count) - 1.0
    coreset = representative_point_set(tree, frequencies)
    assert coreset.weights.min() == 0
    assert np.linalg.norm(coreset.points, axis=1).max() < 2
    with pytest.raises(DecodeError, match="leaves"):
        representative_point_set(tree, frequencies[1:])
