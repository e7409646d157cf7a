"""Mixing reports that are private by themselves, against an exact law.

Shuffled one-bit randomized response at ε₀ has a law that can be summed up; its δ at ε must not exceed the
plan's, at the plan's smallest batch.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from coterie.audit.result import Check
from coterie.plan import Plan


def shuffled_response_delta(epsilon: float, local_epsilon: float, people: int) -> float:
    """Return δ(ε) of one person's bit among `people` randomized responses, mixed; exact up to rounding.

    Everybody else holds 0. The number of ones is Bin(n-1, q) + Bern(p) or + Bern(q), q = 1/(e^ε₀+1).

    Examples
    --------
    >>> shuffled_response_delta(1.0, 1.0, 1) < 1e-15 < shuffled_response_delta(0.5, 1.0, 100)
    True
    """
    lie = 1 / (math.exp(local_epsilon) + 1)
    others = stats.binom(people - 1, lie)
    middle, reach = (people - 1) * lie, 12 * math.sqrt((people - 1) * lie) + 40
    ones = np.arange(max(0, math.floor(middle - reach)), math.ceil(middle + reach) + 1)
    same, fewer = others.pmf(ones), others.pmf(ones - 1)
    held = lie * same + (1 - lie) * fewer  # the person holds 1
    not_held = (1 - lie) * same + lie * fewer
    growth = math.exp(epsilon)
    gains = (np.maximum(a - growth * b, 0).sum() for a, b in ((held, not_held), (not_held, held)))
    return float(max(gains))


def check_amplification(plan: Plan, people: int) -> Check:
    """Compare the promise after mixing so many with the exact law of shuffled randomized response."""
    found = shuffled_response_delta(plan.epsilon, plan.local_epsilon, people)
    words = (
        f"{people:,} mixed randomized responses of local epsilon {plan.local_epsilon:.6g} have delta "
        f"{found:.3g} at epsilon {plan.epsilon:g}; the claim is {plan.delta:g} for every randomizer"
    )
    figures = {"exact_delta": found, "claimed_delta": plan.delta}
    return Check("exact", "mixing", found <= plan.delta, words, figures)
