"""Odds against a reference of 80 digits: the largest integer below e^ε·2^24 and nothing else."""

import math
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coterie.errors import PlanError
from coterie.privacy import BASE_ODDS, MAX_EPSILON, largest_odds, product_allowed, spent_by_product

epsilons = st.floats(min_value=2.0**-24, max_value=MAX_EPSILON)


def reference_odds(epsilon: float) -> int:
    with localcontext(Context(prec=80)):
        return int((Decimal(epsilon).exp() * BASE_ODDS).to_integral_value(ROUND_FLOOR))


@given(st.floats(min_value=0, max_value=MAX_EPSILON, exclude_min=True))
@example(5e-324)
@example(MAX_EPSILON)
@example(math.log(2))
@example(math.log(3))
def test_largest_odds_is_the_floor(epsilon):
    assert largest_odds(epsilon) == reference_odds(epsilon)


@given(epsilons)
def test_one_more_is_not_allowed(epsilon):
    odds = largest_odds(epsilon)
    assert product_allowed([odds], epsilon)
    assert not product_allowed([odds + 1], epsilon)


@given(st.integers(min_value=BASE_ODDS + 1, max_value=reference_odds(MAX_EPSILON)))
def test_the_neighbouring_doubles_of_a_logarithm_are_told_apart(odds):
    """The hardest cases: ε within an ulp of ln(A/B), where e^ε·2^24 almost is the integer A."""
    spent = spent_by_product([odds])
    assert product_allowed([odds], spent)
    assert not product_allowed([odds], math.nextafter(spent, 0.0))
    with localcontext(Context(prec=80)):
        logarithm = (Decimal(odds) / BASE_ODDS).ln()
        assert Decimal(math.nextafter(spent, 0.0)) < logarithm <= Decimal(spent)


@given(epsilons)
def test_spent_never_exceeds_the_promise(epsilon):
    odds = largest_odds(epsilon)
    if odds > BASE_ODDS:
        assert 0 < spent_by_product([odds]) <= epsilon


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
def test_odds_are_tight(epsilon):
    assert spent_by_product([largest_odds(epsilon)]) >= 0.9999997 * epsilon


def test_the_double_counts_not_its_decimal_spelling():
    assert Fraction(0.1) != Fraction(1, 10)
    assert largest_odds(0.1) == reference_odds(0.1)


def test_a_rounded_float_computation_would_fail_this_check():
    """⌊exp(ε)·2^24⌋ in doubles is too large for some ε: the check above is needed."""
    wrong = [
        epsilon
        for odds in range(BASE_ODDS + 1, BASE_ODDS + 4000)
        if (epsilon := math.nextafter(spent_by_product([odds]), 0.0))
        and math.floor(math.exp(epsilon) * BASE_ODDS) > largest_odds(epsilon)
    ]
    assert wrong


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 16.5])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(PlanError, match=r"epsilon must be in \(0, 16\]"):
        largest_odds(epsilon)


def test_even_odds_spend_nothing_and_are_refused():
    with pytest.raises(PlanError, match="odds must exceed 16777216"):
        spent_by_product([BASE_ODDS])
