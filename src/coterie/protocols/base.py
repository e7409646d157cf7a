"""What a protocol adds to a plan: its own frozen parameters, behind one interface.

`Facts` are what every study says about itself, whatever its protocol. `Parameters` are the rest: they say
what a report spends, how wide it is, how many people it must be mixed with, and refuse a plan whose promise
they do not keep.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError
from coterie.plain.checks import checked_fields
from coterie.plain.record import Record
from coterie.privacy import BASE_ODDS, Guarantee, product_allowed, spent_by_product
from coterie.privacy.guarantee import CONDITIONS, ISSUED_IDS

if TYPE_CHECKING:
    from coterie.plan import Plan
    from coterie.protocols.paper.approximation import Approximation

ID_BYTES: Final = 12  # a report opens with its id
TOKEN_BYTES: Final = 16  # what a collector issues where ids follow from tokens

DecoderOptions = Mapping[str, Any] | None  # what a decoder is told, by name


class Leverage(NamedTuple):
    """What one forged report may weigh, against an honest one's 1 (docs/poisoning.md).

    Infinite where a report is not held to anything.
    """

    people: float  # W: as so many people at one place
    radii: float  # by how much it moves a sum of points, in radii of the ball


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The public facts of a study that parameters are chosen from and checked against, all of them clean."""

    dimension: int  # d
    clusters: int  # k
    epsilon: float
    expected_users: int  # n
    model: str = "local"
    delta: float = 0.0
    seed: int = 0
    ids: str = "random"


