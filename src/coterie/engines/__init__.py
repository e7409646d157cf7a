"""Engines play a whole protocol: every person's encoder, then the collector's table.

`play` does it in this process, report by report. For vector sums, `sent_table` really sends and mixes every
share, and `drawn_table` draws the sums from their law.
"""

from coterie.engines.inline import encode_in_chunks, play
from coterie.engines.vector_sums import drawn_table, sent_table

__all__ = ["drawn_table", "encode_in_chunks", "play", "sent_table"]
