"""The protocols a plan may name, by protocol and model: the class of their parameters, and their design.

Adding one is a line in each table. An entry written as "module:name" is loaded when it is first asked for, so
that whoever reads a plan of one protocol loads that one alone, and a device never loads a design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, Final, TypeVar, cast, get_args, get_type_hints

from coterie.errors import PlanError, bringing
from coterie.plain.checks import checked_choice, checked_options
from coterie.privacy import MODELS
from coterie.protocols.base import Facts, Parameters

Key = TypeVar("Key")
Entry = TypeVar("Entry")

# Chooses a protocol's parameters from the public facts of a study, all of them checked before, and from the
# options that the protocol has besides: its keyword arguments.
Design = Callable[..., Parameters]


class Registry(MutableMapping[Key, Entry]):
    """A table whose entries may be written "module:name", to be loaded on first use.

    Examples
    --------
    >>> roots = Registry({"of 2": "math:sqrt"})
    >>> roots["of 2"](2.0) < 1.5
    True
    """

    def __init__(self, entries: Mapping[Key, str | Entry]) -> None:
        self._entries: dict[Key, str | Entry] = dict(entries)

    def __getitem__(self, key: Key) -> Entry:
        entry = self._entries[key]
        if isinstance(entry, str):
            module, _, name = entry.partition(":")
            with bringing("analyst"):
                entry = self._entries[key] = cast("Entry", vars(import_module(module))[name])
        return entry

    def __setitem__(self, key: Key, entry: str | Entry) -> None:
        self._entries[key] = entry

    def __delitem__(self, key: Key) -> None:
        del self._entries[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


PARAMETERS: Final[Registry[tuple[str, str], type[Parameters]]] = Registry(
    {
        ("codeword", "local"): "coterie.protocols.codeword.parameters:CodewordParameters",
        ("codeword", "shuffle"): "coterie.protocols.codeword.amplified:AmplifiedParameters",
        ("net-tree", "local"): "coterie.protocols.paper.net_tree.parameters:LocalTreeParameters",
        ("vector-sums", "shuffle"): "coterie.protocols.vector_sums.parameters:VectorSumParameters",
        ("vector-sums", "central"): "coterie.protocols.vector_sums.parameters:VectorSumParameters",
        ("lsh-tree", "local"): "coterie.protocols.paper.lsh_tree.parameters:LshTreeParameters",
        ("net-tree-sums", "shuffle"): "coterie.protocols.paper.net_tree_sums.parameters:NetTreeSumParameters",
        ("net-tree-sums", "central"): "coterie.protocols.paper.net_tree_sums.parameters:NetTreeSumParameters",
    }
)
DESIGNS: Final[Registry[tuple[str, str], Design]] = Registry(
    {
        ("codeword", "local"): "coterie.protocols.codeword.design:design",
        ("codeword", "shuffle"): "coterie.protocols.codeword.amplified_design:design",
        ("net-tree", "local"): "coterie.protocols.paper.net_tree.design:design",
        ("vector-sums", "shuffle"): "coterie.protocols.vector_sums.design:design",
        ("vector-sums", "central"): "coterie.protocols.vector_sums.design:design",
        ("lsh-tree", "local"): "coterie.protocols.paper.lsh_tree.design:design",
        ("net-tree-sums", "shuffle"): "coterie.protocols.paper.net_tree_sums.design:design",
        ("net-tree-sums", "central"): "coterie.protocols.paper.net_tree_sums.design:design",
    }
)


def protocols(model: str | None = None) -> tuple[str, ...]:
    """Return the names of all protocols, or of those that run in a model.

    Examples
    --------
    >>> protocols("local")
    ('codeword', 'net-tree', 'lsh-tree')
    """
    return tuple(dict.fromkeys(name for name, runs_in in PARAMETERS if model in (None, runs_in)))


def parameters_class(protocol: object, model: object) -> type[Parameters]:
    """Return the class of a protocol's parameters in a model, or raise PlanError."""
    protocol = checked_choice("protocol", protocol, protocols())
    model = checked_choice("model", model, MODELS)
    if (protocol, model) not in PARAMETERS:
        allowed = " or ".join(sorted(runs_in for name, runs_in in PARAMETERS if name == protocol))
        raise PlanError(f"protocol {protocol} does not run in the {model} model; it needs model {allowed}")
    return PARAMETERS[protocol, model]


def design_options(protocol: str, model: str) -> tuple[str, ...]:
    """Return the names of the options that a protocol's design takes in a model: its keyword arguments.

    Those of `**tree: Unpack[TreeOptions]` are the keys of that TypedDict.

    Examples
    --------
    >>> design_options("codeword", "shuffle")
    ('minimum_batch', 'local_cap')
    """
    parameters_class(protocol, model)
    design = DESIGNS[protocol, model]
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
        elsewhere = [f"{name} ({model})" for name, model in DESIGNS if wanted in design_options(name, model)]
        if not elsewhere:
            raise
        raise PlanError(
            f"{error}. Leave it out, or choose a protocol and model that have it: {', '.join(elsewhere)}"
        ) from None
    return DESIGNS[protocol, facts.model](facts, **options)
