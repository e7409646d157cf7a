import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.coins import BOUND_LIMIT, Coins, SimulationCoins, SystemCoins
from coterie.errors import PlanError

SOURCES: list[Coins] = [SystemCoins(), SimulationCoins(0)]
bounds = st.integers(1, BOUND_LIMIT - 1)


def words(*values: int):
    """Stand in for the operating system: serve these 64-bit words, then fail."""
    tape = iter(b"".join(value.to_bytes(8, "little") for value in values))
    return lambda count: bytes(next(tape) for _ in range(count))


@pytest.mark.parametrize("coins", SOURCES)
def test_draws_lie_below_the_bound(coins):
    for bound in (1, 2, 6, 256, 2**32 + 1, 2**53 - 1, BOUND_LIMIT - 1):
        assert 0 <= coins.below(bound) < bound
        drawn = coins.below_many(bound, 1000)
        assert drawn.shape == (1000,)
        assert drawn.dtype == np.int64
        assert drawn.min() >= 0
        assert drawn.max() < bound


@pytest.mark.parametrize("coins", SOURCES)
def test_bytes_have_the_length_asked_for_and_do_not_repeat(coins):
    assert coins.bytes(0) == b""
    assert len(coins.bytes(32)) == 32
    assert coins.bytes(32) != coins.bytes(32)


@pytest.mark.parametrize("coins", SOURCES)
def test_no_draws_are_no_draws(coins):
    assert coins.below_many(6, 0).shape == (0,)


@pytest.mark.parametrize("coins", SOURCES)
@pytest.mark.parametrize("bound", [-1, 0, BOUND_LIMIT])
def test_bounds_outside_the_range_are_refused(coins, bound):
    with pytest.raises(PlanError, match=rf"bound in \[1, 2\^63\), got bound {bound}"):
        coins.below(bound)
    with pytest.raises(PlanError, match=rf"bound in \[1, 2\^63\), got bound {bound}"):
        coins.below_many(bound, 3)


def test_words_beyond_the_last_whole_copy_are_drawn_again(monkeypatch):
    bound = 3 << 61  # two whole copies of it fit 2^64, and a quarter of all words lies beyond them
    limit = 2 * bound
    tape = [limit, 2**64 - 1, limit - 1, 5, limit + 7, bound + 2]
    monkeypatch.setattr(os, "urandom", words(*tape))
    assert [SystemCoins().below(bound) for _ in range(3)] == [bound - 1, 5, 2]
    monkeypatch.setattr(os, "urandom", words(*tape))
    assert SystemCoins().below_many(bound, 3).tolist() == [bound - 1, 5, 2]


def test_a_power_of_two_refuses_no_word(monkeypatch):
    monkeypatch.setattr(os, "urandom", words(2**64 - 1, 2**64 - 1))
    assert SystemCoins().below(256) == 255
    assert SystemCoins().below_many(256, 1).tolist() == [255]


def test_system_coins_ask_the_operating_system(monkeypatch):
    def broken(count):
        raise NotImplementedError("no randomness here")

    monkeypatch.setattr(os, "urandom", broken)
    for draw in (
        lambda: SystemCoins().bytes(1),
        lambda: SystemCoins().below(6),
        lambda: SystemCoins().below_many(6, 1),
    ):
        with pytest.raises(NotImplementedError, match="no randomness"):
            draw()


@given(seed=st.integers(0, 2**64), bound=bounds, size=st.integers(0, 50))
def test_many_draws_are_as_many_single_draws(seed, bound, size):
    many, single = SimulationCoins(seed), SimulationCoins(seed)
    assert many.below_many(bound, size).tolist() == [single.below(bound) for _ in range(size)]


def test_many_draws_do_not_depend_on_how_they_are_taken_in_pieces():
    whole, pieces = SimulationCoins(3), SimulationCoins(3)
    parts = [pieces.below_many(3 << 61, size) for size in (70_000, 1, 130_000)]
    assert np.array_equal(whole.below_many(3 << 61, 200_001), np.concatenate(parts))


def test_simulation_repeats_with_its_seed_alone():
    assert SimulationCoins(5).bytes(16) == SimulationCoins(5).bytes(16)
    assert SimulationCoins(5).bytes(16) != SimulationCoins(6).bytes(16)
    assert SimulationCoins([5, 1]).bytes(16) != SimulationCoins([5, 2]).bytes(16)
