"""Records: declared features, the ball that follows from them, the way from a record to a point and back.

Names are looked up on first use: a device whose plan declares no features loads none of this.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coterie.features.category import Category
    from coterie.features.cycle import Cycle
    from coterie.features.embedding import Embedding
    from coterie.features.feature import Feature
    from coterie.features.flag import Flag
    from coterie.features.number import Number
    from coterie.features.ordinal import Ordinal
    from coterie.features.reading import Estimate
    from coterie.features.schema import Schema

__all__ = ["Category", "Cycle", "Embedding", "Estimate", "Feature", "Flag", "Number", "Ordinal", "Schema"]

if not TYPE_CHECKING:  # a type checker that saw this would let every misspelt name pass

    def __getattr__(name: str) -> object:
        """Import a public name from its module on first use (PEP 562)."""
        if name not in __all__:
            raise AttributeError(f"module 'coterie.features' has no attribute {name!r}")
        module = "reading" if name == "Estimate" else name.lower()
        value = getattr(import_module(f"coterie.features.{module}"), name)
        globals()[name] = value
        return value
