"""Engines play a whole protocol: every person's encoder, then the collector's table.

`inline` does it in this process.
"""
