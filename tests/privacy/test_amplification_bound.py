"""Amplification by shuffling: published values, exact laws it must dominate, and a Monte-Carlo lower bound.

The bound is an upper bound for every ε₀-private randomizer, so each particular one, whatever its inputs, must
stay below it. For randomized response the shuffled law is a sum of binomials and its δ is computed; for k-ary
randomized response δ = E[(mean of l)⁺] is estimated and its lower confidence limit compared.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc

from coterie.privacy.amplification import (
    amplified_delta,
    amplified_epsilon,
    largest_local_epsilon,
)
from coterie.privacy.clones import MARGIN, conditional_delta

PUBLISHED = {  # (n, ε₀): (closed form, numeric) at δ = 1e-6
    (10**4, 1.0): (0.180, 0.043),
    (10**4, 2.0): (0.398, 0.114),
    (10**4, 4.0): (0.958, 0.411),
    (10**5, 1.0): (0.060, 0.012),
    (10**5, 2.0): (0.143, 0.033),
    (10**5, 4.0): (0.408, 0.118),
}


def closed_form_epsilon(local, delta, users):
    """The published closed form, never below the numeric bound."""
    spread = 4 * math.sqrt(2 * math.log(4 / delta)) / math.sqrt((math.exp(local) + 1) * users) + 4 / users
    return math.log1p(math.expm1(local) * spread)


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "values"), PUBLISHED.items())
def test_published_values(setting, values):
    users, local = setting
    assert closed_form_epsilon(local, 1e-6, users) == pytest.approx(values[0], abs=6e-4)
    numeric = amplified_epsilon(local, 1e-6, users)
    assert numeric == pytest.approx(values[1], abs=6e-4)
    assert numeric < closed_form_epsilon(local, 1e-6, users)


def test_the_largest_local_epsilon():
    assert largest_local_epsilon(1.0, 1e-6, 10**5) == pytest.approx(7.76, abs=0.006)
    assert largest_local_epsilon(1.0, 1e-6, 10**6) == pytest.approx(10.06, abs=0.006)
    assert largest_local_epsilon(1.0, 1e-6, 10**5, cap=4.0) == 4.0


def response_delta(epsilon, local, users, ones):
    """Exact δ of shuffled randomized response when `ones` of the others hold 1."""
    lie = 1 / (math.exp(local) + 1)
    others = np.convolve(
        stats.binom.pmf(np.arange(users - ones), users - 1 - ones, lie),
        stats.binom.pmf(np.arange(ones + 1), ones, 1 - lie),
    )
    truth = np.convolve(others, [1 - lie, lie])  # the person holds 0
    other = np.convolve(others, [lie, 1 - lie])
    return max(
        np.maximum(truth - math.exp(epsilon) * other, 0).sum(),
        np.maximum(other - math.exp(epsilon) * truth, 0).sum(),
    )


@pytest.mark.parametrize("users", [1, 2, 10, 200, 5000])
@pytest.mark.parametrize("local", [0.5, 2.0, 5.0])
def test_randomized_response_stays_below(users, local):
    for epsilon in (0.0, 0.05 * local, 0.3 * local, 0.9 * local):
        bound = amplified_delta(epsilon, local, users)
        for ones in {0, users // 2, users - 1}:
            if ones < users:
                assert response_delta(epsilon, local, users, ones) <= bound * (1 + 1e-9) + 1e-15


@pytest.mark.slow
@pytest.mark.parametrize(("local", "users", "kinds"), [(3.0, 300, 2), (3.0, 300, 4), (5.0, 1000, 64)])
def test_never_below_a_monte_carlo_lower_bound(local, users, kinds):
    """k-ary randomized response, everybody else at a third value or (k = 2) at the first."""
    rng = np.random.default_rng([users, kinds])
    odds = math.exp(local)
    rest = np.ones(kinds)
    rest[-1 if kinds > 2 else 0] = odds
    rest /= rest.sum()
    zero, one = np.ones(kinds), np.ones(kinds)
    zero[0], one[1] = odds, odds
    zero /= zero.sum()
    one /= one.sum()
    for epsilon in (0.1, 0.3):
        gains = (zero - math.exp(epsilon) * one) / rest
        counts = rng.multinomial(users, rest, size=100_000)
        values = np.maximum(counts @ gains / users, 0)
        lower = values.mean() - 5 * values.std() / math.sqrt(len(values))
        bound = amplified_delta(epsilon, local, users)
        assert lower <= bound
        assert lower > bound / 100  # and the bound is no empty one


def test_conditional_deltas_are_upper_bounds_and_tight():
    """Against rationals: δ_c = max over events, here over all thresholds."""
    for count in (0, 1, 7, 40, 300):
        for epsilon, local in ((0.3, 1.0), (1.0, 5.0)):
            growth = Fraction(math.exp(epsilon))
            truth = Fraction(math.exp(local)) / (Fraction(math.exp(local)) + 1)
            tail = [Fraction(0)] * (count + 3)
            for k in range(count, -1, -1):
                tail[k] = tail[k + 1] + Fraction(math.comb(count, k), 1 << count)

            def at_least(t, tail=tail):
                return tail[t] if t > 0 else Fraction(1)

            exact = max(
                (truth - growth * (1 - truth)) * at_least(t - 1)
                - (growth * truth - (1 - truth)) * at_least(t)
                for t in range(1, count + 2)
            )
            exact = max(exact, Fraction(0))
            found = conditional_delta(np.array([float(count)]), epsilon, float(truth))[0]
            assert float(exact) * (1 - 1e-13) <= found
            assert found <= float(exact) + 2e-9


def test_fewer_people_hide_less_and_nothing_is_claimed_below_epsilon_zero():
    spent = [amplified_epsilon(5.0, 1e-6, users) for users in (100, 1000, 10_000)]
    assert 5.0 >= spent[0] > spent[1] > spent[2]
    assert amplified_epsilon(5.0, 1e-6, 1) > 4.99
    assert amplified_delta(5.0, 5.0, 10) == 0.0


@pytest.mark.parametrize("trials", [50, 2000, 20_000])
def test_the_special_function_errs_by_far_less_than_the_margin(trials):
    """Pr[Bin(c, ½) ≥ t] against exact integers, in the tails too; the margin covers ten times the worst."""
    places = sorted({trials // 2 + int(step * trials**0.5) for step in (-8, -4, -1, 0, 1, 4, 8)})
    places = [place for place in places if 1 <= place <= trials]
    terms, total = {}, 0
    binomial = 1  # of `trials` over `trials`
    for least in range(trials, min(places) - 1, -1):
        total += binomial
        if least in places:
            terms[least] = total
        binomial = binomial * least // (trials - least + 1)
    worst = 0.0
    for least, exact in terms.items():
        found = Fraction(float(betainc(least, trials - least + 1, 0.5))) * 2**trials
        worst = max(worst, abs(float(found / exact - 1)))
    assert 10 * worst < MARGIN
