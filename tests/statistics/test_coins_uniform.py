"""Pearson's chi-square test of uniformity, on cells of equal probability.

Each check has a false alarm of 10^-8 under the right law. Seeds are fixed, so what passes once passes always:
the operating system's bytes are replaced by seeded ones, and everything after them is the code under test.
"""

import os

import numpy as np
import pytest
from scipy import stats

from coterie.coins import SimulationCoins, SystemCoins

FALSE_ALARM = 1e-8
DRAWS = 60_000
SINGLE_DRAWS = 12_000
WIDE = 3 << 61  # a bound for which the remainder of every word is far from uniform

# bound, and into how many equal cells its values fall
LAWS = [(2, 2), (6, 6), (100, 100), (256, 256), ((1 << 33) * 5, 5), (WIDE, 3), ((1 << 63) - 1, 7)]


def is_uniform(drawn, bound: int, cells: int) -> bool:
    counts = np.bincount(np.asarray(drawn, dtype=np.int64) // (bound // cells), minlength=cells)
    return counts.size == cells and stats.chisquare(counts).pvalue >= FALSE_ALARM


@pytest.fixture(params=["system", "simulation"])
def coins(request, monkeypatch):
    if request.param == "simulation":
        return SimulationCoins(11)
    monkeypatch.setattr(os, "urandom", np.random.default_rng(12).bytes)
    return SystemCoins()


@pytest.mark.parametrize(("bound", "cells"), LAWS)
def test_draws_are_uniform(coins, bound, cells):
    assert bound % cells == 0
    assert is_uniform(coins.below_many(bound, DRAWS), bound, cells)
    assert is_uniform([coins.below(bound) for _ in range(SINGLE_DRAWS)], bound, cells)


def test_neighbouring_draws_are_independent(coins):
    first, second = coins.below_many(6, 2 * DRAWS).reshape(-1, 2).T
    assert is_uniform(6 * first + second, 36, 36)


def test_the_check_rejects_remainders_of_every_word():
    biased = np.random.default_rng(13).integers(0, 1 << 64, size=DRAWS, dtype=np.uint64) % np.uint64(WIDE)
    assert not is_uniform(biased, WIDE, 3)
    assert not is_uniform(biased[:SINGLE_DRAWS], WIDE, 3)


def test_the_check_rejects_remainders_of_every_byte():
    biased = np.random.default_rng(14).integers(0, 256, size=DRAWS) % 100
    assert not is_uniform(biased, 100, 100)
    assert not is_uniform(biased[:SINGLE_DRAWS], 100, 100)


def test_the_check_rejects_a_value_that_never_comes():
    assert not is_uniform(SimulationCoins(15).below_many(255, DRAWS), 256, 256)
