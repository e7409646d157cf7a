from fractions import Fraction

import numpy as np
import pytest

from benchmarks.reproduction.shuffled_histogram import MOST_POISSON_ROUNDS, poisson
from coterie.coins import SimulationCoins
from coterie.errors import PlanError
from coterie.randomizers.discrete_gaussian import DiscreteGaussian
from coterie.randomizers.discrete_laplace import DiscreteLaplace
from coterie.randomizers.exact import geometric_inverse_e


@pytest.mark.parametrize("sampler", [DiscreteGaussian, DiscreteLaplace])
def test_draws_are_whole_numbers_of_the_size_asked_for(sampler):
    for size in (0, 1, 7, 1000):
        drawn = sampler(Fraction(3, 2)).sample(size, SimulationCoins(0))
        assert drawn.shape == (size,)
        assert drawn.dtype == np.int64


@pytest.mark.parametrize("sampler", [DiscreteGaussian, DiscreteLaplace])
def test_a_seed_repeats_itself(sampler):
    first, second = (sampler(Fraction(40)).sample(100, SimulationCoins(3)) for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize("sampler", [DiscreteGaussian, DiscreteLaplace])
@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(1 << 50)])
def test_scales_that_do_not_fit_are_refused(sampler, scale):
    with pytest.raises(PlanError, match="scale must be a positive fraction"):
        sampler(scale)


def test_poisson_rates_are_bounded():
    with pytest.raises(PlanError, match="must not be negative"):
        poisson(Fraction(-1, 2), 1, SimulationCoins(0))
    with pytest.raises(PlanError, match="at most 4096"):
        poisson(Fraction(MOST_POISSON_ROUNDS + 1), 1, SimulationCoins(0))


def test_runs_start_at_zero():
    runs = geometric_inverse_e(10_000, SimulationCoins(0))
    assert runs.min() == 0
    assert 0.5 < runs.mean() < 0.66  # 1/(e-1) = 0.582


def test_rounds_that_fall_short_are_followed_by_more():
    """At so small a scale half of the attempts are a negative 0: every other sample needs a second round."""
    rounds = []

    class Counting(DiscreteLaplace):
        def _attempts(self, size, coins):
            rounds.append(size)
            return super()._attempts(size, coins)

    for seed in range(10):
        drawn = Counting(Fraction(1, 1 << 40)).sample(10_000, SimulationCoins(seed))
        assert drawn.shape == (10_000,)
        assert (drawn == 0).all()
    assert 10 < len(rounds) < 30
    assert max(rounds) == 2 * 10_000 + 16
