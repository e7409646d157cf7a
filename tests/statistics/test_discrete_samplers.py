"""The exact samplers against their laws: chi-square, accepting the right one, rejecting ×0.9 and ×1.1.

Seeds are fixed; a p-value below FALSE_ALARM would come up once in ten million fresh seeds.
"""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from benchmarks.reproduction.shuffled_histogram import poisson
from coterie.coins import SimulationCoins, SystemCoins
from coterie.randomizers.discrete_gaussian import DiscreteGaussian
from coterie.randomizers.discrete_laplace import DiscreteLaplace
from coterie.randomizers.exact import bernoulli_exp

FALSE_ALARM = 1e-7
DRAWS = 200_000
SPEED = 200_000  # samples a second that are promised


def gaussian_law(scale):
    values = np.arange(-math.ceil(10 * scale) - 2, math.ceil(10 * scale) + 3)
    odds = np.exp(-(values**2) / (2 * scale**2))
    return values, odds / odds.sum()


def laplace_law(scale):
    values = np.arange(-math.ceil(40 * scale) - 2, math.ceil(40 * scale) + 3)
    odds = np.exp(-np.abs(values) / scale)
    return values, odds / odds.sum()


def p_value(drawn, values, law):
    """Chi-square p-value, cells of expectation below 20 taken together by tail."""
    expected = law * len(drawn)
    order = np.cumsum(expected)
    bins = np.minimum((order / max(20.0, len(drawn) / 200)).astype(int), 10**6)
    observed = np.bincount(
        np.searchsorted(values, np.clip(drawn, values[0], values[-1])), minlength=len(values)
    )
    cells = np.unique(bins, return_inverse=True)[1]
    seen, wanted = np.bincount(cells, observed), np.bincount(cells, expected)
    keep = wanted > 5
    return stats.chi2.sf(((seen - wanted)[keep] ** 2 / wanted[keep]).sum(), keep.sum() - 1)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(17, 2), Fraction(300)])
@pytest.mark.parametrize(
    ("sampler", "law"), [(DiscreteGaussian, gaussian_law), (DiscreteLaplace, laplace_law)]
)
def test_the_law_is_right_and_a_tenth_more_or_less_is_not(sampler, law, scale):
    drawn = sampler(scale).sample(DRAWS, SimulationCoins([5, scale.numerator]))
    assert p_value(drawn, *law(float(scale))) > FALSE_ALARM
    for wrong in (0.9, 1.1):
        assert p_value(drawn, *law(wrong * float(scale))) < FALSE_ALARM


def test_a_large_scale_has_the_right_spread_and_tails():
    scale = 1 << 20
    drawn = DiscreteGaussian(Fraction(scale)).sample(DRAWS, SimulationCoins(1)) / scale
    assert stats.kstest(drawn, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(drawn * 0.9, "norm").pvalue < FALSE_ALARM


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1), Fraction(27, 10), Fraction(43)])
def test_poisson_is_poisson(rate):
    drawn = poisson(rate, DRAWS // 4, SimulationCoins([6, rate.numerator]))
    values = np.arange(0, 200)
    assert p_value(drawn, values, stats.poisson.pmf(values, float(rate))) > FALSE_ALARM
    if rate > 1:
        assert p_value(drawn, values, stats.poisson.pmf(values, 0.9 * float(rate))) < FALSE_ALARM


def test_products_of_ratios_need_no_product():
    half, third = np.full(DRAWS, 1), np.full(DRAWS, 2)
    passed = bernoulli_exp(((half, 2), (third, 3)), SimulationCoins(7)).sum()  # exp(-1/3)
    assert stats.binomtest(int(passed), DRAWS, math.exp(-1 / 3)).pvalue > FALSE_ALARM
    assert stats.binomtest(int(passed), DRAWS, math.exp(-0.3)).pvalue < FALSE_ALARM


def test_sampling_from_the_system_is_fast_enough_to_be_used():
    started = time.process_time()  # of the processor: others may be busy, too
    DiscreteGaussian(Fraction(9000)).sample(SPEED // 2, SystemCoins())
    assert time.process_time() - started < 0.5  # a core draws more than a million a second
