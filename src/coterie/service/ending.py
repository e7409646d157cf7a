"""How a study ends: it is closed for good, and one day its reports are deleted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Final

from coterie.plain.canonical import canonical_bytes
from coterie.service.metrics import Metrics
from coterie.service.studies import Known
from coterie.store import Store

CLOSED: Final = "closed"  # the document that says when, rounded


class Ending:
    """Closes studies and deletes their reports. All methods block.

    Parameters
    ----------
    store : Store
        The store.
    key : bytes
        The Ed25519 key of what a study leaves, 32 bytes.
    clock : callable
        Seconds since 1970.
    """

    def __init__(self, store: Store, key: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self.store, self.key, self.clock = store, key, clock
        self.metrics = Metrics()

    def close(self, known: Known) -> int:
        """Close a study, durably; return the rounded time at which it was first closed."""
        self.store.close(known.plan.id)
        closed = canonical_bytes({"closed": known.collection.rounded(self.clock())})
        return int(json.loads(self.store.put_document(known.plan.id, CLOSED, closed))["closed"])

    def look_at(self, known: Known) -> None:
        """Do what an open study needs by the clock."""

    def is_finished(self, known: Known) -> bool:
        """Do what is left to do with a closed study; return whether its reports may be deleted in time."""
        del known
        return True

    def delete(self, known: Known) -> None:
        """Delete the reports of a closed study. Twice is once."""
        raise NotImplementedError

    def is_decoded(self, plan_id: str) -> bool:
        """Return whether a study left all that it leaves."""
        del plan_id
        return False

    def is_running(self, plan_id: str) -> bool:
        """Return whether a study is being decoded here."""
        del plan_id
        return False

    def start(self) -> None:
        """Begin what runs beside."""

    def stop(self) -> None:
        """End what runs."""
