import itertools

import numpy as np
import pytest

from coterie.geometry.hadamard import fwht
from coterie.privacy.odds import largest_odds
from coterie.protocols.paper.net_tree.oracles.explicit_hist import ExplicitHist
from coterie.protocols.paper.net_tree.oracles.explicit_hist_vector import ExplicitHistVector
from coterie.protocols.paper.net_tree.oracles.signs import Family, PathMasks
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
    response = BinaryResponse(largest_odds(1.0))
    oracle = ExplicitHist(answers, masks, response, digit_bits=2)
    paths = generator.integers(0, 4, (30, 3))
    direct = [response.scale * (answers[1] * masks.prefix_signs(path)).sum() for path in paths]
    assert np.allclose(oracle.frequencies(2, paths), direct)
    assert oracle.reports == 500
    assert oracle.frequencies(2, paths[:0]).shape == (0,)


@pytest.mark.parametrize("bits", [2, 7, 20])
def test_groups_cover_every_bucket_once(bits):
    paths = np.random.default_rng(1).integers(0, 3, (40, 5))
    family = Family(bits)
    groups = family.groups(paths)
    assert sorted(np.concatenate([members for _, members, _ in groups]).tolist()) == list(range(40))
    kept = 5 - family.length(4)
    for prefix, members, codes in groups:
        assert (paths[members, :kept] == prefix).all()
        assert (codes == family.join(paths[members, kept:])).all()
        assert codes.max() < family.size(4)
    assert family.groups(paths[:0]) == []


def test_one_digit_at_a_time_is_the_same():
    generator = np.random.default_rng(2)
    masks = PathMasks(generator.integers(0, 4, 300), generator.integers(0, 4, (300, 3)))
    answers = generator.choice(np.array([-1, 1], dtype=np.int8), (3, 300))
    oracle = ExplicitHist(answers, masks, BinaryResponse(largest_odds(1.0)), digit_bits=2)
    paths = generator.integers(0, 4, (25, 4))
    with pytest.MonkeyPatch.context() as patch:
        joined = oracle.frequencies(3, paths)
        patch.setattr("coterie.protocols.paper.net_tree.oracles.signs.JOINED_BITS", 2)
        assert np.allclose(oracle.frequencies(3, paths), joined)


def test_transform_is_its_own_inverse():
    table = np.arange(8.0)
    assert (fwht(fwht(table)) == 8 * table).all()


def test_a_report_without_a_direction_adds_nothing():
    # An id can be searched whose public direction is the zero vector (6 of 65,536 words stand for 0).
    generator = np.random.default_rng(3)
    masks = PathMasks(generator.integers(0, 4, 50), generator.integers(0, 4, (50, 1)))
    answers = generator.choice(np.array([-1, 1], dtype=np.int8), (1, 50))
    directions = generator.integers(-9000, 9000, (50, 3)).astype(np.int16)
    directions[7] = 0
    paths = np.array([[1, 2], [3, 0]])

    def sums(people):
        oracle = ExplicitHistVector(
            answers[:, people], masks.of(people), 5.0, lambda piece, level: directions[people][piece], 2, 2
        )
        return oracle.part_sums(1, paths, np.arange(len(paths)), len(paths))

    others = np.flatnonzero(np.arange(50) != 7)
    assert np.allclose(sums(slice(0, 50)), sums(others))
