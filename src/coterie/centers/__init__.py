"""From a table to k centers: denoising, weighted k-means, one decoder a protocol.

All of it is post-processing of private reports and costs no privacy. What few studies need is loaded when it
is asked for: comparing, confirming, the paper's protocols.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coterie.centers.decode import decode
from coterie.centers.result import Choice, Interval, Population, Result
from coterie.centers.solution import Solution

if TYPE_CHECKING:
    from coterie.centers.comparing import compare
    from coterie.centers.comparison import Comparison, Difference
    from coterie.centers.confirmed import Confirmed, ConfirmedGroup, Pair
    from coterie.protocols.paper.k_means import NetTreeOutcome, Solver, k_means_decoder
    from coterie.protocols.paper.local_search import LocalSearch

__all__ = [
    "Choice",
    "Comparison",
    "Confirmed",
    "ConfirmedGroup",
    "Difference",
    "Interval",
    "LocalSearch",
    "NetTreeOutcome",
    "Pair",
    "Population",
    "Result",
    "Solution",
    "Solver",
    "compare",
    "decode",
    "k_means_decoder",
]

_LATER = {
    "compare": "coterie.centers.comparing",
    "Comparison": "coterie.centers.comparison",
    "Confirmed": "coterie.centers.confirmed",
    "ConfirmedGroup": "coterie.centers.confirmed",
    "Difference": "coterie.centers.comparison",
    "Pair": "coterie.centers.confirmed",
    "LocalSearch": "coterie.protocols.paper.local_search",
    "NetTreeOutcome": "coterie.protocols.paper.k_means",
    "Solver": "coterie.protocols.paper.k_means",
    "k_means_decoder": "coterie.protocols.paper.k_means",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
