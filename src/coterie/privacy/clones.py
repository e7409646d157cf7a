"""Hiding one person's bit among random bits: the exact δ(ε) that amplification by shuffling rests on.

A person contributes a bit, 0 with probability p under the first value and with probability 1-p under the
second; C other people each contribute a fair bit. Only the numbers of zeros and ones are seen. Given C = c
the zeros are A + Δ with A ~ Bin(c, ½), and the likelihood ratio of "a zeros, r = c+1-a ones" is

    (p·a + (1-p)·r) / ((1-p)·a + p·r),

which grows with a. So the best event is {zeros ≥ t}, t = ⌈β(c+1)⌉, β = (e^ε·p - (1-p)) / ((2p-1)(e^ε+1)),
and with S(t) = Pr[Bin(c, ½) ≥ t]

    δ_c(ε) = (p - e^ε(1-p))·S(t-1) - (e^ε·p - (1-p))·S(t).

δ_c falls as c grows (one more fair bit is post-processing), so a stretch of values of C may be replaced by
its smallest: that is how the mean over C is bounded with a few thousand terms, whatever the number of people.
By symmetry the bound is the same with the two values exchanged.

Rounding is outward: tails are widened by `MARGIN`, ten times the error measured against rationals
(tests/privacy), and what is cut off counts as δ = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import bringing

MARGIN: Final = 1e-9  # relative; the special functions used here were seen to err by 6e-11

_STRETCHES: Final = 4096  # values of C looked at; beyond that they are taken together
_CUT: Final = 1e-5  # share of the target δ that may be cut off at either end

Tail = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def conditional_delta(count: NDArray[np.float64], epsilon: float, truth: float) -> NDArray[np.float64]:
    """Return an upper bound of δ_c(ε) for each c in `count`, shape (m,) -> (m,).

    Parameters
    ----------
    count : ndarray of float64
        c, how many fair bits the person hides among; whole numbers.
    epsilon : float
        ε ≥ 0.
    truth : float
        p in (½, 1]; an ε₀-private bit has p = e^ε₀/(e^ε₀+1).

    Examples
    --------
    >>> conditional_delta(np.array([0.0, 10.0]), 1.0, 1.0).round(6).tolist()
    [1.0, 0.025487]
    """
    with bringing("analyst"):
        from scipy.special import betainc

    lie = 1 - truth
    growth = math.exp(epsilon)
    gain, loss = truth - growth * lie, growth * truth - lie
    if gain <= 0:  # ε ≥ ε₀: nothing is left to pay
        return np.zeros_like(count)
    threshold = np.ceil(loss / ((truth - lie) * (growth + 1)) * (count + 1))  # t; one off costs nothing
    threshold = np.clip(threshold, 1, count + 1)

    def at_least(least: NDArray[np.float64]) -> NDArray[np.float64]:  # S
        inside = (least > 0) & (least <= count)
        wide = np.where(inside, least, 1.0)
        value = betainc(wide, np.where(inside, count - wide + 1, 1.0), 0.5)
        return np.where(inside, value, np.where(least <= 0, 1.0, 0.0))

    bound = gain * at_least(threshold - 1) * (1 + MARGIN) - loss * at_least(threshold) * (1 - MARGIN)
    bound = np.clip(bound, 0.0, gain * (1 + MARGIN))
    # Computed bounds may wiggle by rounding where the true ones fall: take the largest of all later ones.
    return np.maximum.accumulate(bound[::-1])[::-1]


def mean_delta(epsilon: float, truth: float, *, low: int, high: int, below: Tail, above: Tail) -> float:
    """Return an upper bound of E[δ_C(ε)] for a random count C.

    Parameters
    ----------
    epsilon, truth : float
        As for `conditional_delta`.
    low, high : int
        The range of C that is looked at; outside it δ counts as 1.
    below, above : callable
        Pr[C ≤ c] and Pr[C > c] of arrays of whole numbers, each accurate relative to itself.
    """
    if high < low:
        return 1.0
    edges = np.unique(np.floor(np.linspace(low, high + 1, min(_STRETCHES, high - low + 1) + 1)))
    starts, ends = edges[:-1], edges[1:] - 1  # stretch [start, end]
    under, over = below(ends), above(starts - 1)  # Pr[C ≤ end], Pr[C ≥ start]
    by_lower = under - np.where(starts > low, below(starts - 1), below(np.full_like(starts, low - 1.0)))
    by_upper = over - above(ends)
    # Either difference is the mass; the one with smaller terms loses fewer digits.
    mass = np.where(under < over, by_lower + MARGIN * under, by_upper + MARGIN * over)
    inside = float(np.sum(np.maximum(mass, 0.0) * conditional_delta(starts, epsilon, truth)))
    outside = float(below(np.array([low - 1.0]))[0] + above(np.array([float(high)]))[0])
    return min(1.0, (inside + outside) * (1 + MARGIN))


def window(
    mean: float, variance: float, most: float, target: float, below: Tail, above: Tail
) -> tuple[int, int]:
    """Return the range of C outside which less than a 10⁻⁵th of `target` lies on either side."""
    wanted = target * _CUT
    width = math.sqrt(variance) * math.sqrt(2 * math.log(1 / wanted)) + 2 * math.log(1 / wanted)
    low, high = max(0, math.floor(mean - width)), math.ceil(min(most, mean + width))
    while low > 0 and below(np.array([low - 1.0]))[0] > wanted:
        low = max(0, low - math.ceil(width / 4))
    while high < most and above(np.array([float(high)]))[0] > wanted:
        high = math.ceil(min(most, high + width / 4))
    return low, high


def least_epsilon(delta_of: Callable[[float], float], delta: float, most: float) -> float:
    """Return the smallest ε (rounded up by less than 10⁻⁷ of itself) with δ(ε) ≤ `delta`; δ falls with ε.

    `most` is a value known to be enough.
    """
    low, high = 0.0, most
    while high - low > 1e-7 * high and high > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(middle) <= delta else (middle, high)
    return high
