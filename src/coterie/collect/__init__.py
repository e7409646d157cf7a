"""The collector's side: take reports in, keep them, mix them.

A collector handles bytes and ids. It cannot decode: nothing from `aggregate` to `centers` is imported.
"""

from coterie.collect.deduplicate import Deduplicator
from coterie.collect.intake import Intake, IntakeCounts, take_in

__all__ = ["Deduplicator", "Intake", "IntakeCounts", "take_in"]
