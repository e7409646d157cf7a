"""The one object behind which a protocol lies.

An entry is a thing, or "module:name", relative to the protocol's folder where it begins with a dot, and then
loaded when it is first asked for: whoever reads a plan of one protocol loads that one alone, and a device
loads parameters, report and encoder and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from coterie.errors import bringing

Where = str | Callable[..., Any]


@cache
def loaded(where: str, package: str | None = None) -> Any:
    """Return what "module:name" names; MissingExtraError where it needs what is not installed."""
    module, _, name = where.partition(":")
    with bringing("analyst"):
        return vars(import_module(module, package))[name]


@dataclass(frozen=True, slots=True)
class Decoder:
    """One way from tables to a solution, and what it may be asked."""

    find: Where  # of (tables, clusters, Generator) and what it takes besides: a `Solution`
    unfit: Where | None = None  # of (tables): why it cannot read them, or None
    _: KW_ONLY
    chooses: bool = False  # takes `choose=True`: another number of clusters if that is better
    several: bool = False  # reads several tables together
    any_number: bool = True  # finds another number of clusters than the plan's, too
    takes_solver: bool = False  # clusters a private coreset
    options: tuple[str, ...] = ()  # names of what it can be told besides
    medians: bool = True  # the population of its solution can be asked for medians
    distance: Where | None = None  # of (tables, Solution of medians, Generator): a `Distance`, or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """What the rest of the package asks of a protocol.

    Attributes
    ----------
    models : mapping of str to entry
        The class of its parameters (`Parameters`), by the trust models that it runs in.
    designs : mapping of str to entry
        By the same: a function `(Facts, *, options) -> Parameters` that chooses them. Its keyword arguments
        are the options that `Plan.design` takes; those that designs share are a TypedDict,
        `**tree: Unpack[TreeOptions]`.
    encoder : entry
        Of a plan: an `Encoder`.
    table : entry
        A class of `Table`: integers that merge.
    decoders : mapping of str to Decoder
        By name; the first that can read the tables is the default.
    form, message_form : entry, optional
        Of a plan: the `Form` of its reports, and of what its table adds up. By default the form follows from
        the answers of a report (`Parameters.parts`), and tables add up reports.
    mix : entry, optional
        Of a plan and all reports of a batch: what a shuffler releases of them, piece by piece. By default the
        reports.
    channel : entry, optional
        Of parameters, facts and a number of people: the noise of the table, for the forecast, or None.
    leverage : entry, optional
        Of a plan: what one forged report may weigh (`Leverage`), or None. By default that is not known.
    simulate : entry, optional
        Of a plan, points, a number of people and a Generator: a table of so many people like the points.
    audit : entry, optional
        A class of `coterie.audit.reading.Reader`: how the audit reads reports. By default by their answers.
    canaries : entry, optional
        Broken clients that the audit must catch, by name: functions that return its checks of one.
    takes_directions : bool
        Whether reports can speak of some directions of a point alone (`Plan.directions`).
    package : str, optional
        The folder that entries are relative to.
    """

    models: Mapping[str, Where]
    designs: Mapping[str, Where]
    encoder: Where
    table: Where
    decoders: Mapping[str, Decoder]
    form: Where | None = None
    message_form: Where | None = None
    mix: Where | None = None
    channel: Where | None = None
    leverage: Where | None = None
    simulate: Where | None = None
    audit: Where | None = None
    canaries: str | None = None
    takes_directions: bool = False
    package: str | None = field(default=None, repr=False)

    def load(self, where: Where) -> Any:
        """Return what an entry names."""
        return loaded(where, self.package) if isinstance(where, str) else where

    @property
    def reads_several(self) -> bool:
        """Whether a decoder reads several tables together."""
        return any(decoder.several for decoder in self.decoders.values())
