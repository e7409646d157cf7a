"""Engines play a whole protocol: every person's encoder, then the collector's table.

`play` is the loop, an engine the way it runs: `engine("inline")` is this process, report by report,
`engine("parallel")` counts files on all cores. `growing` is a table that days are added to. `simulate` gives
the table of any number of people; for vector sums, `drawn_table` draws the sums from their law.
"""

from coterie.engines.base import Counted, Engine, Partition
from coterie.engines.growing_table import GrowingTable, growing
from coterie.engines.inline import Inline, Parallel
from coterie.engines.play import ENGINES, engine, play
from coterie.engines.simulate import simulate
from coterie.protocols.shares.law import drawn_table

__all__ = [
    "ENGINES",
    "Counted",
    "Engine",
    "GrowingTable",
    "Inline",
    "Parallel",
    "Partition",
    "drawn_table",
    "engine",
    "growing",
    "play",
    "simulate",
]
