"""The public contract of a study: what is asked, of how many, how privately, with which parameters.

A `Plan` is frozen, has one canonical JSON, and is named by the SHA-256 of it. Clients and server share
nothing else. `theory_constants` are those of the paper's theorems; `design_options` lists what a protocol's
design can be told. What a device does not need is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from coterie.plan.plan import Plan
from coterie.protocols import design_options, protocols

if TYPE_CHECKING:
    from coterie.protocols.paper.approximation import Approximation, TheoryConstants, theory_constants

__all__ = ["Approximation", "Plan", "TheoryConstants", "design_options", "protocols", "theory_constants"]

if not TYPE_CHECKING:  # a type checker that saw this would let every misspelt name pass

    def __getattr__(name: str) -> object:
        """Load what only an analyst needs when it is first asked for (PEP 562)."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return vars(import_module("coterie.protocols.paper.approximation"))[name]
