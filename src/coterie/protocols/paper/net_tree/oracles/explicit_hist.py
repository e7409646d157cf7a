"""ExplicitHist (Bassily, Nissim, Stemmer and Thakurta 2020), one bit a level: the frequency oracle.

A person in bucket x sends y_i = ±Z_(x,i), true with odds A : B (`BinaryResponse`). The reader's

    f̃_v = c·Σ_i y_i·Z_(v,i),   c = (A+B)/(A-B)

is unbiased: a term has mean 1 for those in v, and 0 for the others because Z is pairwise independent. Terms
are independent over people and at most c in size, so

    Var f̃_v = n·c² - f_v        |f̃_v - f_v| ≤ c·√(2n·ln(2/β)) with probability 1-β      (Hoeffding)

In the generalized problem a person is in one bucket of every level and sends a bit for each, at odds of
ε/(2T). The paper pools the nT bits; here a level is read off its own n bits, which is better by √T
(docs/theory/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.protocols.paper.net_tree.oracles.signs import Family, PathMasks
from coterie.protocols.paper.tree.oracle import Paths
from coterie.randomizers.response import BinaryResponse


@dataclass(frozen=True, slots=True, eq=False)
class ExplicitHist:
    """Frequencies of buckets from one bit a level and person.

    Attributes
    ----------
    answers : ndarray of int8, shape (T, n)
        y_i·s_i: each answer times its public sign.
    masks : PathMasks
        Of the n reports.
    response : BinaryResponse
        What every answer went through.
    digit_bits : int
        Bits of a path's numbers after the first.
    """

    answers: NDArray[np.int8]  # (T, n)
    masks: PathMasks
    response: BinaryResponse
    digit_bits: int

    @property
    def reports(self) -> int:
        """Number of people who answered."""
        return len(self.masks)

    def frequencies(self, level: int, paths: Paths) -> NDArray[np.float64]:
        """Return unbiased, unclamped frequencies of buckets of one level: (m, level+1) -> (m,)."""
        family, answers = Family(self.digit_bits), self.answers[level - 1]
        return self.response.scale * family.sums(self.masks, level, answers, paths)  # of exact integers

    def deviation(self, level: int) -> float:
        """Return c·√n, the standard deviation of an empty bucket; the same at every level."""
        return self.response.scale * math.sqrt(self.reports)
