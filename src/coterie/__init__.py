"""coterie: find the k groups in data that never leaves people's devices.

Every person sends one small differentially private report, once; the server turns the reports into k
cluster centers. No trusted curator, no second round.

The names below are the public interface. They are looked up on first use, so that a device which only
encodes never loads the server's dependencies.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coterie import errors
    from coterie.aggregate import Aggregate
    from coterie.centers import Comparison, Population, Result, compare, decode
    from coterie.encode import Client, RecordKeysWarning
    from coterie.engines import simulate
    from coterie.errors import CoterieError
    from coterie.estimators import (
        ClippedPointsWarning,
        DataDependentBallWarning,
        DataDependentScaleWarning,
        LocalKMeans,
        SeededFitWarning,
        ShuffleKMeans,
        UnreadColumnsWarning,
        UnsupportedCentersWarning,
    )
    from coterie.plan import Plan
    from coterie.privacy import Policy
    from coterie.remote import RemoteCollector
    from coterie.wire.report_file import write_reports

__version__ = "0.1.0"

__all__ = [
    "Aggregate",
    "Client",
    "ClippedPointsWarning",
    "Comparison",
    "CoterieError",
    "DataDependentBallWarning",
    "DataDependentScaleWarning",
    "LocalKMeans",
    "Plan",
    "Policy",
    "Population",
    "RecordKeysWarning",
    "RemoteCollector",
    "Result",
    "SeededFitWarning",
    "ShuffleKMeans",
    "UnreadColumnsWarning",
    "UnsupportedCentersWarning",
    "__version__",
    "compare",
    "decode",
    "errors",
    "simulate",
    "write_reports",
]

_NAMES_IN = {
    "aggregate": "Aggregate",
    "centers": "Comparison Population Result compare decode",
    "encode": "Client RecordKeysWarning",
    "engines": "simulate",
    "errors": "CoterieError",
    "estimators": "LocalKMeans ShuffleKMeans ClippedPointsWarning DataDependentBallWarning "
    "DataDependentScaleWarning SeededFitWarning UnreadColumnsWarning UnsupportedCentersWarning",
    "plan": "Plan",
    "privacy": "Policy",
    "remote": "RemoteCollector",
    "wire.report_file": "write_reports",
}
_ROOM_OF = {name: f"coterie.{room}" for room, names in _NAMES_IN.items() for name in names.split()}

if not TYPE_CHECKING:  # a type checker that saw this would let every misspelt name pass

    def __getattr__(name: str) -> object:
        """Import a public name from its room on first use (PEP 562)."""
        if name == "errors":
            return import_module("coterie.errors")
        if name not in _ROOM_OF:
            raise AttributeError(f"module 'coterie' has no attribute {name!r}")
        from coterie.errors import bringing

        with bringing("analyst"):
            value = getattr(import_module(_ROOM_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
