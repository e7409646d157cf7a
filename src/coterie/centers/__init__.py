"""From a table to k centers: denoising, weighted k-means, one decoder a protocol.

All of it is post-processing of private reports and costs no privacy.
"""

from coterie.centers.decode import decode
from coterie.centers.k_means_decoder import NetTreeOutcome, Solver, k_means_decoder
from coterie.centers.local_search import LocalSearch
from coterie.centers.lsh_tree import LshTreeOutcome
from coterie.centers.result import Population, Result

__all__ = [
    "LocalSearch",
    "LshTreeOutcome",
    "NetTreeOutcome",
    "Population",
    "Result",
    "Solver",
    "decode",
    "k_means_decoder",
]
