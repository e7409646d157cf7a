"""The protocols that a plan may name: one line each here, and one folder each beside this file.

What the rest of the package asks of one is `Protocol`. What a protocol is written with has its names here
(`__all__`; docs/write-a-protocol.md).
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Final, cast, get_args, get_type_hints

from coterie.errors import PlanError
from coterie.plain.checks import checked_choice, checked_options
from coterie.privacy import BASE_ODDS, MODELS, largest_odds
from coterie.protocols.base import Facts, LocalParameters, Parameters, Part
from coterie.protocols.protocol import Decoder, Protocol, loaded

if TYPE_CHECKING:
    from coterie.plan import Plan
    from coterie.protocols.encoder import SCALE, Encoder, checked_people
    from coterie.protocols.table import Table

__all__ = [
    "BASE_ODDS",
    "PROTOCOLS",
    "SCALE",
    "Decoder",
    "Encoder",
    "Facts",
    "LocalParameters",
    "Parameters",
    "Part",
    "Protocol",
    "Table",
    "checked_people",
    "largest_odds",
]


class Registry(UserDict[str, Protocol]):
    """Protocols by name, in the order in which they are offered; each is loaded when first asked for."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        super().__init__()
        self.data.update(folders)  # type: ignore[arg-type]  # until they are asked for

    def __getitem__(self, name: str) -> Protocol:
        entry: Any = self.data[name]
        if isinstance(entry, str):
            entry = self.data[name] = loaded(f"{__name__}.{entry}:PROTOCOL")
        return cast("Protocol", entry)


PROTOCOLS: Final = Registry(
    {
        "codeword": "codeword",
        "net-tree": "paper.net_tree",
        "vector-sums": "vector_sums",
        "lsh-tree": "paper.lsh_tree",
        "net-tree-sums": "paper.net_tree_sums",
    }
)


def protocol_of(plan: Plan) -> Protocol:
    """Return the protocol of a plan."""
    return PROTOCOLS[plan.protocol]


def encoder_of(plan: Plan) -> Encoder:
    """Return what turns points into reports under a plan."""
    chosen = protocol_of(plan)
    return cast("Encoder", chosen.load(chosen.encoder)(plan))


def protocols(model: str | None = None) -> tuple[str, ...]:
    """Return the names of all protocols, or of those that run in a model.

    Examples
    --------
    >>> "codeword" in protocols("local"), "codeword" in protocols("central")
    (True, False)
    """
    return tuple(name for name in PROTOCOLS if model is None or model in PROTOCOLS[name].models)


def parameters_class(protocol: object, model: object) -> type[Parameters]:
    """Return the class of a protocol's parameters in a model, or raise PlanError."""
    name = checked_choice("protocol", protocol, protocols())
    model = checked_choice("model", model, MODELS)
    chosen = PROTOCOLS[name]
    if model not in chosen.models:
        allowed = " or ".join(sorted(chosen.models))
        raise PlanError(f"protocol {name} does not run in the {model} model; it needs model {allowed}")
    return cast("type[Parameters]", chosen.load(chosen.models[model]))


def design_options(protocol: str, model: str) -> tuple[str, ...]:
    """Return the names of the options that a protocol's design takes in a model: its keyword arguments.

    Those of `**tree: Unpack[TreeOptions]` are the keys of that TypedDict.

    Examples
    --------
    >>> design_options("codeword", "shuffle")
    ('minimum_batch', 'local_cap')
    """
    parameters_class(protocol, model)
    design = _design(protocol, model)
    names: list[str] = []
    for option in tuple(signature(design).parameters.values())[1:]:
        if option.kind is Parameter.VAR_KEYWORD:
            names += get_type_hints(get_args(get_type_hints(design)[option.name])[0])
        else:
            names.append(option.name)
    return tuple(names)


def design_parameters(protocol: str, facts: Facts, options: Mapping[str, Any]) -> Parameters:
    """Choose the parameters of a plan by the design of its protocol and model."""
    known = design_options(protocol, facts.model)
    try:
        checked_options(f"protocol {protocol} in the {facts.model} model", known, options)
    except PlanError as error:
        wanted = min(set(options) - set(known))
        every = [(name, model) for name in PROTOCOLS for model in PROTOCOLS[name].models]
        elsewhere = [f"{name} ({model})" for name, model in every if wanted in design_options(name, model)]
        if not elsewhere:
            raise
        raise PlanError(
            f"{error}. Leave it out, or choose a protocol and model that have it: {', '.join(elsewhere)}"
        ) from None
    return _design(protocol, facts.model)(facts, **options)


def _design(protocol: str, model: str) -> Callable[..., Parameters]:
    chosen = PROTOCOLS[protocol]
    return cast("Callable[..., Parameters]", chosen.load(chosen.designs[model]))


if not TYPE_CHECKING:  # a type checker that saw this would let every misspelt name pass

    def __getattr__(name: str) -> object:
        """Load what reading a plan does not need when it is first asked for (PEP 562)."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return vars(import_module(f"{__name__}.{'table' if name == 'Table' else 'encoder'}"))[name]
