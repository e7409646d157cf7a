"""The protocols a plan may name: which class holds their numbers, which function designs them.

Adding one is a line in each table, a file of numbers and a file of design.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from coterie.errors import PlanError
from coterie.plan.amplified import AmplifiedNumbers
from coterie.plan.base import Numbers
from coterie.plan.checks import checked_delta
from coterie.plan.codeword import CodewordNumbers
from coterie.plan.design import design_codeword
from coterie.plan.design_shuffle import design_amplified, design_vector_sums
from coterie.plan.lsh_tree import LshTreeNumbers, design_lsh_tree
from coterie.plan.net_tree import NetTreeNumbers
from coterie.plan.net_tree_design import design_net_tree
from coterie.plan.vector_sums import VectorSumNumbers

# Chooses a protocol's numbers from the public facts of a study, all of them checked before (keywords
# dimension, clusters, epsilon, expected_users, seed), and from the options the protocol has besides.
Designer = Callable[..., Numbers]

NUMBERS: Final[dict[str, type[Any]]] = {
    "codeword": CodewordNumbers,
    "net-tree": NetTreeNumbers,
    "shuffle": VectorSumNumbers,
    "lsh-tree": LshTreeNumbers,
}
DESIGNERS: Final[dict[str, Designer]] = {
    "codeword": design_codeword,
    "net-tree": design_net_tree,
    "lsh-tree": design_lsh_tree,
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
    if protocol != "shuffle" and (protocol, model) != ("codeword", "shuffle"):
        return DESIGNERS[protocol](**facts, **options)
    if model == "local":
        raise PlanError("protocol shuffle needs model='shuffle' or model='central': its shares must be mixed")
    delta = checked_delta(model, delta)
    try:
        if protocol == "shuffle":
            return design_vector_sums(**facts, delta=delta, model=model, **options)
        return design_amplified(**facts, delta=delta, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        option = str(error).rpartition("'")[0].rpartition("'")[2]
        raise PlanError(f"protocol {protocol} in the {model} model has no option {option!r}") from None
