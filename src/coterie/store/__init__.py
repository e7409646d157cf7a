"""Where a collector keeps what it accepted: one interface (`base`), durable implementations.

A store holds the public plans, people's reports, and what a study leaves. It handles bytes and ids; it cannot
decode.
"""

from coterie.store.base import Counts, Store, Study, StudyState

__all__ = ["Counts", "Store", "Study", "StudyState"]
