import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.geometry.hashing import HASH_PRIME, PairwiseHash


def by_hand(hashed, path):
    limbs = [path[0] >> 16 * j & 0xFFFF for j in range(4)] + list(path[1:])
    total = hashed.offset + sum(a * y for a, y in zip(hashed.factors, limbs, strict=True))
    return total % HASH_PRIME % hashed.buckets


@given(
    st.binary(min_size=16, max_size=16),
    st.integers(1, 1 << 26),
    st.integers(0, (1 << 60) - 1),
    st.lists(st.integers(0, (1 << 16) - 1), min_size=1, max_size=24),
)
def test_the_fast_way_is_the_formula_in_big_integers(key, buckets, root, digits):
    path = [root, *digits]
    hashed = PairwiseHash.for_paths(key, buckets, len(digits))
    assert hashed.of_paths(np.array([path])).tolist() == [by_hand(hashed, path)]


@given(st.binary(min_size=16, max_size=16), st.integers(1, 1 << 26), st.lists(st.integers(0, (1 << 31) - 1)))
def test_cells_are_hashed_by_the_formula_in_big_integers(key, buckets, cells):
    hashed = PairwiseHash.from_key(key, buckets)
    (factor,) = hashed.factors
    by_formula = [(factor * cell + hashed.offset) % HASH_PRIME % buckets for cell in cells]
    assert hashed.of(np.array(cells, dtype=np.int64)).tolist() == by_formula


@pytest.mark.slow
def test_different_paths_meet_as_often_as_chance_has_it():
    # Pairwise independent: over many keys any two paths share one of 50 buckets one time in 50.
    # By the formula, which is the fast way's (above) and has no arrays to set up for every key.
    pairs = [([5, 3, 0], [5, 3, 1]), ([5, 3, 0], [1 << 59, 3, 0]), ([0, 0, 0], [0, 1, 0])]
    keys, met = 40_000, np.zeros(3)
    for number in range(keys):
        hashed = PairwiseHash.for_paths(number.to_bytes(16, "big"), 50, 2)
        met += [by_hand(hashed, one) == by_hand(hashed, other) for one, other in pairs]
    assert (abs(met / keys - 1 / 50) < 6 * (0.02 * 0.98 / keys) ** 0.5).all()  # false alarm 2e-9


def test_levels_have_hashes_of_their_own():
    paths = {level: np.array([[9, 1, *[0] * (level - 1)]]) for level in range(1, 9)}
    found = {
        int(PairwiseHash.for_paths(bytes(16), 1 << 26, level).of_paths(path)[0])
        for level, path in paths.items()
    }
    assert len(found) == 8
    assert len(list(itertools.chain(PairwiseHash.for_paths(bytes(16), 7, 3).factors))) == 7
