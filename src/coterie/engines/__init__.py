"""Engines play a whole protocol: every person's encoder, then the collector's table.

`play` is the loop, an engine the way it runs: `engine("inline")` is this process, report by report. For
vector sums, `drawn_table` draws the sums from their law instead, which is all that a server would see.
"""

from coterie.engines.base import Engine, Partition
from coterie.engines.inline import Inline
from coterie.engines.play import ENGINES, engine, play
from coterie.engines.vector_sums import drawn_table

__all__ = ["ENGINES", "Engine", "Inline", "Partition", "drawn_table", "engine", "play"]
