"""Public signs of buckets: pairwise independent, and as fast for all siblings as for one.

A report's public stream gives it a uniform mask for each number of a path. The sign of bucket y for report i
is

    Z_(y,i) = s_i·(-1)^⟨mask_i, path(y)⟩       (inner product over GF(2) of all the bits)

with s_i one more public bit. For two buckets y ≠ y' the paths differ in some bit, and the mask's bit there
is a fair coin that nothing else uses: Z_(y,i)·Z_(y',i) is uniform. So every column of Z is pairwise
independent, and columns of different reports are independent: what the paper's Appendix B asks for.

The sign factors along the path. For all q^d siblings under one prefix

    Σ_i y_i·Z_(prefix·m, i) = Σ_h (-1)^⟨h,m⟩·(Σ_{i: last mask = h} y_i·Z_(prefix, i))

a bincount over the last mask and one Walsh-Hadamard transform, in place of q^d passes over the reports.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class PathMasks:
    """The masks of n reports.

    Examples
    --------
    >>> masks = PathMasks(np.array([0b11]), np.array([[0b10]]))
    >>> masks.prefix_signs(np.array([0b01])).tolist()  # one common bit: an odd number
    [-1]
    """

    root: NDArray[np.int64]  # (n,)
    digits: NDArray[np.int64]  # (n, T)

    def __len__(self) -> int:
        return len(self.root)

    def prefix_signs(self, prefix: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return (-1)^⟨mask, prefix⟩ of each report, for the first numbers of a path: (i,) -> (n,)."""
        bits = self.root & prefix[0]
        parity = np.bitwise_count(bits)  # of |x|; all numbers here are non-negative
        for place, number in enumerate(prefix[1:]):
            parity = parity ^ np.bitwise_count(self.digits[:, place] & number)
        signs: NDArray[np.int8] = 1 - 2 * (parity & 1).astype(np.int8)
        return signs

    def slice(self, piece: slice) -> PathMasks:
        """Return the masks of some of the reports."""
        return PathMasks(self.root[piece], self.digits[piece])


def sibling_groups(
    paths: NDArray[np.int64],
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Group buckets by parent: (m, i+1) -> [(prefix (i,), indices of the buckets with it), …].

    Examples
    --------
    >>> [(p.tolist(), g.tolist()) for p, g in sibling_groups(np.array([[7, 0], [8, 0], [7, 1]]))]
    [([7], [0, 2]), ([8], [1])]
    """
    if not len(paths):
        return []
    prefixes, group = np.unique(paths[:, :-1], axis=0, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    cuts = np.cumsum(np.bincount(group, minlength=len(prefixes)))[:-1]
    return list(zip(prefixes, np.split(order, cuts), strict=True))
