"""The device's side: a point goes in, one private report comes out.

This room is the end of what devices run. It sees the plan, the wire and the randomizers, and nothing of the
server; no server room sees it.
"""

from coterie.encode.client import Client, RecordKeysWarning

__all__ = ["Client", "RecordKeysWarning"]
