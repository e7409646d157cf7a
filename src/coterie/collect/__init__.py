"""The collector's side: take reports in, keep them, mix them.

A collector handles bytes and ids. It cannot decode: nothing from `aggregate` to `centers` is imported.
"""

from coterie.collect.deduplicate import Deduplicator
from coterie.collect.forms import Skipped
from coterie.collect.intake import Intake, IntakeCounts, take_in
from coterie.collect.uploads import Accepted, take_uploads

__all__ = ["Accepted", "Deduplicator", "Intake", "IntakeCounts", "Skipped", "take_in", "take_uploads"]
