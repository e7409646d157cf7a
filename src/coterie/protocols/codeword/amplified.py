"""The parameters of `codeword` in the shuffle model: reports with a large local ε₀, hidden among each other.

Each report by itself is ε₀-private; a shuffled batch of at least `minimum_batch` honest reports is
(ε, δ)-private by `coterie.privacy.amplification`. Both are promises of the plan: the second needs a shuffler
that does its work, the first holds even against one that fails. Reading a plan checks both: the odds against
ε₀ in exact arithmetic, and the amplified ε at the smallest batch that a shuffler may release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coterie.errors import PlanError
from coterie.plain.checks import MOST_PEOPLE, checked_integer, checked_real
from coterie.privacy import MAX_EPSILON, Guarantee
from coterie.privacy.amplification import amplified_delta, amplified_epsilon
from coterie.privacy.guarantee import CONDITIONS, SHUFFLE_CONDITIONS
from coterie.protocols.base import Facts, LocalParameters
from coterie.protocols.codeword.parameters import CodewordParameters

KEPT_REPORT: Final = (
    "The ledger on the device, and every backup of it, stays with its owner: it holds the report, and "
    "whoever has both finds it in the batch. Then the promise is that of a report without mixing."
)


@dataclass(frozen=True)
class Amplified(LocalParameters):
    """What parameters have whose reports keep ε₀ alone, and (ε, δ) in a shuffled batch."""

    __slots__ = ()

    local_epsilon: float  # ε₀
    minimum_batch: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._clean(checked_real, local_epsilon=(0.0, MAX_EPSILON))
        self._clean(checked_integer, minimum_batch=(1, MOST_PEOPLE))

    @property
    def smallest_batch(self) -> int:
        """The fewest reports that a shuffler may release together."""
        return self.minimum_batch

    def promised_alone(self, epsilon: float) -> float:
        """Return ε₀."""
        return self.local_epsilon

    def check_promise(self, facts: Facts) -> None:
        """Raise PlanError unless a report keeps ε₀, and the smallest batch allowed (ε, δ) after shuffling."""
        self.check_odds(self.local_epsilon)
        epsilon, delta = facts.epsilon, facts.delta
        if amplified_delta(epsilon, self.local_epsilon, self.minimum_batch, target=delta) > delta:
            raise PlanError(
                f"{self.minimum_batch} shuffled reports of local epsilon {self.local_epsilon:g} are not "
                f"({epsilon:g}, {delta:g})-private: the plan would not keep its promise; do not answer it"
            )

    def guarantee(self, facts: Facts, people: int | None = None) -> Guarantee:
        """Return the promise: the plan's, or what it comes to for a batch of so many people."""
        spent = amplified_epsilon(self.spent_epsilon(), facts.delta, people or self.minimum_batch)
        return self.mixed_guarantee(facts, people, spent, (*CONDITIONS, *SHUFFLE_CONDITIONS, KEPT_REPORT))


@dataclass(frozen=True, slots=True)
class AmplifiedParameters(Amplified, CodewordParameters):
    """The parameters of a codeword plan whose reports are shuffled.

    Attributes
    ----------
    local_epsilon : float
        ε₀, the promise of one report by itself.
    minimum_batch : int
        The fewest reports that a shuffler may release together.

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> plan = Plan.design(100, 8, epsilon=1.0, expected_users=100_000, model="shuffle", delta=1e-6)
    >>> plan.parameters.minimum_batch, round(plan.parameters.local_epsilon, 2)
    (90000, 7.66)
    """
