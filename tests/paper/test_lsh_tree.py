"""Section 5 and its appendix: where the text must be read with care, and the reading we took."""

import math

import numpy as np
import pytest

from coterie.datasets import gaussian_mixture
from coterie.plan import Plan
from coterie.protocols.paper.lsh_tree.decode import THRESHOLD
from coterie.protocols.paper.lsh_tree.simhash import SimHash
from coterie.protocols.paper.lsh_tree.tree import lsh_leaves
from coterie.randomizers.sphere import djw_norm

DEVIATIONS = 5.0


def test_level_codes_are_prefixes():
    hashes = SimHash.from_key(bytes(16), 6, 5)
    codes = hashes.codes(np.random.default_rng(0).standard_normal((500, 6)))
    sizes = [len(np.unique(codes >> (5 - level))) for level in range(1, 6)]
    assert sizes == sorted(set(sizes))  # every level is a finer partition; with g_T all would be the same


@pytest.mark.parametrize("separation", [8.0, 100.0])
def test_centers_lie_inside_the_ball_by_one_over_r(separation):
    _, centers, _ = gaussian_mixture(100, 50, 8, separation, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1 - 1 / separation)


def test_leaves_count_everybody_once():
    generator = np.random.default_rng(1)
    deepest = generator.integers(0, 100, 32).astype(float)
    levels = [deepest.reshape(1 << level, -1).sum(axis=1) for level in range(1, 6)]
    leaves = lsh_leaves(levels, threshold=200.0)
    found = sum(values[codes].sum() for values, codes in zip(levels, leaves, strict=True))
    assert found == deepest.sum()


def test_the_root_is_always_branched():
    assert sum(len(codes) for codes in lsh_leaves([np.zeros(2), np.zeros(4)], threshold=1e9)) == 2


def test_one_bit_is_the_law_of_the_vector():
    """±B·u with the bit's sign is unbiased and of length B, as Duchi, Jordan and Wainwright's vector is."""
    generator = np.random.default_rng(2)
    dimension, tries, scale = 5, 200_000, (math.e + 1) / (math.e - 1)
    x = np.array([0.6, 0.0, 0.8, 0.0, 0.0])
    directions = generator.standard_normal((tries, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    kept = generator.random(tries) < math.e / (math.e + 1)
    bits = np.where(directions @ x >= 0, 1, -1) * np.where(kept, 1, -1)
    vectors = djw_norm(dimension, scale) * bits[:, None] * directions
    error = djw_norm(dimension, scale) / math.sqrt(dimension * tries)
    assert (np.abs(vectors.mean(axis=0) - x) < DEVIATIONS * error).all()
    assert (np.abs(1.1 * vectors.mean(axis=0) - x) > DEVIATIONS * error).any()  # a wrong length is noticed


def test_parameters_are_the_appendix_s():
    for clusters in (2, 8, 13, 32):
        parameters = Plan.design(100, clusters, 1.0, 10**6, protocol="lsh-tree").parameters
        assert parameters.levels == math.ceil(math.log2(clusters)) + 3
    assert THRESHOLD == 1.5
