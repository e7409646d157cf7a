"""Open a store by its address: a folder, or a PostgreSQL database."""

from __future__ import annotations

import os

from coterie.store.base import Store


def open_store(address: str | os.PathLike[str]) -> Store:
    """Open a store, made if it is not there yet.

    Parameters
    ----------
    address : str or os.PathLike
        A folder for the embedded store, or `postgresql://user@host/database`.

    Raises
    ------
    StoreError
        If another process has the folder open, the store is of a newer version, or it is damaged.
    StoreUnavailableError
        If the database cannot be reached.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Plan
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> with open_store("collected") as store:
    ...     store.put_plan(plan)
    ...     store.append([(plan.id, np.zeros((2, 13), dtype=np.uint8))])
    ...     sum(len(chunk) for chunk in store.reports(plan.id)), store.study(plan.id).counts.received
    True
    [None]
    (1, 2)
    """
    if isinstance(address, str) and address.startswith(("postgresql://", "postgres://")):
        from coterie.store.postgres import PostgresStore

        return PostgresStore(address)
    from coterie.store.embedded import EmbeddedStore

    return EmbeddedStore(address)
