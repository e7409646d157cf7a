"""Public pairwise-independent hashes into buckets: of cell numbers, and of paths in a net tree.

    h(y) = ((a·y + b) mod p) mod s,    p = 2^61 - 1, a in [1, p), b in [0, p) from a public key
    h(y) = ((Σ_j a_j·y_j + b) mod p) mod s        for a path, cut into numbers y_j below 2^16

For y ≠ y' the pair before the last reduction is uniform over pairs of different residues, so the chance of a
collision is at most 1/s + s/p. That is all that the count sketch and the paper's s = 2n/β buckets need.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

HASH_PRIME: Final = (1 << 61) - 1
_LIMB: Final = 16  # bits of a number that a path is cut into
_ROOT_LIMBS: Final = 4  # of a path's first number, which has at most 60 bits


@dataclass(frozen=True, slots=True)
class PairwiseHash:
    """A hash of cells, or of the paths of one level of a net tree, into `buckets` buckets.

    Two different paths differ in some y_j, and then the pair of sums before the last reduction is uniform:
    they share a bucket with chance 1/s, up to s/p.

    Examples
    --------
    >>> PairwiseHash.from_key(bytes(16), buckets=10).of(np.array([0, 1, 2, 1])).tolist()
    [4, 5, 6, 5]
    >>> paths = np.array([[7, 0], [7, 1], [7, 0]])
    >>> PairwiseHash.for_paths(bytes(16), buckets=1000, level=1).of_paths(paths).tolist()
    [805, 235, 805]
    """

    factors: tuple[int, ...]  # a
    offset: int  # b
    buckets: int  # s

    @classmethod
    def from_key(cls, key: bytes, buckets: int, label: int = 0) -> Self:
        """Expand a public key for a hash of cells; several hashes of one key differ by their label."""
        digest = hashlib.sha256(b"coterie/1/hash/" + label.to_bytes(4, "big") + key).digest()
        factor = 1 + int.from_bytes(digest[:16], "big") % (HASH_PRIME - 1)
        return cls((factor,), int.from_bytes(digest[16:], "big") % HASH_PRIME, buckets)

    @classmethod
    def for_paths(cls, key: bytes, buckets: int, level: int) -> Self:
        """Expand a public key for the paths of one level, which have level + 1 numbers."""
        count = _ROOT_LIMBS + level + 1
        stream = hashlib.shake_256(b"coterie/1/path-hash/" + level.to_bytes(4, "big") + key)
        data = stream.digest(16 * count)
        words = [int.from_bytes(data[16 * j : 16 * j + 16], "big") % HASH_PRIME for j in range(count)]
        return cls(tuple(words[:-1]), words[-1], buckets)

    def of_paths(self, paths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bucket of each path: (n, level+1) -> (n,)."""
        root = paths[:, :1] >> (_LIMB * np.arange(_ROOT_LIMBS)) & ((1 << _LIMB) - 1)
        return self.of(*root.T, *paths[:, 1:].T)

    def of(self, *limbs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bucket of cells, or of each y_1, y_2, … below 2^31: (n,) each -> (n,), exactly."""
        total = np.full(len(limbs[0]), self.offset, dtype=np.uint64)
        for factor, limb in zip(self.factors, limbs, strict=True):
            total = _reduced(total + _product(factor, limb.astype(np.uint64)))
        return (total % np.uint64(self.buckets)).astype(np.int64)


def _product(factor: int, limb: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return factor·limb mod p for a factor below 2^61 and limbs below 2^31; nothing overflows: (n,)."""
    low = np.uint64(factor & ((1 << 31) - 1)) * limb  # below 2^62
    high = np.uint64(factor >> 31) * limb  # below 2^61, counts 2^31 each
    # high·2^31 = (high >> 30)·2^61 + (high mod 2^30)·2^31, and 2^61 = 1 modulo p
    carried = (high >> np.uint64(30)) + ((high & np.uint64((1 << 30) - 1)) << np.uint64(31))
    return _reduced(low + carried)


def _reduced(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers below 2^63 modulo p = 2^61 - 1."""
    prime = np.uint64(HASH_PRIME)
    folded = (numbers & prime) + (numbers >> np.uint64(61))
    return np.where(folded >= prime, folded - prime, folded)
