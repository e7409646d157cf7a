"""The protocols a plan may name: which class holds their numbers, which function designs them.

Adding one is a line in each table, a file of numbers and a file of design.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any, Final

from coterie.errors import PlanError
from coterie.plan.amplified import AmplifiedNumbers
from coterie.plan.base import Numbers
from coterie.plan.canonical import shown
from coterie.plan.checks import checked_delta
from coterie.plan.codeword import CodewordNumbers
from coterie.plan.design import design_codeword
from coterie.plan.design_shuffle import design_amplified, design_net_tree_sums, design_vector_sums
from coterie.plan.lsh_tree import LshTreeNumbers, design_lsh_tree
from coterie.plan.net_tree import LocalTreeNumbers
from coterie.plan.net_tree_design import design_net_tree
from coterie.plan.net_tree_sums import NetTreeSumNumbers
from coterie.plan.vector_sums import VectorSumNumbers

# Chooses a protocol's numbers from the public facts of a study, all of them checked before (keywords
# dimension, clusters, epsilon, expected_users, seed), and from the options the protocol has besides.
Designer = Callable[..., Numbers]

NUMBERS: Final[dict[str, type[Any]]] = {
    "codeword": CodewordNumbers,
    "net-tree": LocalTreeNumbers,
    "shuffle": VectorSumNumbers,
    "lsh-tree": LshTreeNumbers,
    "net-tree-sums": NetTreeSumNumbers,
}
DESIGNERS: Final[dict[str, Designer]] = {
    "codeword": design_codeword,
    "net-tree": design_net_tree,
    "lsh-tree": design_lsh_tree,
}
MIXED_DESIGNERS: Final[dict[str, Designer]] = {
    "shuffle": design_vector_sums,
    "net-tree-sums": design_net_tree_sums,
}
_FACTS: Final = ("dimension", "clusters", "epsilon", "delta", "expected_users", "seed", "model")


def numbers_class(protocol: str, model: str) -> type[Any]:
    """Return the class of a protocol's numbers; shuffled codewords carry the smallest batch, too."""
    if (protocol, model) == ("codeword", "shuffle"):
        return AmplifiedNumbers
    return NUMBERS[protocol]


def designer(protocol: str, model: str) -> Designer:
    """Return the function that chooses the numbers of a protocol in a model."""
    if (protocol, model) == ("codeword", "shuffle"):
        return design_amplified
    if protocol in MIXED_DESIGNERS:
        return partial(MIXED_DESIGNERS[protocol], model=model)
    return DESIGNERS[protocol]


def design_options(protocol: str, model: str) -> tuple[str, ...]:
    """Return the names of the options that a protocol's design takes in a model.

    Examples
    --------
    >>> design_options("codeword", "shuffle")
    ('minimum_batch', 'local_cap')
    """
    return tuple(name for name in signature(designer(protocol, model)).parameters if name not in _FACTS)


def design_numbers(public: Mapping[str, Any], delta: float, options: Mapping[str, Any]) -> Numbers:
    """Choose the numbers for the public part of a plan, by the designer of its protocol and model."""
    protocol, model = public["protocol"], public["model"]
    facts = {name: public[name] for name in ("dimension", "clusters", "epsilon", "expected_users", "seed")}
    if model not in numbers_class(protocol, model).models:
        allowed = " or ".join(sorted(numbers_class(protocol, model).models))
        raise PlanError(f"protocol {protocol} does not run in the {model} model; it needs model {allowed}")
    if model != "local":
        facts["delta"] = checked_delta(model, delta)
    known = design_options(protocol, model)
    if unknown := sorted(set(options) - set(known)):
        listed = f"known: {', '.join(known)}" if known else "it has none"
        raise PlanError(
            f"protocol {protocol} in the {model} model has no option {shown(unknown[0])}; {listed}"
        )
    return designer(protocol, model)(**facts, **options)