@dataclass(frozen=True, slots=True)
class Part:
    """One independent answer of a report: which bits of it, and its law.

    It is one of N values; m of them (the cap of the point) have odds A each, the others B = 2^24 each. One
    secret draw below m·A + (N-m)·B decides it, and no value is more than A/B times as likely for one point as
    for another. A bit is N = 2, m = 1.
    """

    values: int  # N
    cap: int  # m
    odds: int  # A
    first_bit: int  # of what follows the id, most significant first
    bits: int

    @property
    def places(self) -> list[int]:
        """Numbers of draws of the N places, the cap first."""
        return [self.odds] * self.cap + [BASE_ODDS] * (self.values - self.cap)

    @property
    def total(self) -> int:
        """Bound of the draw."""
        return self.cap * self.odds + (self.values - self.cap) * BASE_ODDS

    def read(self, payload: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the part's value: (n, bytes after the id) -> (n,)."""
        first, last = self.first_bit // 8, -(-(self.first_bit + self.bits) // 8)
        bits = np.unpackbits(payload[:, first:last], axis=1)
        return numbers_of_bits(bits[:, self.first_bit - 8 * first :][:, : self.bits])


def numbers_of_bits(bits: NDArray[np.uint8] | NDArray[np.bool_]) -> NDArray[np.int64]:
    """Read bits as numbers, the first bit the most significant: (..., b) -> (...)."""
    powers = np.int64(1) << np.arange(bits.shape[-1] - 1, -1, -1, dtype=np.int64)
    return np.asarray(bits.astype(np.int64) @ powers)


def bits_of(odds: Sequence[int], first: int = 0) -> tuple[Part, ...]:
    """Return single bits with these odds of the truth, one after the other from the first on."""
    return tuple(Part(2, 1, each, bit, 1) for bit, each in enumerate(odds, first))


class Parameters(Record, ABC):
    """The parameters of one protocol in one model. Frozen dataclasses inherit from it; valid once built.

    A plan holds one such object in its field `parameters`; its protocol and model say of which class.
    """

    __slots__ = ()

    plan_version: ClassVar[int] = 1  # the lowest version of the plan that can say them

    def __post_init__(self) -> None:
        """Clean the fields, or raise PlanError."""

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Return a plan's parameters if they are of this class, else raise PlanError."""
        found: object = plan.parameters
        if not isinstance(found, cls):
            raise PlanError(f"this needs a plan with {cls.__name__}, got one of protocol {plan.protocol}")
        return found

    # ------------------------------------------------------------ what a report is

    @property
    @abstractmethod
    def answer_bytes(self) -> int:
        """Bytes of a report after its id, the same for everyone."""

    @property
    def report_width(self) -> int:
        """Bytes of one report: the id, then the answer."""
        return ID_BYTES + self.answer_bytes

    @property
    def message_width(self) -> int:
        """Bytes of one row that a table takes: a report, unless reports are split up."""
        return self.report_width

    @property
    def mixed_bytes(self) -> int:
        """Bytes of messages that one person has in a batch."""
        return self.message_width

    def parts(self) -> tuple[Part, ...]:
        """Return the independent answers of a report, in the order of their draws; none of shares."""
        return ()

    def groups(self, clusters: int) -> tuple[tuple[int, ...], ...] | None:
        """Return the published centers that a plan of so many clusters asks about, or None: (k, d) integers.

        Of scale 2^20, around the center of the ball.
        """
        return None

    def asking_about(self, groups: Sequence[Sequence[int]]) -> Self:
        """Return parameters that ask about published centers of that form instead of finding groups."""
        raise PlanError("this protocol cannot ask about published groups; codeword can")

    @property
    def view_rows(self) -> int:
        """Rows of all views together; 0 of a protocol that has none."""
        return sum(view.rows for view in getattr(self, "views", ()))

    @property
    def sendable(self) -> bool:
        """Whether people send reports; not so to a curator, nor where they would be too long."""
        return True

    def is_played(self, people: int) -> bool:
        """Return whether one process can make so many reports, or has to draw what they would add up to."""
        return self.sendable

    @property
    def report_words(self) -> str:
        """What a person sends, in words."""
        return f"{self.report_width} bytes, whatever the point"

    # ------------------------------------------------------------ what it needs

    @property
    def smallest_batch(self) -> int:
        """The fewest people whose reports may be released together; 1 where nothing is mixed."""
        return 1

    @property
    def smallest_group(self) -> int:
        """The fewest people who must mix in each row of the table; 1 where nothing is mixed."""
        return 1

    # ------------------------------------------------------------ what it spends

    @abstractmethod
    def spent_epsilon(self) -> float:
        """Return the privacy loss of one report by itself, rounded up; infinity where it hides nothing."""

    @abstractmethod
    def promised_alone(self, epsilon: float) -> float:
        """Return what one report promises by itself under a plan of this ε; infinity is nothing."""

    @abstractmethod
    def check_fit(self, dimension: int) -> None:
        """Raise PlanError unless the parameters fit a plan of this dimension."""

    @abstractmethod
    def check_promise(self, facts: Facts) -> None:
        """Raise PlanError unless the plan's promise is kept, in the smallest batch that it allows."""

    @abstractmethod
    def guarantee(self, facts: Facts, people: int | None = None) -> Guarantee:
        """Return the promise: the plan's, or what it comes to for a batch of so many people."""

    def mixed_guarantee(
        self, facts: Facts, people: int | None, spent: float, conditions: tuple[str, ...]
    ) -> Guarantee:
        """Return the promise of a batch that spends so much; the plan's own ε was checked to be enough."""
        return Guarantee(
            epsilon=facts.epsilon if people is None else spent,
            delta=facts.delta,
            spent=min(spent, facts.epsilon) if people is None else spent,
            model=facts.model,
            conditions=conditions,
            local_epsilon=self.spent_epsilon(),
            people=people or self.smallest_batch,
        )

    def approximation(self, facts: Facts, decoder: DecoderOptions = None, **settings: Any) -> Approximation:
        """Return what is guaranteed of the centers' cost; PlanError where no theorem speaks of it."""
        raise PlanError(
            "this protocol states no approximation ratio; codeword, net-tree and net-tree-sums do "
            "(docs/theory/guarantees.md)"
        )

    # ------------------------------------------------------------ JSON

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; PlanError for anything unknown, missing or out of range."""
        return cls(**checked_fields("parameters", data, cls.field_names()))


class LocalParameters(Parameters):
    """Parameters of a protocol whose reports keep the promise by themselves, by their odds.

    A report is independent answers, each with its own odds A_j against B = 2^24 (`parts`). So it is private
    with ε = Σ_j ln(A_j/B), and the check is

        Π_j A_j ≤ e^ε·Π_j B        in integers
    """

    __slots__ = ()

    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """Return the independent answers of a report, in the order of their draws."""

    @property
    def answer_bytes(self) -> int:
        """Bytes of a report after its id: those of its answers."""
        return -(-max(part.first_bit + part.bits for part in self.parts()) // 8)

    def spent_epsilon(self) -> float:
        """Return Σ ln(A_j/B), rounded up."""
        return spent_by_product([part.odds for part in self.parts()])

    def check_odds(self, epsilon: float) -> None:
        """Raise PlanError unless all answers together keep the promise of `epsilon`, in exact arithmetic."""
        odds = [part.odds for part in self.parts()]
        if not product_allowed(odds, epsilon):
            told = " and ".join(str(each) for each in dict.fromkeys(odds))
            more = f" of {len(odds)} independent answers" if len(odds) > 1 else ""
            raise PlanError(
                f"odds {told}{more} spend more than epsilon {epsilon!r}: the plan would not keep its "
                "promise; do not answer it"
            )

    def check_promise(self, facts: Facts) -> None:
        """Raise PlanError unless the odds keep the promise of the plan's ε."""
        self.check_odds(facts.epsilon)

    def promised_alone(self, epsilon: float) -> float:
        """Return ε: nothing is mixed."""
        return epsilon

    def guarantee(self, facts: Facts, people: int | None = None) -> Guarantee:
        """Return the promise, which does not depend on other people."""
        first = CONDITIONS[0] if facts.ids == "random" else ISSUED_IDS
        return Guarantee(
            epsilon=facts.epsilon,
            delta=facts.delta,
            spent=self.spent_epsilon(),
            model=facts.model,
            conditions=(first, *CONDITIONS[1:]),
        )
