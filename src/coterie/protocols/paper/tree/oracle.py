"""What the tree and the decoder ask of an oracle.

A bucket is a node of the complete net tree, named by its path: i+1 numbers for a node of level i, siblings
alike but for the last (`paper.nets.nets`). Every question is about many buckets of one level.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coterie.protocols.codeword.oracles.second_moment import SecondMoment

Paths = NDArray[np.int64]  # (m, level+1): buckets of one level
Parts = NDArray[np.int64]  # (m,): the part of each


class FrequencyOracle(Protocol):
    """Approximate frequencies of a generalized histogram (f̃)."""

    @property
    def reports(self) -> int:
        """Number of people who answered."""

    def frequencies(self, level: int, paths: Paths) -> NDArray[np.float64]:
        """Return unbiased, unclamped frequencies of buckets of one level: (m, level+1) -> (m,)."""

    def deviation(self, level: int) -> float:
        """Return the standard deviation of an empty bucket's frequency."""


@runtime_checkable
class LiftedSumOracle(Protocol):
    """Sums of lifted vectors, of length 1 each: their length counts people, too."""

    lifted_deviation: float  # standard deviation of a coordinate of an empty bucket's lifted sum
    moment: SecondMoment  # E[w·wᵀ] of everybody's lifted vectors, with its noise
    counting: int  # which coordinate of a lifted sum counts people

    def lifted_part_sums(self, level: int, paths: Paths, parts: Parts, count: int) -> NDArray[np.float64]:
        """Return, for each of `count` parts, the sum over its buckets: (m, level+1), (m,) -> (count, D)."""

    def lifted_mean(self, sums: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points that lifted sums of these lengths speak of: (k, D), (k,) -> (k, d)."""

    def lifted_counts(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many people lifted sums count: (k, D) -> (k,)."""


@runtime_checkable
class SharedRowOracle(Protocol):
    """An oracle whose buckets may have one row together, and that knows which do."""

    def readers(self, level: int, paths: Paths) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which leaves of a level read their rows, and whose people may be counted elsewhere."""


class VectorSumOracle(Protocol):
    """Approximate sums of people's vectors, bucket by bucket (ṽ), with their noise."""

    def part_sums(self, level: int, paths: Paths, parts: Parts, count: int) -> NDArray[np.float64]:
        """Return, for each of `count` parts, the sum over its buckets: (m, level+1), (m,) -> (count, d)."""

    def vector_deviation(self, level: int) -> float:
        """Return the root mean square length of an empty node's sum."""


TreeOracles = tuple[FrequencyOracle, VectorSumOracle]  # f̃ and ṽ
