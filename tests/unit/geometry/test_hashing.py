import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.geometry.hashing import HASH_PRIME, PathHash


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
    hashed = PathHash.from_key(key, buckets, len(digits))
    assert hashed.of(np.array([path])).tolist() == [by_hand(hashed, path)]


@pytest.mark.slow
def test_different_paths_meet_as_often_as_chance_has_it():
    # Pairwise independent: over many keys any two paths share one of 50 buckets one time in 50.
    # By the formula, which is the fast way's (above) and has no arrays to set up for every key.
    pairs = [([5, 3, 0], [5, 3, 1]), ([5, 3, 0], [1 << 59, 3, 0]), ([0, 0, 0], [0, 1, 0])]
    keys, met = 40_000, np.zeros(3)
    for number in range(keys):
        hashed = PathHash.from_key(number.to_bytes(16, "big"), 50, 2)
        met += [by_hand(hashed, one) == by_hand(hashed, other) for one, other in pairs]
    assert (abs(met / keys - 1 / 50) < 6 * (0.02 * 0.98 / keys) ** 0.5).all()  # false alarm 2e-9


def test_levels_have_hashes_of_their_own():
    path = np.array([[9, 1]])
    found = {
        int(PathHash.from_key(bytes(16), 1 << 26, level).of(np.pad(path, ((0, 0), (0, level - 1))))[0])
        for level in range(1, 9)
    }
    assert len(found) == 8
    assert len(list(itertools.chain(PathHash.from_key(bytes(16), 7, 3).factors))) == 7
