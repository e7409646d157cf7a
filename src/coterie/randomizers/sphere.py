"""Duchi, Jordan and Wainwright's randomizer for unit vectors, in one bit.

Their law: draw z uniform on the half sphere around x with probability e^ε/(e^ε+1), else on the other half,
of radius B. The same law, exactly: take a direction u uniform on the sphere *from public randomness*, send
the bit sgn⟨u,x⟩ through `BinaryResponse`, and let the reader form z = ±B·u. One bit is private as one bit
is, in integers; as a vector of floats the law could only be approximated.

    E[sgn⟨u,x⟩·u] = x·E|⟨u,x⟩|,   E|⟨u,x⟩| = Γ(D/2) / (√π·Γ((D+1)/2))
    hence E[z] = x for B = c·√π·Γ((D+1)/2)/Γ(D/2),  c = (e^ε+1)/(e^ε-1);   ‖z‖ = B always;   E‖z-x‖² = B² - 1

(The paper's footnote prints another constant, which is Θ(1): docs/theory/errata.md.) A vector shorter than 1
is lifted to (x, √(1-‖x‖²)) first, at no cost in variance.

Directions are normal vectors of integers: word w of 16 public bits becomes round(4096·Φ⁻¹((w+½)/2^16)). The
sum of products with a quantized point stays below 2^53, so every language finds the same sign.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE_SQUARED
from coterie.geometry.halfspaces import mean_coordinate

NORMAL_SCALE: Final = 1 << 12  # a standard deviation of a direction's coordinates, in integer steps


def djw_norm(dimension: int, scale: float) -> float:
    """Return B, the length of every answer; `scale` is c of the one bit.

    Examples
    --------
    >>> round(djw_norm(3, scale=2.0), 6)
    4.0
    """
    return scale / mean_coordinate(dimension)


@cache
def normal_table() -> NDArray[np.int16]:
    """Return the integer normal deviate of every 16-bit word: (65536,)."""
    normal = NormalDist(sigma=NORMAL_SCALE)
    upper = np.rint([normal.inv_cdf((w + 0.5) / (1 << 16)) for w in range(1 << 15, 1 << 16)]).astype(np.int16)
    table = np.concatenate([-upper[::-1], upper])  # odd by construction
    table.flags.writeable = False
    return table


def directions_of(public: NDArray[np.uint8], dimension: int) -> NDArray[np.int16]:
    """Return normal vectors from public bytes, big-endian 16-bit words: (..., at least 2D) -> (..., D)."""
    return np.take(normal_table(), np.ascontiguousarray(public).view(">u2")[..., :dimension])


def lifted(quantized: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (q, ⌊√(2^40 - Σq²)⌋): integer points of the ball as points of the sphere, (n, d) -> (n, d+1)."""
    filler = np.floor(np.sqrt(SCALE_SQUARED - np.einsum("ij,ij->i", quantized, quantized)))
    return np.concatenate([quantized, filler[:, None]], axis=1)
