"""What a protocol adds to a plan: its own frozen parameters, behind one small interface."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from coterie.privacy import Guarantee


class Parameters(Protocol):
    """The parameters of one protocol. Frozen, hashable, valid by itself once built.

    A plan holds one such object in its field `parameters`; the plan's `protocol` says which class it is.
    """

    models: ClassVar[frozenset[str]]  # the trust models in which the protocol can run

    @property
    def report_width(self) -> int:
        """Bytes of one report, the same for everyone."""
        ...

    def check_plan(self, *, dimension: int, epsilon: float) -> None:
        """Raise PlanError unless the parameters fit the plan around them and keep its promise."""
        ...

    def check_odds(self, epsilon: float) -> None:
        """Raise PlanError unless the odds keep the promise of `epsilon`, in exact arithmetic."""
        ...

    def spent_epsilon(self) -> float:
        """Return the privacy loss that the odds really have, rounded up."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        ...

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; PlanError for anything unknown, missing or out of range."""
        ...


@runtime_checkable
class MixedParameters(Protocol):
    """What the parameters add where the promise is made by mixing or by a curator, and has a δ."""

    def check_promise(self, *, model: str, epsilon: float, delta: float) -> None:
        """Raise PlanError unless the smallest batch allowed is (ε, δ)-private in the plan's model."""
        ...

    def guarantee(self, *, model: str, epsilon: float, delta: float, people: int | None = None) -> Guarantee:
        """Return the promise: the plan's, or what it comes to for a batch of so many people."""
        ...
