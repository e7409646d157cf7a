"""Frequencies of any cells from a shuffled, hashed histogram: a count sketch with central error.

Cells may be many more than people (nodes of a net tree, say). Each of r public pairwise-independent hashes
puts them into s buckets; in each a person sends the true bucket and blanket dummies at (ε/r, δ/r). The
estimate of a cell is the median over the hashes of its bucket's estimate. With s = 2n/β a cell shares its
bucket with somebody else with chance at most β/2 a hash.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from coterie.coins import Coins
from coterie.errors import PlanError
from coterie.geometry.hashing import PairwiseHash
from coterie.randomizers.blanket import Blanket


@dataclass(frozen=True, slots=True)
class ShuffledHistogram:
    """A histogram oracle in the shuffle model.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> oracle = ShuffledHistogram.design(1.0, 1e-6, people=1000, key=bytes(16))
    >>> cells = np.full(1000, 123_456_789)
    >>> counts = oracle.count(oracle.encode(cells, SimulationCoins(0)))
    >>> oracle.frequencies(counts, np.array([123_456_789, 5]), 1000).round(-2).tolist()
    [1000.0, 0.0]
    """

    hashes: tuple[PairwiseHash, ...]
    blanket: Blanket

    @classmethod
    def design(
        cls,
        epsilon: float,
        delta: float,
        *,
        people: int,
        key: bytes,
        failure: float = 0.1,
        repeats: int = 1,
        buckets: int | None = None,
    ) -> Self:
        """Choose buckets and dummies.

        Parameters
        ----------
        epsilon, delta : float
            The promise over all hashes together.
        people : int
            n, the fewest people that the promise is made for.
        key : bytes
            Public; the hashes come from it.
        failure : float
            β: chance that an estimate is spoiled by a shared bucket.
        repeats : int
            r, hashes.
        buckets : int, optional
            s; ⌈2n/β⌉ by default.
        """
        if not 0 < failure < 1 or repeats < 1:
            raise PlanError(f"need failure in (0, 1) and repeats >= 1, got {failure!r} and {repeats!r}")
        size = buckets or math.ceil(2 * people / failure)
        blanket = Blanket.for_epsilon(epsilon / repeats, delta / repeats, bins=size, people=people)
        return cls(tuple(PairwiseHash.from_key(key, size, label) for label in range(repeats)), blanket)

    def encode(self, cells: NDArray[np.int64], coins: Coins) -> tuple[NDArray[np.int64], ...]:
        """Return everybody's messages for each hash, unmixed: cells (n,) -> r arrays (k,)."""
        return tuple(self.blanket.encode(each.of(cells), coins) for each in self.hashes)

    def count(self, messages: tuple[NDArray[np.int64], ...]) -> NDArray[np.int64]:
        """Return the table of mixed messages: r arrays (k,) -> (r, s)."""
        return np.stack([np.bincount(each, minlength=self.blanket.bins) for each in messages])

    def frequencies(
        self, counts: NDArray[np.int64], cells: NDArray[np.int64], people: int
    ) -> NDArray[np.float64]:
        """Return the estimated number of people in each cell: (r, s), (m,) -> (m,)."""
        rows = [
            self.blanket.estimate(row, people)[each.of(cells)]
            for row, each in zip(counts, self.hashes, strict=True)
        ]
        return np.asarray(np.median(np.stack(rows), axis=0))
