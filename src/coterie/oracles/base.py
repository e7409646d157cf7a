"""What the tree and the decoder ask of an oracle.

A bucket is a node of the complete net tree, named by its path: i+1 numbers for a node of level i, siblings
alike but for the last (`coterie.geometry.nets`). Every question is about many buckets of one level.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class FrequencyOracle(Protocol):
    """Approximate frequencies of a generalized histogram (f̃)."""

    @property
    def reports(self) -> int:
        """Number of people who answered."""
        ...

    def frequencies(self, level: int, paths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return unbiased, unclamped frequencies of buckets of one level: (m, level+1) -> (m,)."""
        ...

    def deviation(self, level: int) -> float:
        """Return the standard deviation of an empty bucket's frequency."""
        ...


class VectorSumOracle(Protocol):
    """Approximate sums of people's vectors, bucket by bucket (ṽ)."""

    def part_sums(
        self, level: int, paths: NDArray[np.int64], parts: NDArray[np.int64], count: int
    ) -> NDArray[np.float64]:
        """Return, for each of `count` parts, the sum over its buckets: (m, level+1), (m,) -> (count, d)."""
        ...
