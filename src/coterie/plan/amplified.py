"""The parameters of `codeword` in the shuffle model: reports with a large local ε₀, hidden among each other.

Each report by itself is ε₀-private; a shuffled batch of at least `minimum_batch` honest reports is
(ε, δ)-private by `coterie.privacy.amplification`. Both are promises of the plan: the second needs a shuffler
that does its work, the first holds even against one that fails. Reading a plan checks both: the odds against
ε₀ in exact arithmetic, and the amplified ε at the smallest batch that a shuffler may release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from coterie.errors import PlanError
from coterie.plan.checks import checked_fields, checked_integer, checked_real
from coterie.plan.codeword import CodewordParameters
from coterie.privacy import MAX_EPSILON, Guarantee
from coterie.privacy.amplification import MAX_BATCH, amplified_delta, amplified_epsilon
from coterie.privacy.guarantee import CONDITIONS

SHUFFLE_CONDITIONS: Final = (
    "Ids are drawn on the device, and whoever reads the batch never sees one beside a name, an address or a "
    "time: under this plan the collector is the shuffler, and passes on nothing but the messages.",
    "Everyone in the batch holds the same plan and answers it honestly: people who make up reports, or who "
    "show theirs to the reader, do not count in the size of the batch.",
    "Each report enters one batch, ever, and a batch smaller than the plan's minimum is never released.",
)
KEPT_REPORT: Final = (
    "The ledger on the device, and every backup of it, stays with its owner: it holds the report, and "
    "whoever has both finds it in the batch. Then the promise is that of a report without mixing."
)


@dataclass(frozen=True, slots=True)
class AmplifiedParameters(CodewordParameters):
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

    local_epsilon: float  # ε₀
    minimum_batch: int

    models: ClassVar[frozenset[str]] = frozenset({"shuffle"})

    def __post_init__(self) -> None:
        CodewordParameters.__post_init__(self)
        local = checked_real("local_epsilon", self.local_epsilon, 0.0, MAX_EPSILON)
        object.__setattr__(self, "local_epsilon", local)
        batch = checked_integer("minimum_batch", self.minimum_batch, 1, MAX_BATCH)
        object.__setattr__(self, "minimum_batch", batch)

    def check_odds(self, epsilon: float) -> None:
        """Raise PlanError unless A ≤ e^ε₀·2^24, in exact arithmetic; `check_promise` is about ε itself."""
        del epsilon
        CodewordParameters.check_odds(self, self.local_epsilon)

    def check_promise(self, *, model: str, epsilon: float, delta: float) -> None:
        """Raise PlanError unless the smallest batch allowed is (ε, δ)-private after shuffling."""
        del model
        if amplified_delta(epsilon, self.local_epsilon, self.minimum_batch, target=delta) > delta:
            raise PlanError(
                f"{self.minimum_batch} shuffled reports of local epsilon {self.local_epsilon:g} are not "
                f"({epsilon:g}, {delta:g})-private: the plan would not keep its promise; do not answer it"
            )

    def guarantee(self, *, model: str, epsilon: float, delta: float, people: int | None = None) -> Guarantee:
        """Return the promise: the plan's, or what it comes to for a batch of so many people."""
        spent = amplified_epsilon(self.spent_epsilon(), delta, people or self.minimum_batch)
        return Guarantee(
            epsilon=epsilon if people is None else spent,
            delta=delta,
            spent=min(spent, epsilon) if people is None else spent,  # a plan's own ε was checked to be enough
            model=model,
            conditions=(*CONDITIONS, *SHUFFLE_CONDITIONS, KEPT_REPORT),
            local_epsilon=self.spent_epsilon(),
            people=people or self.minimum_batch,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **CodewordParameters.to_dict(self),
            "local_epsilon": self.local_epsilon,
            "minimum_batch": self.minimum_batch,
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; PlanError for anything unknown, missing or out of range."""
        own = ("local_epsilon", "minimum_batch")
        base = data if isinstance(data, dict) else {}
        rest = {name: value for name, value in base.items() if name not in own}
        codeword = CodewordParameters.from_dict(rest if isinstance(data, dict) else data)
        fields = checked_fields("parameters", data, (*CodewordParameters.to_dict(codeword), *own))
        shared = {name: getattr(codeword, name) for name in CodewordParameters.__slots__}
        return cls(**shared, **{name: fields[name] for name in own})
