"""Privacy parameters are computed in floats and round outward: never below 50 exact digits, hardly above."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from benchmarks.reproduction.shuffled_histogram import blanket_delta, least_blanket
from coterie.errors import PlanError
from coterie.privacy.amplification import (
    amplified_delta,
    amplified_epsilon,
    largest_local_epsilon,
)
from coterie.privacy.clones import conditional_delta, least_epsilon, mean_delta, window
from coterie.privacy.odds import (
    BASE_ODDS,
    largest_odds,
    largest_shared_odds,
    product_allowed,
    ratio_allowed,
    spent_by_product,
)
from coterie.privacy.renyi import (
    Influence,
    distributed_curve,
    exact_delta,
    gaussian_curve,
    least_scale,
    renyi_delta,
    renyi_epsilon,
)

HARDLY = 1e-10  # relative, above the exact value
PI = Decimal("3.14159265358979323846264338327950288419716939937510582")


@pytest.fixture(autouse=True)
def digits():
    with localcontext(Context(prec=50)):
        yield


def decimal(value):
    value = Fraction(value)
    return Decimal(value.numerator) / Decimal(value.denominator)


def outward(exact, found, above=HARDLY):
    return exact <= Decimal(found) <= exact * (1 + Decimal(above))


# ---------------------------------------------------------------- Rényi


def exact_gap(scale, people):
    rate = 2 * PI * PI * decimal(scale) ** 2
    return 10 * sum((-rate * k / (k + 1)).exp() for k in range(1, people))


@pytest.mark.parametrize("order", [1.25, 3.0, 200.0])
@pytest.mark.parametrize(
    ("squared", "scale"), [(1, Fraction(3)), (7, Fraction(5, 64)), (4 << 24, Fraction(400))]
)
def test_the_curve_of_one_gaussian(order, squared, scale):
    exact = decimal(order) * squared / (2 * decimal(scale) ** 2)
    assert outward(exact, gaussian_curve(Influence(squared, 9), scale)(order))


@pytest.mark.parametrize("order", [1.25, 3.0, 50.0, 5000.0])
@pytest.mark.parametrize("absolute", [3.0, math.inf])
@pytest.mark.parametrize("people", [1, 2, 40])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1)])  # the gap is large, and small
def test_the_curve_of_many_gaussians_is_the_smallest_of_its_three_bounds(order, absolute, people, scale):
    influence = Influence(16, 10, absolute)
    gap, spread = exact_gap(scale, people), Decimal(people).sqrt() * decimal(scale)
    most = min(Decimal(absolute), Decimal(160).sqrt())
    ratio, alpha = 16 / spread**2, decimal(order)
    exact = min(
        alpha / 2 * ratio + gap * 10,
        alpha / 2 * (ratio + 2 * gap * most / spread + gap * gap * 10),
        alpha / 2 * (4 / spread + gap * Decimal(10).sqrt()) ** 2,
    )
    assert outward(exact, distributed_curve(influence, scale, people)(order))


def test_the_gap_of_more_than_a_thousand_people_is_bounded_from_above():
    scale, people = Fraction(1, 4), 1100
    gap, spread = exact_gap(scale, people), Decimal(people).sqrt() * decimal(scale)
    exact = 4 / spread**2 + gap * 3  # order 2, and the gap is large: the first bound
    assert outward(exact, distributed_curve(Influence(4, 3), scale, people)(2.0), above=1e-5)


@pytest.mark.parametrize("rate", [0.001, 0.02, 0.5, 8.0])
def test_the_best_order_is_found(rate):
    def log_delta(log_excess, epsilon=1.0):
        excess = math.exp(log_excess)
        order = 1 + excess
        return excess * (order * rate - epsilon) - order * math.log1p(1 / excess) - math.log(excess)

    def epsilon_of(log_excess, delta=1e-6):
        excess = math.exp(log_excess)
        order = 1 + excess
        return order * rate - (math.log(delta * excess) + order * math.log1p(1 / excess)) / excess

    grid = np.linspace(-6, 14, 4001)

    def smallest(function):
        start = grid[np.argmin([function(x) for x in grid])]
        return minimize_scalar(function, bounds=(start - 0.01, start + 0.01), options={"xatol": 1e-9}).fun

    found = renyi_delta(lambda order: order * rate, 1.0)
    best = min(1.0, math.exp(min(0.0, smallest(log_delta))))
    assert best * (1 - 1e-12) <= found <= best * (1 + 1e-6)
    found = renyi_epsilon(lambda order: order * rate, 1e-6)
    best = max(0.0, smallest(epsilon_of))
    assert best * (1 - 1e-12) <= found <= best * (1 + 1e-6) + 1e-14


def test_even_no_loss_at_all_is_said_to_be_some():
    """The smallest loss is never written as 0, and a table without noise has δ = 1, not more."""
    assert 0 < renyi_epsilon(lambda order: 0.0, 0.5) < 1e-12
    assert renyi_delta(lambda order: 1e300, 1.0) == 1.0
    assert renyi_delta(lambda order: order * 1e6, 1.0) == 1.0


@pytest.mark.parametrize("parts", [1, 64])
def test_the_least_scale_is_the_least(parts):
    def curve_of(scale):
        return gaussian_curve(Influence(4, 10), scale)

    scale = least_scale(curve_of, 1.0, 1e-6, parts=parts)
    assert (scale * parts).denominator == 1
    assert renyi_epsilon(curve_of(scale), 1e-6) <= 1.0
    assert renyi_epsilon(curve_of(scale - Fraction(1, parts)), 1e-6) > 1.0
    assert least_scale(curve_of, 1e6, 1e-6, parts=1) == 1  # the first one may do
    with pytest.raises(PlanError, match=r"no scale below 2\^60"):
        least_scale(lambda scale: lambda order: 1e9 * order, 1.0, 1e-6, parts=1)


def test_the_exact_law_of_one_integer_is_summed_as_far_as_it_matters():
    for scale, shift, epsilon in ((Fraction(2), 1, 0.5), (Fraction(1, 2), 3, 1.0), (Fraction(5), -4, 0.0)):
        values = range(-80, 81)
        square = 2 * decimal(scale) ** 2
        law = {y: (-(Decimal(y) ** 2) / square).exp() for y in range(-90, 91)}
        total = sum(law.values())
        gains = (law[y - shift] - Decimal(epsilon).exp() * law[y] for y in values)
        exact = sum(gain for gain in gains if gain > 0) / total
        assert float(exact) == pytest.approx(exact_delta(scale, shift, epsilon), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Influence(0, 1), "must be positive"),
        (lambda: Influence(1, 0), "must be positive"),
        (lambda: distributed_curve(Influence(1, 1), Fraction(1), 0), "somebody must add noise"),
        (lambda: renyi_epsilon(lambda order: 1.0, 0.0), "delta must be in"),
        (lambda: renyi_epsilon(lambda order: 1.0, 1.0), "delta must be in"),
        (lambda: least_scale(lambda scale: lambda order: 0.0, 0.0, 0.5, parts=1), "need epsilon > 0"),
        (lambda: least_scale(lambda scale: lambda order: 0.0, 1.0, 0.0, parts=1), "need epsilon > 0"),
        (lambda: least_scale(lambda scale: lambda order: 0.0, 1.0, 1.0, parts=1), "need epsilon > 0"),
        (lambda: blanket_delta(1.0, 0.0), r"in \(0, 2\^30\]"),
        (lambda: blanket_delta(1.0, 2**30 + 1), r"in \(0, 2\^30\]"),
        (lambda: least_blanket(0.0, 0.5), "need epsilon > 0"),
        (lambda: least_blanket(1.0, 0.0), "need epsilon > 0"),
        (lambda: least_blanket(1.0, 1.0), "need epsilon > 0"),
        (lambda: least_blanket(1e-6, 1e-12), r"needs more than 2\^30"),
        (lambda: amplified_delta(0.5, 0.0, 10), r"local epsilon must be in \(0, 16\]"),
        (lambda: amplified_delta(0.5, 16.5, 10), r"local epsilon must be in \(0, 16\]"),
        (lambda: amplified_delta(0.5, 1.0, 0), "a batch has 1 to"),
        (lambda: amplified_delta(0.5, 1.0, 2**40 + 1), "a batch has 1 to"),
        (lambda: amplified_epsilon(1.0, 0.0, 10), r"delta must be in \(0, 1\)"),
        (lambda: amplified_epsilon(1.0, 1.0, 10), r"delta must be in \(0, 1\)"),
        (lambda: amplified_epsilon(0.0, 0.5, 10), "local epsilon must be in"),
        (lambda: largest_local_epsilon(1.0, 0.0, 10), r"delta must be in \(0, 1\)"),
        (lambda: largest_local_epsilon(1.0, 0.5, 0), "a batch has 1 to"),
        (lambda: largest_shared_odds(1.0, 0), "at least one part"),
        (lambda: spent_by_product([BASE_ODDS, BASE_ODDS + 1]), "odds must exceed"),
        (lambda: spent_by_product([]), "odds must exceed"),
        (lambda: largest_odds(math.nextafter(math.nextafter(16.0, 17), 17)), "epsilon must be in"),
    ],
)
def test_what_has_no_meaning_is_refused(wrong, message):
    with pytest.raises(PlanError, match=message):
        wrong()


# ---------------------------------------------------------------- odds


@pytest.mark.parametrize(("epsilon", "parts"), [(1.0, 1), (1.0, 20), (16.0, 3), (0.01, 7), (5e-5, 2)])
def test_shared_odds_are_the_largest(epsilon, parts):
    odds = largest_shared_odds(epsilon, parts)
    assert Decimal(odds) <= (Decimal(epsilon) / parts).exp() * BASE_ODDS < odds + 1
    assert product_allowed([odds] * parts, epsilon)
    assert not product_allowed([odds + 1] * parts, epsilon)
    assert product_allowed([odds + 1] * parts, epsilon) is False
    assert ratio_allowed(Fraction(odds, BASE_ODDS) ** parts, epsilon) is True
    assert ratio_allowed(Fraction(odds + 1, BASE_ODDS) ** parts, epsilon) is False


def test_no_ratio_needs_an_epsilon_below_one():
    assert ratio_allowed(Fraction(1), 5e-324)
    assert ratio_allowed(Fraction(1, 2), 1.0)


@pytest.mark.parametrize(
    "odds", [[17637402] * 20, [BASE_ODDS + 1], [2 * BASE_ODDS, 3 * BASE_ODDS + 1, BASE_ODDS + 5]]
)
def test_a_product_spends_the_smallest_double_above_its_logarithm(odds):
    exact = sum((Decimal(a) / BASE_ODDS).ln() for a in odds)
    spent = spent_by_product(odds)
    assert Decimal(math.nextafter(spent, 0.0)) < exact <= Decimal(spent)


# ---------------------------------------------------------------- mixing


def test_searches_stop_at_the_boundary_and_on_the_safe_side():
    users, delta, local = 1000, 1e-6, 3.0
    epsilon = amplified_epsilon(local, delta, users)
    assert amplified_delta(epsilon, local, users, target=delta) <= delta
    assert amplified_delta(epsilon * (1 - 2e-7), local, users, target=delta) > delta
    most = largest_local_epsilon(epsilon, delta, users)
    assert amplified_delta(epsilon, most, users, target=delta) <= delta
    assert amplified_delta(epsilon, most * (1 + 3e-7), users, target=delta) > delta
    rate = least_blanket(1.0, 1e-6)
    assert blanket_delta(1.0, float(rate), target=1e-6) <= 1e-6
    assert blanket_delta(1.0, float(rate - Fraction(1, 64)), target=1e-6) > 1e-6


@pytest.mark.slow
def test_the_largest_values_are_taken():
    assert 0 < amplified_delta(1e-7, 1.0, 2**40) < 1
    assert 0 <= amplified_delta(1.0, 16.0, 1000) <= 1
    assert 0 <= blanket_delta(1e-4, 2**30) < 1
    assert blanket_delta(0.1, 1e-12) == 1.0  # not a little more
    assert largest_odds(16.0) == largest_shared_odds(16.0, 1)


def test_searches_know_when_nothing_is_to_be_found():
    assert largest_local_epsilon(1.0, 1e-6, 10, cap=0.5) == 0.5  # shuffling never costs privacy
    assert largest_local_epsilon(16.0, 1e-6, 10) == 16.0
    assert largest_local_epsilon(1.0, 1e-6, 1) == pytest.approx(1.0, rel=1e-5)
    assert amplified_delta(1.0, 1.0, 5) == 0.0
    assert least_blanket(30.0, 0.5) > 0
    assert least_epsilon(lambda epsilon: 0.0, 0.5, 1.0) < 1e-8
    assert least_epsilon(lambda epsilon: 1.0, 0.5, 1.0) == 1.0


@pytest.mark.parametrize("users", [1, 2, 3, 60])
def test_hiding_among_few_people_is_bounded_from_above_and_tightly(users):
    """δ = E[δ_C] over all values of C, in 50 digits; the float adds its margins and no more."""
    epsilon, local = 0.25, 1.0
    grown, growth = Decimal(local).exp(), Decimal(epsilon).exp()
    truth, chance = grown / (grown + 1), 2 / (grown + 1)
    exact = Decimal(0)
    for count in range(users):
        tail = [
            Decimal(sum(math.comb(count, a) for a in range(t, count + 1))) / 2**count
            for t in range(count + 2)
        ]
        worst = max(
            (truth - growth * (1 - truth)) * tail[t - 1] - (growth * truth - (1 - truth)) * tail[t]
            for t in range(1, count + 2)
        )
        mass = math.comb(users - 1, count) * chance**count * (1 - chance) ** (users - 1 - count)
        exact += mass * max(worst, Decimal(0))
    assert outward(exact, amplified_delta(epsilon, local, users, target=1e-3), above=3e-7)


def test_many_values_of_the_count_are_taken_together_on_the_safe_side():
    """More than 4096 values: stretches count as their smallest; the bound grows a little and never falls."""
    local, users = 1.0, 10**7
    chance = 2 / (math.e + 1)
    mean = (users - 1) * chance
    for epsilon in (5e-4, 1e-3):
        ends = np.floor([mean - 8 * math.sqrt(mean), mean + 8 * math.sqrt(mean)])
        most, least = conditional_delta(ends, epsilon, math.e / (math.e + 1))
        assert least < amplified_delta(epsilon, local, users) < most
    outside = mean_delta(1.0, 0.7, low=3, high=2, below=lambda c: c * 0, above=lambda c: c * 0)
    assert outside == 1.0  # nothing is looked at


def test_what_lies_outside_the_window_counts_in_full():
    """C uniform on 0..7, of which 2..5 are looked at: half of it is δ = 1."""

    def below(count):
        return np.clip((count + 1) / 8, 0, 1)

    def above(count):
        return 1 - below(count)

    found = mean_delta(0.25, 0.7, low=2, high=5, below=below, above=above)
    inside = conditional_delta(np.array([2.0, 3, 4, 5]), 0.25, 0.7).sum() / 8
    assert 0.5 + inside <= found <= (0.5 + inside) * (1 + 1e-8)


def test_a_window_leaves_less_than_its_share_outside():
    """Outside it δ counts as 1, so no more than 10⁻⁵ of the target may lie there."""
    from scipy.stats import poisson

    for rate, target in ((0.5, 1e-3), (30.0, 1e-9), (4000.0, 1e-12)):
        low, high = window(
            rate,
            rate,
            math.inf,
            target,
            lambda c, rate=rate: poisson.cdf(c, rate),
            lambda c, rate=rate: poisson.sf(c, rate),
        )
        assert poisson.cdf(low - 1, rate) <= target * 1e-5
        assert poisson.sf(high, rate) <= target * 1e-5
        assert high - low <= 40 * math.sqrt(rate) + 80


def test_a_window_that_starts_too_narrow_is_widened():
    from scipy.stats import poisson

    low, high = window(
        100.0, 1e-9, math.inf, 0.1, lambda c: poisson.cdf(c, 100), lambda c: poisson.sf(c, 100)
    )
    assert poisson.cdf(low - 1, 100) <= 1e-6
    assert poisson.sf(high, 100) <= 1e-6
    low, high = window(
        9.0, 1e-9, 20.0, 1e-3, lambda c: np.where(c < 20, 0.5, 1.0), lambda c: np.where(c < 20, 0.5, 0.0)
    )
    assert (low, high) == (0, 20)  # no further than there is anything
    low, high = window(
        60.0, 1e-9, 100.0, 1e-3, lambda c: np.where(c < 1, 0.0, 0.5), lambda c: np.where(c < 100, 0.5, 0.0)
    )
    assert (low, high) == (0, 100)  # and so far, by steps
