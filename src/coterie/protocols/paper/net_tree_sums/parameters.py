"""The parameters of `net-tree-sums`: the paper's shuffle theorem over the net tree (Theorem 2).

A person's point has one potential representative on each of T levels. Each level has a table of s buckets
(Theorem 35); the representative's path is hashed into one of them by a public pairwise-independent hash, and
the vector (a·x, b), a² + b² = 1, on a grid of G steps to a unit, is added to that bucket in shares. The
coordinate b counts: the histogram of Theorem 32 is read off the same sums, and nothing is split between the
two oracles.

*Influence* of replacing a person, in grid steps squared: on a level where both points share a bucket the
counts agree, at most 4a²G²; on another, two vectors of length G at most, 2G². Over all levels T times that.
The paper composes 2T mechanisms of (ε/2T, δ/2T); here one Rényi bound is taken over the whole table, which is
less noise by about √T (docs/theory/net-tree-sums.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.hashing import HASH_PRIME, PairwiseHash
from coterie.geometry.lift import point_weight
from coterie.plain.checks import checked_choice, checked_integer
from coterie.privacy.renyi import Influence
from coterie.protocols.paper.tree.parameters import LeafNoise, OracleErrors, TreeParameters
from coterie.protocols.shares.parameters import ShareParameters

LAYOUT: Final = "tree"  # hash and rows as in docs/theory/net-tree-sums.md; others get another name
MAX_BUCKETS: Final = 1 << 26
MAX_ENTRIES: Final = 1 << 28  # of the table, 2 GB


@dataclass(frozen=True, slots=True, kw_only=True)
class NetTreeSumParameters(TreeParameters, ShareParameters):
    """The parameters of a net-tree-sums plan: those of `ShareParameters`, with D = d + 1, and the tree.

    Everybody in a batch mixes with everybody else.

    Attributes
    ----------
    levels, ratio, projected, scale
        The tree, as in `NetTreeParameters`.
    buckets : int
        Rows of each level's table (s).
    """

    buckets: int  # s
    layout: str = LAYOUT

    extra_coordinates: ClassVar[int] = 1  # the count

    def __post_init__(self) -> None:
        self._clean_shape()
        self._clean(checked_integer, buckets=(1, MAX_BUCKETS), count_weight=(1, SCALE - 1))
        self._clean(checked_choice, layout=((LAYOUT,),))
        self._clean_sums()
        if self.rows * self.coordinates > MAX_ENTRIES:
            raise PlanError(
                f"a table of {self.levels} levels, {self.buckets} buckets and {self.coordinates} coordinates "
                f"has more than {MAX_ENTRIES} entries: take fewer buckets or levels"
            )
        self.check_shares()

    @property
    def rows(self) -> int:
        """Rows of the table: s for each level."""
        return self.levels * self.buckets

    @property
    def rows_filled(self) -> int:
        """Rows that one person's vector is added to: one a level."""
        return self.levels

    def hashes(self, key: bytes) -> list[PairwiseHash]:
        """Return what puts paths into buckets, level by level from the first, by a 16-byte key."""
        return [PairwiseHash.for_paths(key, self.buckets, level) for level in range(1, self.levels + 1)]

    def influence(self) -> Influence:
        """Return what replacing one person can change of the table, in grid steps."""
        return Influence(self.levels * self.cells_moved(), self.rows * self.coordinates)

    def total_noise(self, people: int) -> float:
        """Return the standard deviation of a sum's noise with so many people, in units of a vector."""
        adders = people if self.noise == "everyone" else 1
        return float(self.noise_scale) * math.sqrt(adders) / self.grid

    def oracle_errors(self, *, dimension: int, people: int, failure: float, nodes: float) -> OracleErrors:
        """Return η and η̃ for nodes that share no bucket: Gaussian tails, and everybody's rounding.

        Sums of discrete Gaussians are sub-Gaussian with their own variance; half of β for each oracle.
        """
        noise, each = self.leaf_noise(dimension=dimension, people=people), failure / 2
        counts = math.sqrt(2 * noise.count * math.log(2 * nodes / each))
        tails = 1 + math.sqrt(2 * math.log(nodes / each) / dimension)
        return counts, math.sqrt(noise.vector) * tails + noise.rounded

    def leaf_noise(self, *, dimension: int, people: int) -> LeafNoise:
        """Return σ²/b² and d·σ²/a², and everybody's rounding."""
        sigma = self.total_noise(people)
        point = point_weight(self.count_weight)  # a
        rounded = people * math.sqrt(dimension) / self.grid / point
        counted = sigma * SCALE / self.count_weight
        return LeafNoise(counted**2, dimension * (sigma / point) ** 2, 0.0, 0.0, rounded)

    def shared_chance(self, *, occupied: float, nodes: float) -> float:
        """Return at most how likely one of N nodes shares its bucket with one of M occupied ones: N·M/s."""
        return min(1.0, nodes * occupied * (1 / self.buckets + self.buckets / HASH_PRIME))

    def check_fit(self, dimension: int) -> None:
        """Raise PlanError unless rows, noise and nets fit a plan of this dimension."""
        ShareParameters.check_fit(self, dimension)
        TreeParameters.check_fit(self, dimension)
