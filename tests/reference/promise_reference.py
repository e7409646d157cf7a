"""The promise of the shuffle model on one page of plain Python, straight from docs/wire-format.md.

Slow and exact (forty digits) where the package is fast and rounds outward; independent of it.
"""

import math
from decimal import Decimal, getcontext

getcontext().prec = 40


def amplified(epsilon: float, local_epsilon: float, people: int) -> Decimal:
    """δ(ε) of one bit, true with chance E/(E+1), among Bin(n-1, 2/(E+1)) fair ones."""
    growth, e = Decimal(local_epsilon).exp(), Decimal(epsilon).exp()
    if epsilon >= local_epsilon:
        return Decimal(0)
    p = growth / (growth + 1)
    gain, loss = p - e * (1 - p), e * p - (1 - p)
    slope = loss / ((2 * p - 1) * (e + 1))
    chance = 2 / (growth + 1)
    total, weight = Decimal(0), (1 - chance) ** (people - 1)  # Pr[C = 0]
    for c in range(people):
        t = max(1, min(c + 1, math.ceil(slope * (c + 1))))
        term, tail = math.comb(c, t - 1), 0  # 2^c·Pr[A = t-1], 2^c·Pr[A ≥ t]
        first = term
        for j in range(t, c + 1):
            term = term * (c - j + 1) // j
            tail += term
        at_least = Decimal(tail) / 2**c
        total += weight * (gain * (at_least + Decimal(first) / 2**c) - loss * at_least)
        weight = weight * (people - 1 - c) / (c + 1) * chance / (1 - chance)
    return total


def renyi(parameters: dict, epsilon: float, rows: int) -> float:
    """δ of the noise: the smallest over orders α = 1 + e^x, x in steps of 1/1000."""
    d, g = parameters["coordinates"], 1 << parameters["grid_bits"]
    column = parameters["layout"] == "column"
    bodies = -(-4 * ((1 << 40) - parameters["count_weight"] ** 2) * g * g >> 40)
    squared, entries = (4 * g * g, d) if column else (max(bodies, 2 * g * g), rows * d)
    people = parameters["group"] if column else parameters["minimum_batch"]
    s = parameters["noise_parts"] / 64
    gap = 10 * sum(math.exp(-2 * math.pi**2 * s * s * k / (k + 1)) for k in range(1, people))
    ratio, root = squared / (people * s * s), math.sqrt(people) * s

    def bound(order: float) -> float:
        return min(
            order / 2 * ratio + gap * entries,
            order / 2 * (ratio + 2 * gap * math.sqrt(squared * entries) / root + gap * gap * entries),
            order / 2 * (math.sqrt(ratio) + gap * math.sqrt(entries)) ** 2,
        )

    return min(
        math.exp((a - 1) * (bound(a) - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1))
        for a in (1 + math.exp(x / 1000) for x in range(-6000, 14001))
        if (a - 1) * (bound(a) - epsilon) < 700
    )


def mixing(parameters: dict, epsilon: float) -> float:
    """δ of the shares: (1 + e^ε)·2^-σ for each sum that replacing a person touches."""
    room = math.log2(parameters["group"]) - math.log2(math.e)
    sigma = ((parameters["shares"] - 2) * room - math.log2(parameters["modulus"])) / 2
    touched = parameters["coordinates"] * (1 if parameters["layout"] == "column" else 2)
    return touched * (1 + math.exp(epsilon)) * 2**-sigma
