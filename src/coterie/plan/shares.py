"""What all plans of vector sums in shares have in common: the mechanism, the cost, the promise.

A table of rows × D sums; a person's vectors, on a grid of G = 2^grid_bits steps to a unit, are added to some
of its rows, with noise on every entry, in shares that are mixed (`coterie.randomizers.split_and_mix`), or by
a curator. A protocol says which rows there are, which of them a person serves, and how far replacing a person
can move the table (`influence`); noise, shares and (ε, δ) follow from that.

*Noise.* Discrete Gaussian on every entry: of scale s from each person ("everyone", enough with the people of
the smallest batch or, by column, of the smallest group), or all of it from the curator of the central model
("curator", where no shares are needed). The paper's one trusted noiser is not offered: nobody would notice if
that person dropped out, and without the noise the sums are exact.

*Promise.* δ ≥ the Rényi bound at ε, plus (1+e^ε)·2^-σ for each sum that a person touches in shares:
`coterie.privacy.renyi`, `coterie.randomizers.split_and_mix`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar, Final, NamedTuple

from coterie.errors import PlanError
from coterie.plan.amplified import SHUFFLE_CONDITIONS
from coterie.plan.codeword import ID_BYTES
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

NOISES: Final = ("everyone", "curator")
SCALE_PARTS: Final = 64  # the noise's scale is in 64ths of a grid step
MAX_GRID_BITS: Final = 20
MAX_MODULUS: Final = 1 << 46  # a table's integers stay below it
SMALLEST_LOCAL_SCALE: Final = 2  # grid steps; below it sums of discrete Gaussians are no discrete Gaussians

_CURATOR_CONDITIONS: Final = (
    "The curator sees the points, adds the noise once, releases the noisy table only, and keeps the points "
    "safe.",
)
_NOISE_CONDITION: Final = "As many people as the smallest batch has add their noise honestly."


class Cost(NamedTuple):
    """What one person sends."""

    messages: int
    bytes: int  # as messages, addresses included


class ShareParameters:
    """Parameters of a plan whose table is vector sums. Frozen dataclasses inherit from it."""

    __slots__ = ()

    layout: str  # what a row is; another meaning gets another name
    coordinates: int  # D, of a row
    count_weight: int  # b·2^20, the coordinate that counts people
    grid_bits: int
    noise: str
    minimum_batch: int
    group: int  # fewest people in the mixing group of a row
    modulus: int  # 0 for a curator, as is `shares`
    shares: int

    models: ClassVar[frozenset[str]] = frozenset({"shuffle", "central"})
    noise_field: ClassVar[str] = "scale"  # which field holds the noise's scale, in 64ths of a grid step

    # ------------------------------------------------------------ what a protocol says

    @property
    @abstractmethod
    def rows(self) -> int:
        """Rows of the table."""

    @property
    @abstractmethod
    def rows_filled(self) -> int:
        """Rows that one person's vectors are added to."""

    @property
    @abstractmethod
    def noise_scale(self) -> Fraction:
        """Scale of the noise that each of those who add it adds, in grid steps."""

    @property
    @abstractmethod
    def point_bytes(self) -> int:
        """Bytes of the point that a curator is given."""

    @abstractmethod
    def influence(self) -> Influence:
        """Return what replacing one person can change of the table, in grid steps."""

    @property
    def by_column(self) -> bool:
        """Whether a person serves the one row that their id names, instead of all rows."""
        return False

    # ------------------------------------------------------------ what follows

    @property
    def grid(self) -> int:
        """G, grid steps to a unit."""
        return 1 << self.grid_bits

    def sums(self) -> VectorSums:
        """Return what each person does in the shuffle model: everyone adds noise."""
        return VectorSums(
            self.rows, self.coordinates, self.noise_scale, SplitAndMix(self.modulus, self.shares)
        )

    @property
    def rows_served(self) -> int:
        """How many rows one person sends shares of."""
        return 1 if self.by_column else self.rows

    @property
    def cost(self) -> Cost:
        """What one person sends: messages and bytes; in the central model the point itself."""
        if self.noise == "curator":
            return Cost(1, self.point_bytes)
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

    def check_shares(self) -> None:
        """Raise PlanError unless modulus, shares and groups fit who adds the noise."""
        if self.noise == "curator":
            if self.modulus or self.shares or self.by_column:
                raise PlanError("a curator sums whole cells without shares: modulus and shares must be 0")
        else:
            _ = SplitAndMix(self.modulus, self.shares)
        if self.group > self.minimum_batch:
            raise PlanError(f"group {self.group} must not exceed minimum_batch {self.minimum_batch}")

    def check_local_noise(self) -> None:
        """Raise PlanError where each person's noise is too small for the accounting of many people's sum."""
        if self.noise == "everyone" and self.noise_scale < SMALLEST_LOCAL_SCALE:
            raise PlanError(
                f"each person's noise must have a scale of at least {SMALLEST_LOCAL_SCALE} grid steps, got "
                f"{float(self.noise_scale):g}; take a finer grid"
            )

    # ------------------------------------------------------------ the promise

    def curve(self, people: int | None = None) -> Curve:
        """Return the Rényi curve of the noise, with so many people adding theirs."""
        influence = self.influence()
        if self.noise == "curator":
            return gaussian_curve(influence, self.noise_scale)
        adders = self.minimum_batch if people is None else people
        if self.by_column:
            adders = self.group_of(people)
        return distributed_curve(influence, self.noise_scale, adders)

    def group_of(self, people: int | None = None) -> int:
        """Return how many people can be counted on in a row, in a batch of so many."""
        return self.group if people is None else min(self.group, people)

    @property
    def touched(self) -> int:
        """Sums that replacing a person can change: those of the rows left and of the rows entered."""
        return self.coordinates * (1 if self.by_column else 2) * self.rows_filled

    def mixing_delta(self, epsilon: float, people: int | None = None) -> float:
        """Return the part of δ that the shares cost: (1+e^ε)·2^-σ a sum that a person touches."""
        if self.noise == "curator":
            return 0.0
        bits = security_of(self.shares, self.modulus, max(1, self.group_of(people)))
        return float(self.touched * (1 + math.exp(epsilon)) * 2.0**-bits * (1 + 1e-9))

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
