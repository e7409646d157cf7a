"""The device's and the analyst's side of a collector (docs/collector.md): sending, receipts, asking.

Needs nothing but Python's standard library beside the plan and the wire.
"""

from coterie.errors import CollectorError
from coterie.remote.collector import Failure, RemoteCollector, Sent
from coterie.remote.receipt import Receipt

__all__ = ["CollectorError", "Failure", "Receipt", "RemoteCollector", "Sent"]
