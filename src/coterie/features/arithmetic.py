"""Logarithms and points of a circle from single operations on doubles: the same bits in every language.

A math library may round log, sin and cos as it likes; +, ×, ÷ and √ of doubles have one result each. So

    log₂ x    m·2^e = x with 1 ≤ m < 2;  then 40 times: m ← m·m, and if m ≥ 2: m ← m/2, the next bit is 1
    circle    root₁ = -1, root₂ = i;  cos' = √((1 + cos)/2), sin' = sin/(2·cos')     (half the angle)
              n/2²⁴ of a turn = Π root_k over the bits k of n that are 1

Both are increasing where they should be, and wrong by less than 2⁻³⁹ and 2⁻⁴⁸ (docs/wire-format.md).
"""

from __future__ import annotations

import functools
import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

LOG_BITS: Final = 40
TURN_BITS: Final = 24
TURN: Final = 1 << TURN_BITS  # steps of a whole turn

_HALF_BITS: Final = TURN_BITS // 2


def binary_log(values: NDArray[np.float64]) -> NDArray[np.float64]:  # (n,) -> (n,)
    """Return log₂ of positive normal doubles, rounded down to a multiple of 2⁻⁴⁰.

    Examples
    --------
    >>> binary_log(np.array([0.25, 1.0, 3.0])).tolist()
    [-2.0, 0.0, 1.584962500720394]
    """
    mantissa, exponent = np.frexp(values)  # mantissa in [½, 1)
    mantissa = mantissa * 2.0
    result: NDArray[np.float64] = exponent - 1.0
    bit = 0.5
    for _ in range(LOG_BITS):
        mantissa = mantissa * mantissa
        high = mantissa >= 2.0
        mantissa = np.where(high, mantissa * 0.5, mantissa)
        result = result + np.where(high, bit, 0.0)  # exact: 11 bits before the point, 40 behind it
        bit *= 0.5
    return result


def on_circle(turns: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return cosine and sine of `turns`/2²⁴ of a whole turn: (n,) in [0, 2²⁴) -> (n,), (n,).

    Examples
    --------
    >>> cosine, sine = on_circle(np.array([0, TURN // 4, TURN // 8]))
    >>> cosine.tolist(), sine.tolist()
    ([1.0, 0.0, 0.7071067811865476], [0.0, 1.0, 0.7071067811865475])
    """
    coarse, fine = _tables()
    high, low = turns >> _HALF_BITS, turns & ((1 << _HALF_BITS) - 1)
    return _product(coarse[0][high], coarse[1][high], fine[0][low], fine[1][low])


_Floats = NDArray[np.float64]
_Pairs = tuple[_Floats, _Floats]


def _product(a: _Floats, b: _Floats, c: _Floats | float, s: _Floats | float) -> _Pairs:
    """Multiply a + ib by c + is. Not numpy's complex numbers: those may fuse a product with a sum."""
    return a * c - b * s, a * s + b * c


def roots() -> list[tuple[float, float]]:
    """Return cosine and sine of 1/2, 1/4, … 1/2²⁴ of a turn."""
    found = [(-1.0, 0.0), (0.0, 1.0)]
    while len(found) < TURN_BITS:
        cosine, sine = found[-1]
        half = math.sqrt((1.0 + cosine) / 2.0)
        found.append((half, sine / (2.0 * half)))
    return found


@functools.cache
def _tables() -> tuple[_Pairs, _Pairs]:
    """Return the products of the first twelve roots and of the last twelve, by the bits that choose them."""
    return _products(roots()[:_HALF_BITS]), _products(roots()[_HALF_BITS:])


def _products(factors: list[tuple[float, float]]) -> _Pairs:
    cosine, sine = np.ones(1), np.zeros(1)
    for c, s in factors:  # the first factor belongs to the most significant bit
        turned = _product(cosine, sine, c, s)
        cosine = np.stack([cosine, turned[0]], axis=1).ravel()
        sine = np.stack([sine, turned[1]], axis=1).ravel()
    cosine.setflags(write=False)
    sine.setflags(write=False)
    return cosine, sine
