import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.protocols.paper.nets.nets import NetFamily, all_digits
from coterie.protocols.paper.nets.sizes import packing_ratio

CASES = [(1, 2), (2, 2), (2, 3), (3, 2), (3, 4), (5, 2), (6, 2)]


def nets(dimension, ratio=2, levels=4, key=bytes(16)):
    return NetFamily.from_key(key, dimension, levels, ratio)


def ball_points(dimension, count, seed=0):
    generator = np.random.default_rng(seed)
    points = generator.standard_normal((count, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points * generator.random((count, 1)) ** (1 / dimension)


@pytest.mark.parametrize(("dimension", "ratio"), CASES)
def test_the_table_finds_the_closest_point_of_the_net_above(dimension, ratio):
    family = nets(dimension, ratio)
    names = np.random.default_rng(1).integers(-40, 40, (2000, dimension))
    parents = family.parents(names)
    for level in (2, 3, 4):
        assert (family.closest(family.points(level, names), level - 1) == parents).all()


@pytest.mark.parametrize(("dimension", "ratio"), CASES)
def test_children_invert_parents(dimension, ratio):
    family = nets(dimension, ratio)
    names = np.random.default_rng(2).integers(-40, 40, (50, dimension))
    children = family.children(names)
    assert children.shape == (50, ratio**dimension, dimension)
    back = family.parents(children.reshape(-1, dimension)).reshape(children.shape)
    assert (back == names[:, None, :]).all()
    assert (family.digits(children) == np.arange(ratio**dimension)).all()
    assert len(np.unique(children[0], axis=0)) == ratio**dimension


def packed(names):
    """One number a node: ten bits a coordinate."""
    assert np.abs(names).max(initial=0) < 512
    return (names + 512) @ (1024 ** np.arange(names.shape[-1]))


@pytest.mark.slow
@pytest.mark.parametrize("batches", [2, pytest.param(10, marks=pytest.mark.nightly)])
def test_encoder_and_server_agree_on_every_ancestor(batches):
    # The encoder walks up from the deepest level, the server down from the root: nobody may fall out, of
    # two hundred thousand points on every change and of a million by `make nightly`.
    family = nets(4, levels=5)
    seen = [np.empty((0, 4), dtype=np.int64)] * 5
    for seed in range(batches):
        for level, names in enumerate(family.representatives(ball_points(4, 100_000, seed))):
            joined = np.concatenate([seen[level], names])
            seen[level] = joined[np.unique(packed(joined), return_index=True)[1]]
    known = family.roots_children()
    for level, names in enumerate(seen, 1):
        assert np.isin(packed(names), packed(known)).all()
        assert family.reachable(level, names).all()
        known = family.children(names).reshape(-1, 4)


@pytest.mark.parametrize(("dimension", "ratio"), CASES)
def test_points_on_the_sphere_stay_reachable(dimension, ratio):
    family = nets(dimension, ratio)
    points = ball_points(dimension, 20_000)
    points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
    for level, names in enumerate(family.representatives(points), 1):
        assert family.reachable(level, names).all()


def test_reachable_refuses_what_is_far_away():
    family = nets(3)
    far = family.closest(np.array([[2.5, 0.0, 0.0]]), 2)
    assert not family.reachable(2, far).any()


@pytest.mark.parametrize("dimension", [2, 5])
def test_covering_and_packing_of_levels(dimension):
    family = nets(dimension)
    points = ball_points(dimension, 20_000)
    for level in (1, 3):
        found = family.points(level, family.closest(points, level))
        assert np.linalg.norm(points - found, axis=1).max() <= 2.0**-level * (1 + 1e-12)
    siblings = family.points(3, family.children(family.closest(points[:1], 2))[0])
    gaps = np.linalg.norm(siblings[:, None] - siblings, axis=2)[~np.eye(len(siblings), dtype=bool)]
    assert gaps.min() / 2 >= packing_ratio(dimension) * 2.0**-3 * (1 - 1e-12)


def test_nets_are_disjoint():
    family = nets(2)
    levels = [family.points(i, family.closest(ball_points(2, 500), i)) for i in (1, 2, 3)]
    levels.append(np.zeros((1, 2)))
    joined = np.concatenate([np.unique(points, axis=0) for points in levels])
    gaps = np.linalg.norm(joined[:, None] - joined, axis=2)[~np.eye(len(joined), dtype=bool)]
    assert gaps.min() > 1e-6


def test_unshifted_nets_tie():
    # Why there is a shift: without one, half of the table's entries have two closest points.
    family = nets(2)
    places = family.lattice.points(all_digits(2, 2)) / 2
    assert (family.lattice.closest_with_margin(places)[1] < 1e-12).sum() >= 3


def test_paths_name_nodes_apart():
    family = nets(3)
    points = ball_points(3, 5000)
    found = family.representatives(points)
    paths = family.paths(found)
    for level in (1, 4):
        names = np.unique(found[level - 1], axis=0)
        assert len(np.unique(paths[:, : level + 1], axis=0)) == len(names)


def test_the_shift_follows_the_key():
    assert not np.array_equal(nets(2).shift, nets(2, key=bytes(15) + b"x").shift)


@pytest.mark.parametrize(
    ("dimension", "levels", "ratio", "message"),
    [
        (2, 3, 5, "ratio between levels"),
        (2, 0, 2, "levels must be"),
        (25, 2, 2, "children"),
        (16, 2, 2, "at most 15 dimensions"),
    ],
)
def test_refusals(dimension, levels, ratio, message):
    with pytest.raises(PlanError, match=message):
        NetFamily.from_key(bytes(16), dimension, levels, ratio)
