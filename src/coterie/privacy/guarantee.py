"""What is promised to a person, in numbers and in plain words, with the conditions it rests on.

A report law is (ε, δ)-private in the local model when for any two values x, x' and any set S of outputs
Pr[report(x) ∈ S] ≤ e^ε·Pr[report(x') ∈ S] + δ. The unit is one person's single report: whoever answers the
same plan twice with fresh coins spends 2ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Final, NamedTuple

from coterie.errors import PlanError


class Trust(NamedTuple):
    """Whom a person has to trust in a model, and what follows from it."""

    needed: str
    spends: str = "mechanism spends"
    seen: str = "any release"  # by whoever reads, and no likelier with one point than with another
    mixed: bool = False  # reports are mixed by a shuffler before anyone reads them
    curated: bool = False  # a curator sees the points, and nobody sends reports


TRUST: Final = {
    "local": Trust(
        "nobody: the report is private when it leaves the device", "exact odds spend", seen="any report"
    ),
    "shuffle": Trust(
        "that reports are mixed with other people's before anyone reads them",
        seen="any mixed batch",
        mixed=True,
    ),
    "central": Trust("a curator who sees the points and releases only noisy results", curated=True),
}
MODELS: Final = tuple(TRUST)  # whom a person has to trust: nobody, a mixer, a curator

PUBLIC_BALL: Final = (
    "The ball (center and radius) is public knowledge, chosen without looking at the points. A ball or a "
    "count of clipped points taken from the data is not covered."
)
FOLLOWED_BALL: Final = (
    "The ball (center and radius) is public knowledge, or comes from private results about other people: "
    "whoever answered an earlier plan of the study does not answer this one. A ball or a count of clipped "
    "points taken from the data is not covered."
)
PUBLIC_DIRECTIONS: Final = (
    "Reports speak of {count} public directions: public knowledge, or from private results about "
    "other people. Directions taken from the people's own data are not covered."
)
PUBLISHED_GROUPS: Final = (
    "The centers of {groups} groups stand in the plan for everybody to read. They come from private results "
    "about other people, published before this plan: whoever answered an earlier plan of the study does not "
    "answer this one. Centers taken from the data itself are not covered."
)
DECLARED_FEATURES: Final = (
    "The features (bounds, values, weights) are public knowledge, declared without looking at the people's "
    "data, and the ball follows from them. Bounds or a count of clipped points taken from the data are not "
    "covered."
)
SAMPLED_FEATURES: Final = (
    "The features (bounds, values, weights) come from a sample that was declared public, and the ball "
    "follows from them. If people of the sample answer, what the bounds tell about them is not covered, "
    "nor is a count of clipped points."
)
CONDITIONS: Final = (
    "Each report uses a fresh 12-byte id from the operating system's generator, drawn once for this plan "
    "and independently of the point.",
    "Each person answers once. A ledger on the device makes sure of it; without one the promise holds for "
    "each report by itself, and two reports spend twice.",
    PUBLIC_BALL,
    "The id and what follows from it (the column, the sign, the codewords) are public. They do not depend "
    "on the point, and they do not hide who sent the report.",
)
ISSUED_IDS: Final = (
    "Each report's id follows from a token that the collector issued: whoever issued it can tell whose "
    "report it is. The promise holds for every id, chosen or not: it is about the point, not about who took "
    "part."
)

SHUFFLE_CONDITIONS: Final = (
    "Ids are drawn on the device, and whoever reads the batch never sees one beside a name, an address or a "
    "time: under this plan the collector is the shuffler, and passes on nothing but the messages.",
    "Everyone in the batch holds the same plan and answers it honestly: people who make up reports, or who "
    "show theirs to the reader, do not count in the size of the batch.",
    "Each report enters one batch, ever, and a batch smaller than the plan's minimum is never released.",
)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The privacy promise of a plan.

    Attributes
    ----------
    epsilon, delta : float
        The promise: no larger loss than this.
    spent : float
        The loss the mechanism's exact odds really have, rounded up; never above `epsilon`.
    model : str
        "local", "shuffle" or "central": whom a person has to trust.
    unit : str
        What is protected.
    conditions : tuple of str
        What has to hold outside the mathematics for the promise to hold.
    local_epsilon : float, optional
        The loss if mixing fails: what one report promises by itself. None where nothing is mixed.
    people : int, optional
        The size of batch for which `spent` was computed, where it depends on that.
    exceptions : tuple of str
        What was done that breaks a condition: the promise does not hold there, and says so.

    Examples
    --------
    >>> print(Guarantee(epsilon=1.0, delta=0.0, spent=0.99999998, model="local"))
    Privacy: 1-differential privacy of one person's single report (pure: delta = 0).
    Whatever a person's point is, any report is at most e^1 (under 2.72) times as likely ...
    The exact odds spend 0.99999998 of the promised 1.
    Trust needed: nobody: the report is private when it leaves the device.
    It holds when:
    - Each report uses a fresh 12-byte id from the operating system's generator, drawn once for this plan ...
    """

    epsilon: float
    delta: float
    spent: float
    model: str
    unit: str = "one person's single report"
    conditions: tuple[str, ...] = CONDITIONS
    local_epsilon: float | None = None  # what a report promises without mixing; infinity is nothing
    people: int | None = None  # size of the batch that `spent` was computed for
    exceptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise PlanError(f"model must be one of {', '.join(MODELS)}, got {self.model!r}")
        if not (self.epsilon > 0 and 0 <= self.delta < 1):
            raise PlanError(f"need epsilon > 0 and 0 <= delta < 1, got {self.epsilon!r} and {self.delta!r}")
        if not 0 < self.spent <= self.epsilon:
            raise PlanError(f"spent {self.spent!r} must be positive and at most epsilon {self.epsilon!r}")

    def __str__(self) -> str:
        batch = "" if self.people is None else f" in a batch of {self.people} people"
        promised = f"{_digits(self.spent)} of the promised {_digits(self.epsilon)}"
        spent = f"The {TRUST[self.model].spends} {promised}{batch}."
        first, second, *others = self.paragraphs
        conditions = [f"- {condition}" for condition in self.conditions]
        return "\n".join([first, second, spent, *others, "It holds when:", *conditions])

    def __repr__(self) -> str:
        batch = "" if self.people is None else f", people={self.people}"
        broken = ", IT DOES NOT HOLD HERE" if self.exceptions else ""
        return (
            f"Guarantee(epsilon={self.epsilon!r}, delta={self.delta!r}, spent={self.spent!r}, "
            f"model={self.model!r}{batch}{broken})"
        )

    def _repr_html_(self) -> str:
        """Return the promise for a notebook."""
        from coterie.plain.notebook import facts_html

        first, *others = self.paragraphs
        facts = [
            ("trust needed", TRUST[self.model].needed),
            ("spent", f"{_digits(self.spent)} of {_digits(self.epsilon)}"),
        ]
        words = [each for each in others if not each.startswith("Trust needed")]
        return facts_html(
            first, facts, [*words, "It holds when:", *(f"• {each}" for each in self.conditions)]
        )

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The promise in plain words, without what the odds spend of it and what it rests on."""
        epsilon, delta = _digits(self.epsilon), _digits(self.delta)
        pure = "pure: delta = 0" if self.delta == 0 else f"delta = {delta}"
        but_for = "" if self.delta == 0 else f", but for a chance of {delta}"
        return (
            f"Privacy: {epsilon}-differential privacy of {self.unit} ({pure}).",
            f"Whatever a person's point is, {TRUST[self.model].seen} is at most e^{epsilon} "
            f"(under {self.factor}) times as likely as with any other point{but_for}.",
            f"Trust needed: {TRUST[self.model].needed}.",
            *self._without_mixing(),
            *(["IT DOES NOT HOLD HERE:"] if self.exceptions else []),
            *(f"- {exception}" for exception in self.exceptions),
        )

    @property
    def factor(self) -> str:
        """e^ε with three digits, rounded up: a promise is never told smaller than it is."""
        return _factor(self.epsilon)

    def _without_mixing(self) -> list[str]:
        """Return what is left of the promise when the mixing fails."""
        if self.local_epsilon is None or not TRUST[self.model].mixed:
            return []
        if self.local_epsilon == math.inf:
            return ["If the mixing fails there is no promise: unmixed shares add up to the person's vector."]
        return [
            f"If the mixing fails, {_up(self.local_epsilon, 6)}-differential privacy is left: a report may "
            f"be {_factor(self.local_epsilon)} times as likely with one point as with another."
        ]


def _digits(value: float) -> str:
    """Write a double with all its digits: a rounded epsilon would understate the loss."""
    return repr(float(value)).removesuffix(".0")


def _factor(epsilon: float) -> str:
    """Write e^epsilon with three digits, rounded up."""
    return _up(Decimal(epsilon).exp(), 3)


def _up(value: float | Decimal, digits: int) -> str:
    return f"{Context(prec=digits, rounding=ROUND_CEILING).plus(Decimal(value)):f}"
