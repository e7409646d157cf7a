"""The public contract of a study: what is asked, of how many, how privately, with which parameters.

A `Plan` is frozen, has one canonical JSON, and is named by the SHA-256 of it. Clients and server share
nothing else. `theory_constants` are those of the paper's theorems; `design_options` lists what a protocol's
design can be told.
"""

from coterie.plan.approximation import Approximation
from coterie.plan.net_tree_design import TheoryConstants, theory_constants
from coterie.plan.plan import Plan
from coterie.plan.protocols import design_options

__all__ = ["Approximation", "Plan", "TheoryConstants", "design_options", "theory_constants"]
