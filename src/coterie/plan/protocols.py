"""The protocols a plan may name: which class holds their numbers, which function designs them.

Adding one is a line in each table, a file of numbers and a file of design.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from coterie.errors import PlanError
from coterie.plan.amplified import AmplifiedNumbers
from coterie.plan.base import Numbers
from coterie.plan.codeword import CodewordNumbers
from coterie.plan.design import design_codeword
from coterie.plan.design_shuffle import design_amplified, design_vector_sums
from coterie.plan.vector_sums import VectorSumNumbers


class Designer(Protocol):
    """Chooses a protocol's numbers from the public facts of a study, all of them checked before."""

    def __call__(
        self, *, dimension: int, clusters: int, epsilon: float, expected_users: int, seed: int
    ) -> Numbers:
        """Return the numbers."""
        ...


NUMBERS: Final[dict[str, type[Any]]] = {
    "codeword": CodewordNumbers,
    "shuffle": VectorSumNumbers,
}
DESIGNERS: Final[dict[str, Designer]] = {
    "codeword": design_codeword,
}


def numbers_class(protocol: str, model: str) -> type[Any]:
    """Return the class of a protocol's numbers; shuffled codewords carry the smallest batch, too."""
    if (protocol, model) == ("codeword", "shuffle"):
        return AmplifiedNumbers
    return NUMBERS[protocol]


def design_numbers(public: Mapping[str, Any], delta: float, options: Mapping[str, Any]) -> Numbers:
    """Choose the numbers for the public part of a plan, by the designer of its protocol and model."""
    names = ("dimension", "clusters", "epsilon", "expected_users", "seed")
    facts = {name: public[name] for name in names}
    protocol, model = public["protocol"], public["model"]
    try:
        if protocol == "shuffle":
            _need_delta(model, delta)
            return design_vector_sums(**facts, delta=delta, model=model, **options)
        if (protocol, model) == ("codeword", "shuffle"):
            _need_delta(model, delta)
            return design_amplified(**facts, delta=delta, **options)
        return DESIGNERS[protocol](**facts, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        option = str(error).rpartition("'")[0].rpartition("'")[2]
        raise PlanError(f"protocol {protocol} in the {model} model has no option {option!r}") from None


def _need_delta(model: str, delta: float) -> None:
    if model == "local":
        raise PlanError("protocol shuffle needs model='shuffle' or model='central': its shares must be mixed")
    if not 0 < delta < 1:
        raise PlanError(f"delta must be in (0, 1) in the {model} model, got {delta!r}; 1e-6 is usual")
