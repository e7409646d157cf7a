import itertools

import numpy as np

from coterie.geometry.hadamard import fwht
from coterie.oracles.explicit_hist import ExplicitHist
from coterie.oracles.signs import PathMasks, sibling_groups
from coterie.randomizers.response import BinaryResponse


def all_masks():
    """Every mask of a toy tree: two bits of root, two digits of two bits."""
    rows = np.array(list(itertools.product(range(4), repeat=3)))
    return PathMasks(rows[:, 0], rows[:, 1:])


def test_signs_are_exactly_pairwise_independent():
    masks = all_masks()
    paths = np.array(list(itertools.product(range(4), repeat=3)))
    signs = np.array([masks.prefix_signs(path) for path in paths]).astype(int)  # (64 buckets, 64 masks)
    # Over a uniform mask, the product of two buckets' signs is a fair coin: the rows are orthogonal …
    assert (signs @ signs.T == 64 * np.eye(64, dtype=int)).all()
    # … and with the public sign bit every single one is fair, too, the path of zeros included.
    assert (signs[0] == 1).all()
    assert (np.concatenate([signs, -signs], axis=1).sum(axis=1) == 0).all()


def test_the_fast_way_is_the_direct_sum():
    generator = np.random.default_rng(0)
    masks = PathMasks(generator.integers(0, 4, 500), generator.integers(0, 4, (500, 2)))
    answers = generator.choice(np.array([-1, 1], dtype=np.int8), (2, 500))
    response = BinaryResponse.for_epsilon(1.0)
    oracle = ExplicitHist(answers, masks, response, digit_bits=2)
    paths = generator.integers(0, 4, (30, 3))
    direct = [response.scale * (answers[1] * masks.prefix_signs(path)).sum() for path in paths]
    assert np.allclose(oracle.frequencies(2, paths), direct)
    assert oracle.reports == 500
    assert oracle.frequencies(2, paths[:0]).shape == (0,)


def test_groups_cover_every_bucket_once():
    paths = np.random.default_rng(1).integers(0, 3, (40, 3))
    groups = sibling_groups(paths)
    assert sorted(np.concatenate([members for _, members in groups]).tolist()) == list(range(40))
    for prefix, members in groups:
        assert (paths[members, :-1] == prefix).all()
    assert sibling_groups(paths[:0]) == []


def test_transform_is_its_own_inverse():
    table = np.arange(8.0)
    assert (fwht(fwht(table)) == 8 * table).all()
