"""Exact odds: the largest integer A with A ≤ e^ε·2^24, and its inverse, decided in integers.

A randomizer that sends an index with odds A against B = 2^24 is ln(A/B)-private, so the whole promise
rests on A ≤ e^ε·B. A double's ε is the exact rational p/q it stores. With t_k = ε^k/k!, the sum
e^ε = Σ t_k is bracketed in fixed point: each term is rounded down for the lower sum and up for the upper
one, and once k ≥ 2ε the rest of the series is at most the last term (a geometric series of ratio ≤ 1/2).
e^ε is irrational for every rational ε ≠ 0, so e^ε·2^24 is never an integer and a finer bracket always
decides. No float is compared anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from coterie.errors import PlanError

BASE_ODDS: Final = 1 << 24  # B: the odds of an index outside the cap
MAX_EPSILON: Final = 16.0  # beyond this a report hides next to nothing

_FIRST_PRECISION: Final = 64  # fractional bits of the first bracket; doubled until it decides


def largest_odds(epsilon: float) -> int:
    """Return the largest integer A with A ≤ e^ε·2^24.

    Parameters
    ----------
    epsilon : float
        The privacy parameter, in (0, 16]. Its exact binary value is what counts.

    Returns
    -------
    int
        A, at least 2^24. Odds of exactly 2^24 (ε below 6e-8) carry no information.

    Examples
    --------
    >>> largest_odds(1.0)  # e·2^24 = 45605201.4…
    45605201
    """
    return largest_shared_odds(epsilon, 1)


def largest_shared_odds(epsilon: float, parts: int) -> int:
    """Return the largest integer A with (A/2^24)^parts ≤ e^ε: the odds of one of `parts` independent answers.

    Examples
    --------
    >>> largest_shared_odds(1.0, 1) == largest_odds(1.0)
    True
    >>> largest_shared_odds(1.0, 20)  # e^(1/20)·2^24 = 17637402.8…
    17637402
    """
    if parts < 1:
        raise PlanError(f"odds are shared by at least one part, got {parts}")
    exact = _exact(epsilon) / parts
    precision = _FIRST_PRECISION
    while True:
        lower, upper = _exponential_bracket(exact, precision)
        smallest, largest = (lower * BASE_ODDS) >> precision, (upper * BASE_ODDS) >> precision
        if smallest == largest:
            return smallest
        precision *= 2


def product_allowed(odds: Sequence[int], epsilon: float) -> bool:
    """Return whether independent answers with these odds are ε-private together: Π (A_j/2^24) ≤ e^ε, exactly.

    Examples
    --------
    >>> product_allowed([17637402] * 20, 1.0), product_allowed([17637403] * 20, 1.0)
    (True, False)
    """
    return ratio_allowed(Fraction(math.prod(odds), BASE_ODDS ** len(odds)), epsilon)


def ratio_allowed(ratio: Fraction, epsilon: float) -> bool:
    """Return whether a ratio of probabilities keeps the promise of ε: ratio ≤ e^ε, exactly.

    Examples
    --------
    >>> ratio_allowed(Fraction(45605201, 2**24), 1.0), ratio_allowed(Fraction(45605202, 2**24), 1.0)
    (True, False)
    """
    exact = _exact(epsilon)
    if ratio <= 1:
        return True
    precision = _FIRST_PRECISION
    while True:
        lower, upper = _exponential_bracket(exact, precision)
        scaled = ratio.numerator << precision
        if scaled <= lower * ratio.denominator:
            return True
        if scaled > upper * ratio.denominator:
            return False
        precision *= 2


def spent_by_product(odds: Sequence[int]) -> float:
    """Return the smallest double that is at least Σ ln(A_j/2^24): what independent answers spend together.

    Examples
    --------
    >>> spent_by_product([17637402] * 20) <= 1.0
    True
    """
    if min(odds, default=0) <= BASE_ODDS:
        raise PlanError(f"odds must exceed {BASE_ODDS} (even odds), got {min(odds, default=0)}")
    # The float logarithm is a guess within a few units in the last place; exact checks move it into place.
    guess = math.fsum(math.log1p((a - BASE_ODDS) / BASE_ODDS) for a in odds)
    while product_allowed(odds, below := math.nextafter(guess, 0.0)):
        guess = below
    while not product_allowed(odds, guess):
        guess = math.nextafter(guess, math.inf)
    return guess


def _exact(epsilon: float) -> Fraction:
    # One unit above 16 is let through: `spent_by_product` probes the neighbours of its guess.
    if not 0 < epsilon <= math.nextafter(MAX_EPSILON, math.inf):
        raise PlanError(f"epsilon must be in (0, {MAX_EPSILON:g}], got {epsilon!r}")
    return Fraction(epsilon)


def _exponential_bracket(exponent: Fraction, precision: int) -> tuple[int, int]:
    """Return integers with lower ≤ e^exponent·2^precision ≤ upper, for an exponent > 0."""
    numerator, denominator = exponent.numerator, exponent.denominator
    term_below = term_above = lower = upper = 1 << precision  # t_0 = 1, exactly
    k = 0
    while term_above > 1 or k < 2 * exponent:
        k += 1
        term_below = term_below * numerator // (denominator * k)
        term_above = -(-term_above * numerator // (denominator * k))
        lower += term_below
        upper += term_above
    return lower, upper + term_above  # t_{k+1} + t_{k+2} + … ≤ t_k·(1/2 + 1/4 + …)
