"""The protocols a plan may name: which class holds their parameters, which function designs them.

Adding one is a line in each table, a file of parameters and a file of design.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any, Final

from coterie.errors import PlanError
from coterie.plan.amplified import AmplifiedParameters
from coterie.plan.base import Parameters
from coterie.plan.canonical import shown
from coterie.plan.checks import checked_delta
from coterie.plan.codeword import CodewordParameters
from coterie.plan.design import design_codeword
from coterie.plan.design_shuffle import design_amplified, design_net_tree_sums, design_vector_sums
from coterie.plan.lsh_tree import LshTreeParameters, design_lsh_tree
from coterie.plan.net_tree import LocalTreeParameters
from coterie.plan.net_tree_design import design_net_tree
from coterie.plan.net_tree_sums import NetTreeSumParameters
from coterie.plan.vector_sums import VectorSumParameters

# Chooses a protocol's parameters from the public facts of a study, all of them checked before (keywords
# dimension, clusters, epsilon, expected_users, seed), and from the options the protocol has besides.
Designer = Callable[..., Parameters]

PARAMETERS: Final[dict[str, type[Any]]] = {
    "codeword": CodewordParameters,
    "net-tree": LocalTreeParameters,
    "vector-sums": VectorSumParameters,
    "lsh-tree": LshTreeParameters,
    "net-tree-sums": NetTreeSumParameters,
}
DESIGNERS: Final[dict[str, Designer]] = {
    "codeword": design_codeword,
    "net-tree": design_net_tree,
    "lsh-tree": design_lsh_tree,
}
MIXED_DESIGNERS: Final[dict[str, Designer]] = {
    "vector-sums": design_vector_sums,
    "net-tree-sums": design_net_tree_sums,
}
_FACTS: Final = ("dimension", "clusters", "epsilon", "delta", "expected_users", "seed", "model")


def parameters_class(protocol: str, model: str) -> type[Any]:
    """Return the class of a protocol's parameters; shuffled codewords carry the smallest batch, too."""
    if (protocol, model) == ("codeword", "shuffle"):
        return AmplifiedParameters
    return PARAMETERS[protocol]


def designer(protocol: str, model: str) -> Designer:
    """Return the function that chooses the parameters of a protocol in a model."""
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


def design_parameters(public: Mapping[str, Any], delta: float, options: Mapping[str, Any]) -> Parameters:
    """Choose the parameters for the public part of a plan, by the designer of its protocol and model."""
    protocol, model = public["protocol"], public["model"]
    facts = {name: public[name] for name in ("dimension", "clusters", "epsilon", "expected_users", "seed")}
    if model not in parameters_class(protocol, model).models:
        allowed = " or ".join(sorted(parameters_class(protocol, model).models))
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
