"""The bounds behind every verdict hold exactly, and are no larger than they need be."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from coterie.audit.bounds import (
    ALPHA,
    CHECKS_PER_AUDIT,
    FALSE_ALARM,
    Battery,
    log_even,
    log_fit,
    log_products,
    log_tail,
    tallied,
)


@pytest.mark.parametrize("trials", [3, 10, 97, 1000])
@pytest.mark.parametrize("chance", [0.002, 0.3, 0.5, 0.95])
def test_a_count_is_at_most_as_likely_as_its_bound(trials, chance):
    counts = np.arange(trials + 1)
    law, bounds = stats.binom(trials, chance).logpmf(counts), log_tail(counts, trials, chance)
    for hits, bound in zip(counts, bounds, strict=True):
        as_far = bounds <= bound + 1e-12  # all counts that speak as loud
        assert logsumexp(law[as_far]) <= bound + 1e-9, hits


def test_the_bound_of_a_count_is_no_waste():
    far = log_tail(6000, 10_000, 0.5)
    assert stats.binom(10_000, 0.5).logsf(5999) - 6 < far - math.log(2) < 0
    assert log_tail(0, 0, 0.5) == 0


def test_histograms_are_at_most_as_likely_as_their_bound():
    generator = np.random.default_rng(5)
    law = np.array([0.5, 0.3, 0.15, 0.05])
    groups = np.repeat(np.arange(20), 10)
    found = [log_fit(tallied(groups, generator.choice(4, 200, p=law), 4), law) for _ in range(3000)]
    together, alone = np.array([each[0] for each in found]), np.concatenate([each[1] for each in found])
    for level in (1e-1, 1e-2):
        assert (together <= math.log(level)).mean() <= level
        assert (alone <= math.log(level)).mean() <= level
    other = generator.choice(4, 2000, p=[0.4, 0.3, 0.2, 0.1])
    assert log_fit(tallied(np.zeros(2000, int), other, 4), law)[1] < math.log(1e-10)


def test_counts_are_at_most_as_even_as_their_bound_and_quotas_are_more():
    generator, trials = np.random.default_rng(7), np.repeat([8, 64, 500], [40, 20, 5])
    for chance in (0.3, 0.59):
        found = np.array([log_even(generator.binomial(trials, chance), trials, chance) for _ in range(2000)])
        for level in (1e-1, 1e-2):
            assert (found <= math.log(level)).mean() <= level
        quota = np.floor(trials * chance + generator.random(trials.size)).astype(int)
        assert log_even(quota, trials, chance) < math.log(1e-10)


def test_many_small_groups_with_laws_of_their_own_show_though_their_mean_is_right():
    generator = np.random.default_rng(6)
    law, groups = np.full(16, 1 / 16), np.arange(40_000) // 4
    cells = generator.integers(0, 16, 40_000)
    assert log_fit(tallied(groups, cells, 16), law)[0] > math.log(1e-2)
    same = generator.random(40_000) < 0.1
    cells[same] = (groups[same] * 7919 >> 3) % 16  # one in ten hangs on its group
    together, alone = log_fit(tallied(groups, cells, 16), law)
    assert together < math.log(1e-9)
    assert not alone.size


def test_products_of_coins_are_at_most_as_likely_as_their_bound():
    generator = np.random.default_rng(6)
    coins = generator.random((20_000, 101)) - 0.5
    sums = (coins[:, 1:] * coins[:, :-1]).sum(axis=1)
    bounds = log_products(sums, 101)
    for level in (1e-1, 1e-2, 1e-3):
        assert (bounds <= math.log(level)).mean() <= level
    assert log_products(np.array([8.0]), 101) < math.log(1e-6)


def test_tests_share_a_false_alarm_by_family_and_battery():
    assert pytest.approx(FALSE_ALARM) == ALPHA * CHECKS_PER_AUDIT
    battery = Battery()
    battery.take(np.array([math.log(ALPHA) - 1.0]), lambda at: "one")
    assert not battery.passed
    assert "one" in battery.told
    battery.take(np.zeros(5), lambda at: "others")
    assert not battery.passed
    battery.take(np.zeros(5), lambda at: "others")
    assert battery.passed  # three families: each has a third
    alone = Battery()
    alone.take(np.array([math.log(ALPHA) - 1.0, 0.0, 0.0]), lambda at: "one of three")
    assert alone.passed
    assert Battery().passed
