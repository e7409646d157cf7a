"""Rényi accounting of integer Gaussian noise on a table of vector sums.

A table of integers with one person's influence Δ₂ (the Euclidean distance between the whole tables before and
after replacing a person) and independent discrete Gaussian noise of scale σ on every entry has, at every
order α > 1, Rényi divergence at most α·Δ₂²/2σ² (Canonne, Kamath, Steinke 2020): the bound of the continuous
Gaussian, in any dimension. It turns into (ε, δ) by

    δ = min_α exp((α-1)(τ(α) - ε))·(1 - 1/α)^α / (α-1).

*Distributed* noise: n people add discrete Gaussians of scale s each. Their sum is not quite a discrete
Gaussian of scale √n·s; with τ = 10·Σ_{k=1}^{n-1} exp(-2π²s²·k/(k+1)) the divergence is at most (Kairouz,
Liu, Steinke 2021, D entries)

    min { α/2·Δ₂²/(ns²) + τD ;  α/2·(Δ₂²/(ns²) + 2τΔ₁/(√n·s) + τ²D) ;  α/2·(Δ₂/(√n·s) + τ√D)² }.

The one-dimensional law of the privacy loss (`exact_delta`) is no bound in many dimensions; it is here as the
reference for tests.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from coterie.errors import PlanError

_OUTWARD: Final = 1 + 1e-12  # relative, larger than the rounding of the dozen operations below
_GOLDEN: Final = (math.sqrt(5) - 1) / 2

Curve = Callable[[float], float]  # order α -> Rényi divergence


@dataclass(frozen=True, slots=True)
class Influence:
    """What replacing one person can change of a table, in grid steps.

    Attributes
    ----------
    squared : int
        Δ₂², an upper bound of the squared Euclidean distance.
    entries : int
        D, how many entries of the table carry noise.
    absolute : float
        Δ₁, an upper bound of the sum of absolute differences; √D·Δ₂ if not known better.
    """

    squared: int
    entries: int
    absolute: float = math.inf

    def __post_init__(self) -> None:
        if self.squared < 1 or self.entries < 1:
            raise PlanError(f"influence and entries must be positive, got {self}")
        most = math.sqrt(self.squared * self.entries) * _OUTWARD
        object.__setattr__(self, "absolute", min(self.absolute, most))


def gaussian_curve(influence: Influence, scale: Fraction) -> Curve:
    """Return α -> α·Δ₂²/2σ² for one discrete Gaussian of scale σ an entry."""
    rate = float(Fraction(influence.squared) / (2 * scale * scale)) * _OUTWARD
    return lambda order: order * rate


def distributed_curve(influence: Influence, scale: Fraction, people: int) -> Curve:
    """Return the bound for the sum of `people` discrete Gaussians of scale s an entry."""
    if people < 1:
        raise PlanError(f"somebody must add noise, got {people} people")
    ratio_squared = float(Fraction(influence.squared) / (people * scale * scale)) * _OUTWARD  # Δ₂²/(ns²)
    gap = _convolution_gap(scale, people)  # τ
    entries, total_scale = influence.entries, math.sqrt(people) * float(scale)
    slopes = (  # the last two bounds are proportional to α
        ratio_squared + 2 * gap * influence.absolute / total_scale + gap * gap * entries,
        (math.sqrt(ratio_squared) + gap * math.sqrt(entries)) ** 2,
    )
    slope = min(slopes) * _OUTWARD / 2

    def curve(order: float) -> float:
        return min(order * ratio_squared / 2 * _OUTWARD + gap * entries * _OUTWARD, order * slope)

    return curve


def renyi_delta(curve: Curve, epsilon: float) -> float:
    """Return the smallest δ that the curve proves at ε (any order gives a valid bound).

    Examples
    --------
    >>> renyi_delta(lambda order: order * 0.02, 1.0) < 1e-5
    True
    """

    def log_delta(log_excess: float) -> float:
        excess = math.exp(log_excess)  # α - 1
        order = 1 + excess
        return excess * (curve(order) - epsilon) - order * math.log1p(1 / excess) - math.log(excess)

    # A table with hardly any noise proves a δ beyond the doubles; 1 is as bad.
    return min(1.0, math.exp(min(0.0, _smallest(log_delta, -6.0, 14.0))) * _OUTWARD)


def renyi_epsilon(curve: Curve, delta: float) -> float:
    """Return the smallest ε that the curve proves at δ, rounded up.

    Examples
    --------
    >>> round(renyi_epsilon(lambda order: order * 0.02, 1e-6), 2)
    0.9
    """
    if not 0 < delta < 1:
        raise PlanError(f"delta must be in (0, 1), got {delta!r}")

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)
        order = 1 + excess
        return curve(order) - (math.log(delta * excess) + order * math.log1p(1 / excess)) / excess

    return max(0.0, _smallest(bound, -6.0, 14.0)) * _OUTWARD + 1e-15


def least_scale(
    curve_of: Callable[[Fraction], Curve], epsilon: float, delta: float, *, parts: int
) -> Fraction:
    """Return the smallest scale, in `parts`-ths and rounded up, whose curve is (ε, δ)-private.

    Examples
    --------
    >>> influence = Influence(squared=4, entries=1000)
    >>> float(least_scale(lambda scale: gaussian_curve(influence, scale), 1.0, 1e-6, parts=64))
    9.0625
    """
    if not (epsilon > 0 and 0 < delta < 1):
        raise PlanError(f"need epsilon > 0 and delta in (0, 1), got {epsilon!r} and {delta!r}")
    low, high = 0, 1
    while renyi_epsilon(curve_of(Fraction(high, parts)), delta) > epsilon:
        low, high = high, 2 * high
        if high > 1 << 60:
            raise PlanError(f"no scale below 2^60 makes this table ({epsilon:g}, {delta:g})-private")
    while high - low > 1:
        middle = (low + high) // 2
        kept = renyi_epsilon(curve_of(Fraction(middle, parts)), delta) <= epsilon
        low, high = (low, middle) if kept else (middle, high)
    return Fraction(high, parts)


def exact_delta(scale: Fraction, shift: int, epsilon: float) -> float:
    """Return δ(ε) of one integer that a person moves by `shift`, by summing the law itself (small scales).

    δ = Σ_y max(0, Pr[y] - e^ε·Pr[y - shift]); exact up to float summation. One dimension only.

    Examples
    --------
    >>> exact_delta(Fraction(5), 1, 1.0) < 1e-6 < exact_delta(Fraction(4), 1, 1.0)
    True
    """
    import numpy as np

    reach = int(12 * scale) + abs(shift) + 2
    values = np.arange(-reach, reach + 1, dtype=np.float64)
    logs = -(values * values) / (2 * float(scale) ** 2)
    moved = -((values - shift) ** 2) / (2 * float(scale) ** 2)
    total = np.exp(logs).sum()
    gains = np.exp(moved) - math.exp(epsilon) * np.exp(logs)
    return float(np.maximum(gains, 0).sum() / total)


@functools.lru_cache(maxsize=256)  # designs of many seeds ask for the same ones
def _convolution_gap(scale: Fraction, people: int) -> float:
    """Return τ = 10·Σ_{k=1}^{n-1} exp(-2π²s²·k/(k+1)), rounded up."""
    rate = 2 * math.pi**2 * float(scale) ** 2 * (1 - 1e-12)
    shown = min(people - 1, 1000)
    head = sum(math.exp(-rate * k / (k + 1)) for k in range(1, shown + 1))
    rest = (people - 1 - shown) * math.exp(-rate * (shown + 1) / (shown + 2))  # terms fall with k
    return 10 * (head + rest) * _OUTWARD


def _smallest(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the smallest value seen in a coarse and then a golden-section search; every value is valid."""
    steps = [low + (high - low) * i / 64 for i in range(65)]
    values = [function(x) for x in steps]
    best = min(range(65), key=values.__getitem__)
    left, right = steps[max(best - 1, 0)], steps[min(best + 1, 64)]
    seen = values[best]
    inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    at_inner, at_outer = function(inner), function(outer)
    for _ in range(40):
        seen = min(seen, at_inner, at_outer)
        if at_inner <= at_outer:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - _GOLDEN * (right - left)
            at_inner = function(inner)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + _GOLDEN * (right - left)
            at_outer = function(outer)
    return seen
