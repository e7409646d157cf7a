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
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE, SCALE_SQUARED
from coterie.plan.checks import checked_choice, checked_fields, checked_integer
from coterie.plan.shares import MAX_GRID_BITS, MAX_MODULUS, NOISES, SCALE_PARTS, ShareParameters
from coterie.plan.tree_shape import check_fits, checked_shape
from coterie.privacy.renyi import Influence

LAYOUT: Final = "tree"  # hash and rows as in docs/theory/net-tree-sums.md; others get another name
MAX_BUCKETS: Final = 1 << 26
MAX_ENTRIES: Final = 1 << 28  # of the table, 2 GB
COUNTING: Final = 1  # coordinates beyond the point's own


@dataclass(frozen=True, slots=True, kw_only=True)
class NetTreeSumParameters(ShareParameters):
    """The parameters of a net-tree-sums plan.

    Attributes
    ----------
    levels, ratio, projected, scale, expansion, rounds, strays
        The tree and its decoder, as in `NetTreeParameters`.
    buckets : int
        Rows of each level's table (s).
    coordinates : int
        D = d + 1, of a row.
    grid_bits : int
        log₂ of the grid steps to a unit.
    count_weight : int
        b·2^20.
    noise : {"everyone", "curator"}
        Who adds noise.
    noise_parts : int
        Scale of that noise, in 64ths of a grid step.
    minimum_batch, group : int
        The fewest people a batch may have; all of them mix with each other.
    modulus, shares : int
        Of split-and-mix; 0 for a curator.
    """

    levels: int  # T
    ratio: int  # q
    projected: int  # d'
    scale: float  # Λ
    expansion: int  # a
    rounds: int  # Γ
    strays: float
    buckets: int  # s
    coordinates: int  # D
    grid_bits: int
    count_weight: int
    noise: str
    noise_parts: int
    minimum_batch: int
    group: int
    modulus: int
    shares: int
    layout: str = LAYOUT

    noise_field: ClassVar[str] = "noise_parts"

    def __post_init__(self) -> None:
        clean = checked_shape(self)
        for name, low, high in (
            ("buckets", 1, MAX_BUCKETS),
            ("coordinates", 1 + COUNTING, 1 << 12),
            ("grid_bits", 1, MAX_GRID_BITS),
            ("count_weight", 1, SCALE - 1),
            ("noise_parts", 1, SCALE_PARTS << 24),
            ("minimum_batch", 1, 1 << 40),
            ("group", 1, 1 << 40),
            ("modulus", 0, MAX_MODULUS),
            ("shares", 0, 1 << 10),
        ):
            clean[name] = checked_integer(name, getattr(self, name), low, high)
        clean["layout"] = checked_choice("layout", self.layout, (LAYOUT,))
        clean["noise"] = checked_choice("noise", self.noise, NOISES)
        for name, value in clean.items():
            object.__setattr__(self, name, value)
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

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the noise that each of those who add it adds, in grid steps."""
        return Fraction(self.noise_parts, SCALE_PARTS)

    @property
    def point_bytes(self) -> int:
        """Bytes of the point that a curator is given."""
        return 8 * (self.coordinates - COUNTING)

    def influence(self) -> Influence:
        """Return what replacing one person can change of the table, in grid steps."""
        grid_squared = self.grid * self.grid
        bodies = -(-4 * (SCALE_SQUARED - self.count_weight**2) * grid_squared // SCALE_SQUARED)
        return Influence(self.levels * max(bodies, 2 * grid_squared), self.rows * self.coordinates)

    def total_noise(self, people: int) -> float:
        """Return the standard deviation of a sum's noise with so many people, in units of a vector."""
        adders = people if self.noise == "everyone" else 1
        return float(self.noise_scale) * math.sqrt(adders) / self.grid

    def oracle_errors(
        self, *, dimension: int, people: int, failure: float, nodes: float
    ) -> tuple[float, float]:
        """Return η and η̃ for nodes that share no bucket: Gaussian tails, and everybody's rounding.

        Sums of discrete Gaussians are sub-Gaussian with their own variance; half of β for each oracle.
        """
        sigma = self.total_noise(people)
        each = failure / 2
        point = math.sqrt(SCALE_SQUARED - self.count_weight**2) / SCALE  # a
        counts = sigma * math.sqrt(2 * math.log(2 * nodes / each)) / (self.count_weight / SCALE)
        tails = math.sqrt(dimension) + math.sqrt(2 * math.log(nodes / each))
        rounded = people * math.sqrt(dimension) / self.grid
        return counts, (sigma * tails + rounded) / point

    def shared_chance(self, *, people: int, nodes: float) -> float:
        """Return at most how likely one of so many nodes shares its bucket with somebody: N·n/s."""
        return min(1.0, nodes * people / self.buckets)

    @property
    def bias(self) -> float:
        """Return 0: what rounding takes is counted as noise."""
        return 0.0

    def check_plan(self, *, dimension: int, epsilon: float) -> None:
        """Raise PlanError unless the parameters fit a plan of this dimension."""
        del epsilon
        if self.coordinates != dimension + COUNTING:
            raise PlanError(f"coordinates must be dimension + 1 = {dimension + 1}, got {self.coordinates}")
        check_fits(self, dimension)
        self.check_local_noise()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; PlanError for anything unknown, missing or out of range."""
        return cls(**checked_fields("parameters", data, [item.name for item in fields(cls)]))
