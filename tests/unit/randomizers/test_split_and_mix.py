import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.coins import SimulationCoins
from coterie.errors import PlanError, ReportError
from coterie.randomizers.split_and_mix import (
    SplitAndMix,
    is_prime,
    security_of,
    shares_needed,
    smallest_prime_above,
)


def test_the_published_example_needs_twelve_messages():
    assert shares_needed(40, 1 << 32, 10_000) == 12


@given(st.integers(19, 10**9), st.integers(2, 1 << 60), st.floats(1, 200))
def test_enough_shares_are_enough_and_one_less_is_not(group, modulus, bits):
    shares = shares_needed(bits, modulus, group)
    assert security_of(shares, modulus, group) >= bits - 1e-6
    assert security_of(shares - 1, modulus, group) < bits + 1e-6


def test_small_groups_are_refused():
    with pytest.raises(PlanError, match="groups of 19 people or more, got 18"):
        shares_needed(40, 101, 18)


def test_primes_are_primes():
    below = [n for n in range(200) if all(n % k for k in range(2, math.isqrt(n) + 1)) and n > 1]
    assert [n for n in range(200) if is_prime(n)] == below
    assert is_prime((1 << 61) - 1)
    assert not is_prime(3215031751)  # a strong pseudoprime to bases 2, 3, 5, 7
    assert smallest_prime_above(24) == 29


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_mixed_shares_add_up_to_the_values(values, random):
    mixer = SplitAndMix(1_000_003, 5)
    shares = mixer.split(np.array(values), SimulationCoins(1)).ravel().tolist()
    random.shuffle(shares)
    assert mixer.total(np.array(shares)) == sum(values)


def test_every_proper_subset_of_shares_is_uniform():
    mixer = SplitAndMix(5, 3)
    shares = mixer.split(np.zeros(50_000, dtype=np.int64), SimulationCoins(2))
    for left_out in range(3):
        pair = np.delete(shares, left_out, axis=1)
        counts = np.bincount(pair[:, 0] * 5 + pair[:, 1], minlength=25)
        assert ((counts - 2000) ** 2 / 2000).sum() < 80  # chi-square of 24 degrees, false alarm 6e-8


def test_shares_outside_the_field_are_refused():
    with pytest.raises(ReportError, match="share 1 of 2 lies outside the field of 101 elements"):
        SplitAndMix(101, 2).total(np.array([5, 101]))


@pytest.mark.parametrize(("modulus", "shares"), [(100, 3), (101, 1), (1 << 63, 3)])
def test_a_field_is_prime_and_shares_are_several(modulus, shares):
    with pytest.raises(PlanError, match=r"prime of at most 2\^62|number of shares"):
        SplitAndMix(modulus, shares)


def test_large_sums_are_exact():
    modulus = smallest_prime_above(1 << 61)
    shares = np.full(100_000, modulus - 1)
    assert SplitAndMix(modulus, 2).total(shares) == -100_000
