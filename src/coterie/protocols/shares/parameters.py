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
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, NamedTuple

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE_SQUARED
from coterie.plain.checks import MOST_PEOPLE, checked_choice, checked_integer
from coterie.privacy import Guarantee
from coterie.privacy.guarantee import CONDITIONS, SHUFFLE_CONDITIONS
from coterie.privacy.renyi import (
    Curve,
    Influence,
    distributed_curve,
    gaussian_curve,
    renyi_delta,
    renyi_epsilon,
)
from coterie.protocols.base import Facts, Parameters
from coterie.randomizers.split_and_mix import SplitAndMix, security_of
from coterie.randomizers.vector_sums import ADDRESS_BYTES, VectorSums

NOISES: Final = ("everyone", "curator")
SCALE_PARTS: Final = 64  # the noise's scale is in 64ths of a grid step
MAX_GRID_BITS: Final = 20
MAX_MODULUS: Final = 1 << 46  # a table's integers stay below it
MOST_BYTES: Final = (1 << 16) - 1  # of a report; what its file's header can say
MOST_SENT_PEOPLE: Final = 2000  # up to here shares are really sent, mixed and added up in one process
MOST_SENT_MESSAGES: Final = 1 << 24
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareParameters(Parameters):
    """Parameters of a plan whose table is vector sums. Frozen dataclasses inherit from it.

    Attributes
    ----------
    layout : str
        What a row of the table is; another meaning gets another name.
    coordinates : int
        Of a row (D).
    grid_bits : int
        log₂ of the grid steps to a unit.
    count_weight : int
        b·2^20, the coordinate that counts people.
    noise : {"everyone", "curator"}
        Who adds noise.
    noise_parts : int
        Scale of that noise, in 64ths of a grid step.
    minimum_batch, group : int
        The fewest people a batch may have, and the fewest in the mixing group of a row.
    modulus, shares : int
        Of split-and-mix; 0 for a curator.
    """

    layout: str
    coordinates: int  # D
    grid_bits: int
    count_weight: int
    noise: str
    noise_parts: int
    minimum_batch: int
    group: int
    modulus: int
    shares: int

    extra_coordinates: ClassVar[int]  # of a row, beyond the point's own

    # ------------------------------------------------------------ what a protocol says

    @property
    @abstractmethod
    def rows(self) -> int:
        """Rows of the table."""

    @property
    def rows_filled(self) -> int:
        """Rows that one person's vector is added to."""
        return 1

    @abstractmethod
    def influence(self) -> Influence:
        """Return what replacing one person can change of the table, in grid steps."""

    @property
    def by_column(self) -> bool:
        """Whether a person serves the one row that their id names, instead of all rows."""
        return False

    # ------------------------------------------------------------ what follows

    def _clean_sums(self) -> None:
        """Check the fields that all vector sums have."""
        self._clean(checked_integer, coordinates=(1 + self.extra_coordinates, 1 << 12))
        self._clean(checked_integer, grid_bits=(1, MAX_GRID_BITS), noise_parts=(1, SCALE_PARTS << 24))
        self._clean(checked_integer, minimum_batch=(1, MOST_PEOPLE), group=(1, MOST_PEOPLE))
        self._clean(checked_integer, modulus=(0, MAX_MODULUS), shares=(0, 1 << 10))
        self._clean(checked_choice, noise=(NOISES,))

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the noise that each of those who add it adds, in grid steps."""
        return Fraction(self.noise_parts, SCALE_PARTS)

    def cells_moved(self) -> int:
        """Return the squared influence on the rows of one partition, a replaced person's cell or two of them.

        In one cell the counts agree, and bodies of length a·G differ by at most 4a²G²; in two, 2G².
        """
        grid_squared = self.grid * self.grid
        bodies = -(-4 * (SCALE_SQUARED - self.count_weight**2) * grid_squared // SCALE_SQUARED)
        return max(bodies, 2 * grid_squared)

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
            return Cost(1, 8 * (self.coordinates - self.extra_coordinates))
        messages = self.rows_served * self.coordinates * self.shares
        return Cost(messages, messages * self.message_width)

    @property
    def message_width(self) -> int:
        """Bytes of one shuffled message: address and share."""
        return ADDRESS_BYTES + -(-max(self.modulus - 1, 1).bit_length() // 8)

    @property
    def answer_bytes(self) -> int:
        """Bytes of an unshuffled report after its id: shares in the order of their addresses."""
        return self.cost.messages * (self.message_width - ADDRESS_BYTES)

    @property
    def mixed_bytes(self) -> int:
        """Bytes of messages that one person has in a batch."""
        return self.cost.bytes

    @property
    def sendable(self) -> bool:
        """Whether people send reports; not so to a curator, nor where they would be too long."""
        return self.noise == "everyone" and self.report_width <= MOST_BYTES

    def is_played(self, people: int) -> bool:
        """Return whether one process can send the shares of so many people, mix them and add them up."""
        few = people <= MOST_SENT_PEOPLE and people * self.cost.messages <= MOST_SENT_MESSAGES
        return few and self.sendable

    @property
    def report_words(self) -> str:
        """What a person sends, in words."""
        if self.noise == "curator":
            return "the point itself, to a trusted curator"
        return f"{self.cost.messages:,} messages, {self.cost.bytes:,} bytes in all, whatever the point"

    @property
    def smallest_batch(self) -> int:
        """The fewest people that a shuffler may release together."""
        return self.minimum_batch

    @property
    def smallest_group(self) -> int:
        """The fewest people in the mixing group of a row."""
        return self.group

    def check_shares(self) -> None:
        """Raise PlanError unless modulus, shares and groups fit who adds the noise."""
        if self.noise == "curator":
            if self.modulus or self.shares or self.by_column:
                raise PlanError("a curator sums whole cells without shares: modulus and shares must be 0")
        else:
            _ = SplitAndMix(self.modulus, self.shares)
        if self.group > self.minimum_batch:
            raise PlanError(f"group {self.group} must not exceed minimum_batch {self.minimum_batch}")

    def check_fit(self, dimension: int) -> None:
        """Raise PlanError unless rows hold the plan's points and each person's noise can be accounted for.

        Sums of many people's noise are only accounted for where each has a scale of two grid steps.
        """
        wanted = dimension + self.extra_coordinates
        if self.coordinates != wanted:
            raise PlanError(
                f"coordinates must be dimension + {self.extra_coordinates} = {wanted}, got {self.coordinates}"
            )
        if self.noise == "everyone" and self.noise_scale < SMALLEST_LOCAL_SCALE:
            raise PlanError(
                f"each person's noise must have a scale of at least {SMALLEST_LOCAL_SCALE} grid steps, got "
                f"{float(self.noise_scale):g}; take a finer grid"
            )

    # ------------------------------------------------------------ the promise

    def curve(self, people: int | None = None, scale: Fraction | None = None) -> Curve:
        """Return the Rényi curve of the noise, or of one of this scale, with so many people adding theirs."""
        influence, scale = self.influence(), self.noise_scale if scale is None else scale
        if self.noise == "curator":
            return gaussian_curve(influence, scale)
        adders = self.minimum_batch if people is None else people
        if self.by_column:
            adders = self.group_of(people)
        return distributed_curve(influence, scale, adders)

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

    def check_promise(self, facts: Facts) -> None:
        """Raise PlanError unless the smallest batch allowed is (ε, δ)-private."""
        if (facts.model == "central") != (self.noise == "curator"):
            raise PlanError(f"noise {self.noise} does not belong to the {facts.model} model")
        epsilon, delta = facts.epsilon, facts.delta
        spent = renyi_delta(self.curve(), epsilon) + self.mixing_delta(epsilon)
        if spent > delta:
            raise PlanError(
                f"the noise and the shares give ({epsilon:g}, {spent:.3g}) instead of "
                f"({epsilon:g}, {delta:g}): the plan would not keep its promise; do not answer it"
            )

    def spent_epsilon(self) -> float:
        """Return infinity: without mixing, the shares of a report add up to the person's vectors."""
        return math.inf

    def promised_alone(self, epsilon: float) -> float:
        """Return infinity: a report that is not mixed promises nothing."""
        return math.inf

    def guarantee(self, facts: Facts, people: int | None = None) -> Guarantee:
        """Return the promise: the plan's, or what it comes to for a batch of so many people."""
        spent = self._spent(facts.epsilon, facts.delta, people)
        shuffled = (*SHUFFLE_CONDITIONS, _NOISE_CONDITION) if facts.model == "shuffle" else ()
        conditions = (*CONDITIONS[1:3], *(shuffled or _CURATOR_CONDITIONS))
        return self.mixed_guarantee(facts, people, spent, conditions)

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
