"""How much Gaussian noise (ε, δ) asks for: Balle and Wang's exact condition (ICML 2018).

    δ = Φ(Δ/2σ - εσ/Δ) - e^ε·Φ(-Δ/2σ - εσ/Δ)

The right side falls as σ grows; bisection finds the smallest σ, rounded up.
"""

from __future__ import annotations

import math

from scipy.special import log_ndtr


def gaussian_deviation(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return the smallest standard deviation of Gaussian noise that is (ε, δ)-private.

    Examples
    --------
    >>> round(gaussian_deviation(1.0, 1e-6, 2.0), 2)
    8.45
    """
    low, high = 1e-6 * sensitivity, 1e6 * sensitivity
    while high > low * (1 + 1e-12):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _delta(epsilon, middle / sensitivity) <= delta else (middle, high)
    return high


def _delta(epsilon: float, ratio: float) -> float:
    shift, half = epsilon * ratio, 0.5 / ratio
    return math.exp(log_ndtr(half - shift)) - math.exp(epsilon + float(log_ndtr(-half - shift)))
