"""The numbers of the `shuffle` protocol: private vector sums by cell, from mixed shares or from a curator.

Everybody's lifted vector (`coterie.geometry.lift`), on a grid of G = 2^grid_bits steps to a unit, is added
to a table with one row a cell ("cells"), one row a hashed cell ("hashed", the paper's s = 2n/β buckets), or
one row a public row of a view ("column": each person serves one, with the sign that it gives their point;
only this layout takes halfspaces, which have no cells).

*Influence* of replacing a person, in grid steps squared. In one cell the counting coordinates agree and what
is left of both vectors has length at most a·G, with non-negative last coordinates: at most 4a²G². In two
cells: at most 2G². In a column the sign may flip everything: 4G².

*Noise.* Discrete Gaussian on every entry: of scale s from each person ("everyone", enough with the people of
the smallest batch or, by column, of the smallest group), or all of it from the curator of the central model
("curator", where no shares are needed). The paper's one trusted noiser is not offered: nobody would notice if
that person dropped out, and without the noise the sums are exact.

*Promise.* δ ≥ the Rényi bound at ε, plus (1+e^ε)·2^-σ for each sum that a person touches in shares:
`coterie.privacy.renyi`, `coterie.randomizers.split_and_mix`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple, Self

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE, SCALE_SQUARED
from coterie.plan.amplified import SHUFFLE_CONDITIONS
from coterie.plan.checks import checked_choice, checked_fields, checked_integer
from coterie.plan.codeword import EXTRA_COORDINATES, ID_BYTES
from coterie.plan.views import MAX_ROWS, Halfspaces, View, check_dimension, checked_views, views_from_list
from coterie.privacy import Guarantee
from coterie.privacy.guarantee import CONDITIONS
from coterie.privacy.renyi import (
    Curve,
    Influence,
    distributed_curve,
    gaussian_curve,
    renyi_delta,
    renyi_epsilon,
)
from coterie.randomizers.split_and_mix import SplitAndMix, security_of
from coterie.randomizers.vector_sums import ADDRESS_BYTES, VectorSums

LAYOUTS: Final = ("cells", "hashed", "column")
NOISES: Final = ("everyone", "curator")
SCALE_PARTS: Final = 64  # the noise's scale is in 64ths of a grid step
MAX_GRID_BITS: Final = 20
MAX_MODULUS: Final = 1 << 46  # a table's integers stay below it
GROUP_SLACK: Final = 4.5  # deviations by which a row may have fewer people than the mean
SMALLEST_LOCAL_SCALE: Final = 2  # grid steps; below it sums of discrete Gaussians are no discrete Gaussians

_CURATOR_CONDITIONS: Final = (
    "The curator sees the points, adds the noise once, releases the noisy table only, and keeps the points "
    "safe.",
)
_NOISE_CONDITION: Final = "As many people as the smallest batch has add their noise honestly."


def likely_group(people: int, rows: int) -> int:
    """Return a number of people below which a random one of the rows almost never falls, at least 1.

    4.5 deviations: of 64 rows one falls below it in one batch of 5,000.

    Examples
    --------
    >>> likely_group(100_000, 64)
    1384
    """
    mean = people / rows
    return max(1, math.floor(mean - GROUP_SLACK * math.sqrt(mean)))


class Cost(NamedTuple):
    """What one person sends."""

    messages: int
    bytes: int  # as messages, addresses included


@dataclass(frozen=True, slots=True)
class VectorSumNumbers:
    """The numbers of a `shuffle` plan.

    Attributes
    ----------
    layout : {"cells", "hashed", "column"}
        What a row of the table is.
    coordinates : int
        D = d + 2, of a row.
    views : tuple of CrossPolytope, Net or Halfspaces
        One, with cells; for "column" any.
    buckets : int
        Rows of the table where they are hashed, else 0.
    grid_bits : int
        log₂ of the grid steps to a unit.
    count_weight : int
        Share of the lifted vector that counts people, times 2^20.
    noise : {"everyone", "curator"}
        Who adds noise.
    scale : int
        Scale of that noise, in 64ths of a grid step.
    minimum_batch, group : int
        The fewest people a batch may have, and the fewest in the mixing group of a row.
    modulus, shares : int
        Of split-and-mix; 0 for a curator.
    """

    layout: str
    coordinates: int  # D
    views: tuple[View, ...]
    buckets: int
    grid_bits: int
    count_weight: int
    noise: str
    scale: int
    minimum_batch: int
    group: int
    modulus: int
    shares: int

    models: ClassVar[frozenset[str]] = frozenset({"shuffle", "central"})

    def __post_init__(self) -> None:
        checked_choice("layout", self.layout, LAYOUTS)
        checked_choice("noise", self.noise, NOISES)
        for name, low, high in (
            ("coordinates", 1 + EXTRA_COORDINATES, 1 << 12),
            ("buckets", 0, MAX_ROWS),
            ("grid_bits", 1, MAX_GRID_BITS),
            ("count_weight", 0, SCALE),
            ("scale", 1, SCALE_PARTS << 24),
            ("minimum_batch", 1, 1 << 40),
            ("group", 1, 1 << 40),
            ("modulus", 0, MAX_MODULUS),
            ("shares", 0, 1 << 10),
        ):
            object.__setattr__(self, name, checked_integer(name, getattr(self, name), low, high))
        object.__setattr__(self, "views", checked_views(self.views))
        if self.layout != "column" and len(self.views) != 1:
            raise PlanError(f"layout {self.layout} takes one view, got {len(self.views)}")
        if self.layout != "column" and isinstance(self.views[0], Halfspaces):
            raise PlanError(f"layout {self.layout} sums cells, and halfspaces have none; column takes them")
        if (self.layout == "hashed") != (self.buckets > 0):
            raise PlanError("buckets must be positive for layout hashed and 0 otherwise")
        if self.noise == "curator":
            if self.modulus or self.shares or self.layout == "column":
                raise PlanError("a curator sums whole cells without shares: modulus and shares must be 0")
        else:
            _ = SplitAndMix(self.modulus, self.shares)
        if self.group > self.minimum_batch:
            raise PlanError(f"group {self.group} must not exceed minimum_batch {self.minimum_batch}")

    # ------------------------------------------------------------ what follows from them

    @property
    def grid(self) -> int:
        """G, grid steps to a unit."""
        return 1 << self.grid_bits

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.buckets or sum(view.rows for view in self.views)

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the noise that each of those who add it adds, in grid steps."""
        return Fraction(self.scale, SCALE_PARTS)

    def sums(self) -> VectorSums:
        """Return what each person does in the shuffle model: everyone adds noise."""
        return VectorSums(
            self.rows, self.coordinates, self.noise_scale, SplitAndMix(self.modulus, self.shares)
        )

    @property
    def rows_served(self) -> int:
        """How many rows one person sends shares of."""
        return 1 if self.layout == "column" else self.rows

    @property
    def cost(self) -> Cost:
        """What one person sends: messages and bytes; in the central model the point itself."""
        if self.noise == "curator":
            return Cost(1, 8 * (self.coordinates - EXTRA_COORDINATES))
        messages = self.rows_served * self.coordinates * self.shares
        return Cost(messages, messages * self.message_width)

    @property
    def message_width(self) -> int:
        """Bytes of one shuffled message: address and share."""
        return ADDRESS_BYTES + -(-max(self.modulus - 1, 1).bit_length() // 8)

    @property
    def report_width(self) -> int:
        """Bytes of one unshuffled report: id, then shares in the order of their addresses."""
        return ID_BYTES + self.cost.messages * (self.message_width - ADDRESS_BYTES)

    # ------------------------------------------------------------ the promise

    def influence(self) -> Influence:
        """Return what replacing one person can change of the table, in grid steps."""
        grid_squared = self.grid * self.grid
        if self.layout == "column":
            return Influence(4 * grid_squared, self.coordinates)
        bodies = -(-4 * (SCALE_SQUARED - self.count_weight**2) * grid_squared // SCALE_SQUARED)
        return Influence(max(bodies, 2 * grid_squared), self.rows * self.coordinates)

    def curve(self, people: int | None = None) -> Curve:
        """Return the Rényi curve of the noise, with so many people adding theirs."""
        influence = self.influence()
        if self.noise == "curator":
            return gaussian_curve(influence, self.noise_scale)
        adders = self.minimum_batch if people is None else people
        if self.layout == "column":
            adders = self.group_of(people)
        return distributed_curve(influence, self.noise_scale, adders)

    def group_of(self, people: int | None = None) -> int:
        """Return how many people can be counted on in a row, in a batch of so many.

        From the smallest batch on a shuffler sees to it that `group` are there, and to no more. In a smaller
        one (never released) a row is random: 4.5 deviations below the mean.
        """
        if people is None or people >= self.minimum_batch:
            return self.group
        return min(self.group, people if self.layout != "column" else likely_group(people, self.rows))

    def mixing_delta(self, epsilon: float, people: int | None = None) -> float:
        """Return the part of δ that the shares cost: (1+e^ε)·2^-σ a sum that a person touches."""
        if self.noise == "curator":
            return 0.0
        touched = self.coordinates * (1 if self.layout == "column" else 2)
        bits = security_of(self.shares, self.modulus, max(1, self.group_of(people)))
        return float(touched * (1 + math.exp(epsilon)) * 2.0**-bits * (1 + 1e-9))

    def check_plan(self, *, dimension: int, epsilon: float) -> None:
        """Raise PlanError unless the numbers fit a plan of this dimension."""
        del epsilon
        if self.coordinates != dimension + EXTRA_COORDINATES:
            raise PlanError(f"coordinates must be dimension + 2 = {dimension + 2}, got {self.coordinates}")
        check_dimension(self.views, dimension)
        if self.noise == "everyone" and self.noise_scale < SMALLEST_LOCAL_SCALE:
            raise PlanError(
                f"each person's noise must have a scale of at least {SMALLEST_LOCAL_SCALE} grid steps, got "
                f"{float(self.noise_scale):g}; take a finer grid"
            )

    def check_odds(self, epsilon: float) -> None:
        """Do nothing: there are no odds here; a plan cannot be built without `check_promise`."""

    def check_promise(self, *, model: str, epsilon: float, delta: float) -> None:
        """Raise PlanError unless the smallest batch allowed is (ε, δ)-private."""
        if (model == "central") != (self.noise == "curator"):
            raise PlanError(f"noise {self.noise} does not belong to the {model} model")
        spent = renyi_delta(self.curve(), epsilon) + self.mixing_delta(epsilon)
        if spent > delta:
            raise PlanError(
                f"the noise and the shares give ({epsilon:g}, {spent:.3g}) instead of "
                f"({epsilon:g}, {delta:g}): the plan would not keep its promise; do not answer it"
            )

    def spent_epsilon(self) -> float:
        """Return infinity: what a report without mixing promises."""
        return math.inf

    def guarantee(self, *, model: str, epsilon: float, delta: float, people: int | None = None) -> Guarantee:
        """Return the promise: the plan's, or what it comes to for a batch of so many people."""
        spent = self._spent(epsilon, delta, people)
        shuffled = (*SHUFFLE_CONDITIONS, _NOISE_CONDITION) if model == "shuffle" else ()
        return Guarantee(
            epsilon=epsilon if people is None else spent,
            delta=delta,
            spent=min(spent, epsilon) if people is None else spent,
            model=model,
            conditions=(*CONDITIONS[1:3], *(shuffled or _CURATOR_CONDITIONS)),
            local_epsilon=math.inf,
            people=people or self.minimum_batch,
        )

    def _spent(self, epsilon: float, delta: float, people: int | None) -> float:
        curve = self.curve(people)
        mixing = self.mixing_delta(epsilon, people)
        while True:  # the shares' part of δ grows with ε: find an ε that pays for both
            if mixing >= delta:
                raise PlanError(f"{people} people are too few to mix shares: no promise can be made")
            spent = renyi_epsilon(curve, delta - mixing)
            if spent <= epsilon or mixing == 0:
                return spent
            again = self.mixing_delta(spent, people)
            if again <= mixing:
                return spent
            epsilon, mixing = spent, again

    # ------------------------------------------------------------ JSON

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**plain, "views": [view.to_dict() for view in self.views]}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; PlanError for anything unknown, missing or out of range."""
        known = checked_fields("numbers", data, (field.name for field in fields(cls)))
        return cls(**{**known, "views": views_from_list(known["views"])})
