"""Where a collector keeps what it accepted: one interface (`base`), two durable implementations.

`embedded` keeps a folder, for one server. `postgres` keeps a database, for any number of them. `open_store`
chooses by the address. A store holds the public plans, people's reports, and what a study leaves. It handles
bytes and ids; it cannot decode.

What a third would need: ARCHITECTURE.md, "To add a store".
"""

from coterie.errors import (
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StudyClosedError,
    UnknownPlanError,
)
from coterie.store.base import Batch, Counts, Lost, Store, Study, StudyState
from coterie.store.open import open_store

__all__ = [
    "Batch",
    "Counts",
    "Lost",
    "Store",
    "StoreError",
    "StoreFullError",
    "StoreUnavailableError",
    "Study",
    "StudyClosedError",
    "StudyState",
    "UnknownPlanError",
    "open_store",
]
