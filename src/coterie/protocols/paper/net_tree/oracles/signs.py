"""Public signs of buckets: pairwise independent, and as fast for all siblings as for one.

A report's public stream gives it a uniform mask for each number of a path. The sign of bucket y for report i
is

    Z_(y,i) = s_i·(-1)^⟨mask_i, path(y)⟩       (inner product over GF(2) of all the bits)

with s_i one more public bit. For two buckets y ≠ y' the paths differ in some bit, and the mask's bit there
is a fair coin that nothing else uses: Z_(y,i)·Z_(y',i) is uniform. So every column of Z is pairwise
independent, and columns of different reports are independent: what the paper's Appendix B asks for.

The sign factors along the path. For all descendants, a few levels down, of one prefix

    Σ_i y_i·Z_(prefix·m, i) = Σ_h (-1)^⟨h,m⟩·(Σ_{i: last masks = h} y_i·Z_(prefix, i))

a bincount over the last masks and one Walsh-Hadamard transform, in place of one pass over the reports for
each. As many of a path's last digits are joined into m as fit into `JOINED_BITS` bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.hadamard import fwht
from coterie.protocols.paper.tree.oracle import Parts, Paths

JOINED_BITS: Final = 12  # a transform of 4,096 numbers costs less than a pass over the reports


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
        return np.asarray(1 - 2 * (parity & 1).astype(np.int8))

    def joined(self, family: Family, level: int) -> NDArray[np.int64]:
        """Return the masks of a path's last digits as one number: (n,)."""
        return family.join(self.digits[:, level - family.length(level) : level])

    def of(self, chosen: NDArray[np.int64] | slice) -> PathMasks:
        """Return the masks of some of the reports."""
        return PathMasks(self.root[chosen], self.digits[chosen])


@dataclass(frozen=True, slots=True)
class Family:
    """Which of a path's last digits are answered together: as many as fit JOINED_BITS bits, at least one.

    Examples
    --------
    >>> Family(digit_bits=6).length(level=1), Family(digit_bits=6).length(level=5)
    (1, 2)
    >>> groups = Family(digit_bits=6).groups(np.array([[7, 0], [8, 0], [7, 1]]))
    >>> [(prefix.tolist(), members.tolist(), codes.tolist()) for prefix, members, codes in groups]
    [([7], [0, 2], [0, 1]), ([8], [1], [0])]
    """

    digit_bits: int

    def length(self, level: int) -> int:
        """Return how many digits of a node of this level are joined."""
        return max(1, min(level, JOINED_BITS // self.digit_bits))

    def size(self, level: int) -> int:
        """Return how many numbers the joined digits can be, a power of two."""
        return 1 << (self.digit_bits * self.length(level))

    def join(self, digits: NDArray[np.int64]) -> NDArray[np.int64]:
        """Read several digits as one number, the first the most significant: (m, j) -> (m,)."""
        places = self.digit_bits * np.arange(digits.shape[1] - 1, -1, -1)
        return np.asarray((digits << places).sum(axis=1, dtype=np.int64))

    def groups(self, paths: Paths) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """Group buckets of one level by the prefix before the joined digits.

        Returns
        -------
        list of (prefix (p,), indices of the buckets with it (g,), their joined digits (g,))
        """
        if not len(paths):
            return []
        cut = paths.shape[1] - self.length(paths.shape[1] - 1)
        codes = self.join(paths[:, cut:])
        prefixes, group = np.unique(paths[:, :cut], axis=0, return_inverse=True)
        group = group.reshape(-1)
        order = np.argsort(group, kind="stable")
        ends = np.cumsum(np.bincount(group, minlength=len(prefixes)))[:-1]
        return [
            (prefix, members, codes[members])
            for prefix, members in zip(prefixes, np.split(order, ends), strict=True)
        ]

    def sums(self, masks: PathMasks, level: int, values: NDArray[Any], paths: Paths) -> NDArray[np.float64]:
        """Return Σ_i values_i·(-1)^⟨mask_i, path⟩ of buckets of one level: (n,), (m, level+1) -> (m,)."""
        last, found = masks.joined(self, level), np.empty(len(paths))
        for prefix, members, codes in self.groups(paths):
            table = np.bincount(last, values * masks.prefix_signs(prefix), minlength=self.size(level))
            found[members] = fwht(np.asarray(table, dtype=np.float64))[codes]
        return found


class PartSigns:
    """Signs of reports, summed over the buckets of each of `count` parts of a level."""

    def __init__(self, family: Family, level: int, paths: Paths, parts: Parts, count: int) -> None:
        self._family, self._level, self._count = family, level, count
        self._groups = []
        for prefix, members, codes in family.groups(paths):
            present, place = np.unique(parts[members], return_inverse=True)
            marks = np.zeros((len(present), family.size(level)))
            np.add.at(marks, (place.reshape(-1), codes), 1.0)
            self._groups.append((prefix, present, fwht(marks)))  # Σ_{m in part} (-1)^⟨h,m⟩ for every h

    def of(self, masks: PathMasks) -> NDArray[np.float64]:
        """Return Σ_{y in part} (-1)^⟨mask, path(y)⟩ for the masks of n reports: (count, n)."""
        last, signs = masks.joined(self._family, self._level), np.zeros((self._count, len(masks)))
        for prefix, present, gains in self._groups:
            signs[present] += gains[:, last] * masks.prefix_signs(prefix)
        return signs
