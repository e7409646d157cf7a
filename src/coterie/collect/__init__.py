"""The collector's side: take reports in, keep them, mix them.

A collector handles bytes and ids. It cannot decode: nothing from `aggregate` to `centers` is imported.
"""

from coterie.collect.batches import Batches
from coterie.collect.deduplicate import Deduplicator
from coterie.collect.intake import Intake, IntakeCounts, take_in
from coterie.collect.skips import Skipped

__all__ = ["Batches", "Deduplicator", "Intake", "IntakeCounts", "Skipped", "take_in"]
