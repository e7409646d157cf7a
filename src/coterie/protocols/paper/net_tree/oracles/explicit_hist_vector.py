"""ExplicitHistVector: sums of people's vectors by bucket, one bit a level (the paper's Appendix B).

A person in bucket y with vector x randomizes Z_(y,i)·x by Duchi, Jordan and Wainwright's law in its one-bit
form (`coterie.randomizers.sphere`): the public direction u_i and the answer t_i = ±1 are z_i = t_i·B·u_i.

    ṽ_v = Σ_i z_i·Z_(v,i)        E ṽ_v = v_v        E‖ṽ_v - v_v‖² ≤ n·B²
    ‖ṽ_v - v_v‖ ≤ (B+1)·√n·(1 + √(2·ln(1/β))) with probability 1-β

The last by bounded differences: the length of a sum of independent centered vectors of length ≤ B+1 is
√n(B+1) at most on average, and one vector moves it by 2(B+1). (The paper's bound carries a further log d.)
Vectors are lifted by one coordinate before randomizing, which is dropped here.

The sum over a *set* of buckets needs one number a report, Σ_{v in the set} Z_(v,i), and one product with the
directions: as cheap for a thousand buckets as for one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.plain.pieces import pieces
from coterie.protocols.paper.net_tree.oracles.signs import Family, PartSigns, PathMasks
from coterie.protocols.paper.tree.oracle import Parts, Paths

_PIECE: Final = 1 << 15  # reports at a time: 13 MB of directions at d = 100


@dataclass(frozen=True, slots=True, eq=False)
class ExplicitHistVector:
    """Vector sums of buckets from one bit a level and person.

    Attributes
    ----------
    answers : ndarray of int8, shape (T, n)
        t_i·s_i: each answer times its public sign.
    masks : PathMasks
        Of the n reports.
    norm : float
        B, the length of a randomized vector.
    directions : callable
        (piece of the reports, level) -> public normal vectors, (n', D), D = d + 1.
    digit_bits, dimension : int
        Bits of a path's numbers after the first; d.
    """

    answers: NDArray[np.int8]  # (T, n)
    masks: PathMasks
    norm: float  # B
    directions: Callable[[slice, int], NDArray[np.int16] | NDArray[np.float64]]
    digit_bits: int
    dimension: int  # d

    def part_sums(self, level: int, paths: Paths, parts: Parts, count: int) -> NDArray[np.float64]:
        """Return, for each of `count` parts, the sum over its buckets: (m, level+1), (m,) -> (count, d)."""
        signs = PartSigns(Family(self.digit_bits), level, paths, parts, count)
        sums = np.zeros((count, self.dimension))
        for piece in pieces(len(self.masks), _PIECE) if len(paths) else ():
            weights = signs.of(self.masks.of(piece)) * self.answers[level - 1, piece]  # (count, n')
            vectors = self.directions(piece, level).astype(np.float32)  # (n', D)
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
            lengths[lengths == 0] = 1.0  # six words in 2^16 stand for 0: a direction may be 0, and adds 0
            sums += (weights / lengths).astype(np.float32) @ vectors[:, : self.dimension]
        return self.norm * sums

    def vector_deviation(self, level: int = 1) -> float:
        """Return √n·B: the root mean square length of an empty bucket's sum; the same at every level."""
        return self.norm * math.sqrt(len(self.masks))
