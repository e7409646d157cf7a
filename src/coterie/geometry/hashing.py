"""A public pairwise-independent hash of cell numbers into buckets.

    h(y) = ((a·y + b) mod p) mod s,    p = 2^61 - 1, a in [1, p), b in [0, p) from a public key

For y ≠ y' the pair before the last reduction is uniform over pairs of different residues, so the chance of a
collision is at most 1/s + s/p. That is all that the count sketch and the paper's s = 2n/β buckets need.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

_PRIME: Final = (1 << 61) - 1


@dataclass(frozen=True, slots=True)
class PairwiseHash:
    """A hash into `buckets` buckets.

    Examples
    --------
    >>> PairwiseHash.from_key(bytes(16), buckets=10).of(np.array([0, 1, 2, 1])).tolist()
    [4, 5, 6, 5]
    """

    factor: int  # a
    offset: int  # b
    buckets: int  # s

    @classmethod
    def from_key(cls, key: bytes, buckets: int, label: int = 0) -> Self:
        """Expand a public key; several hashes of one key differ by their label."""
        digest = hashlib.sha256(b"coterie/1/hash/" + label.to_bytes(4, "big") + key).digest()
        factor = 1 + int.from_bytes(digest[:16], "big") % (_PRIME - 1)
        return cls(factor, int.from_bytes(digest[16:], "big") % _PRIME, buckets)

    def of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bucket of each cell: (n,) -> (n,). Cells are hashed once each, in exact integers."""
        distinct, inverse = np.unique(cells, return_inverse=True)
        hashed = [(self.factor * y + self.offset) % _PRIME % self.buckets for y in distinct.tolist()]
        return np.array(hashed, dtype=np.int64)[inverse]
