"""Ids that hide a linear rule: bits that hang together, and generators that anybody can continue.

Over the field of two elements, random ids are linearly as rich as they can be. A client that writes a bit of
the point into *some* sum of bits of its ids keeps all ids of one point on a plane, whichever bits those are;
and a shift register, a Mersenne twister or the low bits of a congruence obey a recursion far shorter than
half of what they gave (Berlekamp and Massey).

    Pr[rank of r random ids of b bits < b] ≤ 2^(b-r)          Pr[complexity of n random bits ≤ L] ≤ 2^(2L-n)
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def log_rank(ids: NDArray[np.uint8]) -> float:
    """Return the logarithm of a bound for ids, (r, bytes), that lie on a plane; 0 where they do not.

    Examples
    --------
    >>> random = np.random.default_rng(0).integers(0, 256, (400, 12), dtype=np.uint8)
    >>> log_rank(random)
    0.0
    >>> random[:, 3] = random[:, 5] ^ random[:, 7]
    >>> log_rank(random) < -200
    True
    """
    bits = 8 * ids.shape[1]
    turned = [int.from_bytes(row.tobytes(), "big") for row in ids[1:] ^ ids[:1]]
    rank = len(_basis(turned))
    return min(0.0, (bits - len(turned)) * math.log(2)) if rank < bits else 0.0


def log_complexity(bits: NDArray[np.uint8]) -> float:
    """Return the logarithm of a bound for bits that a short recursion gives.

    Examples
    --------
    >>> log_complexity(np.tile(np.array([0, 1, 1], dtype=np.uint8), 100)) < -200
    True
    """
    length = linear_complexity(bits)
    return min(0.0, (2 * length - len(bits)) * math.log(2))


def linear_complexity(bits: NDArray[np.uint8]) -> int:
    """Return the length of the shortest linear recursion that gives the bits (Berlekamp and Massey).

    Examples
    --------
    >>> linear_complexity(np.array([0, 0, 1, 0, 0, 1, 0, 0, 1], dtype=np.uint8))
    3
    """
    # Polynomials as integers; the past, latest bit lowest, so that a discrepancy is the parity of an AND.
    now, before, length, since, past = 1, 1, 0, 1, 0
    for place, bit in enumerate(bits.tolist()):
        past = past << 1 | bit
        if (now & past).bit_count() & 1:
            if 2 * length <= place:
                now, before, length, since = now ^ before << since, now, place + 1 - length, 1
                continue
            now ^= before << since
        since += 1
    return length


def _basis(vectors: Iterable[int]) -> dict[int, int]:
    """Return vectors that span the same space, by their highest bit."""
    basis: dict[int, int] = {}
    for each in vectors:
        vector = each
        while vector:
            high = vector.bit_length()
            if high not in basis:
                basis[high] = vector
                break
            vector ^= basis[high]
    return basis
