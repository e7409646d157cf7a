"""Open a store by its address: a folder, or a PostgreSQL database."""

from __future__ import annotations

import os
from pathlib import Path

from coterie.errors import StoreError
from coterie.plain.files import AnyPath
from coterie.store.base import Store


def open_store(address: AnyPath, *, make: bool = True, wait: bool = False) -> Store:
    """Open a store, made if it is not there yet.

    Parameters
    ----------
    address : str or os.PathLike
        A folder for the embedded store, or `postgresql://user@host/database`.
    make : bool
        Whether a folder that is no store yet becomes one; whoever only reads says no.
    wait : bool
        Whether to wait while another process has the folder open.

    Raises
    ------
    StoreError
        If another process has the folder open, the store is of a newer version, or it is damaged; or if there
        is none.
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
    if is_database(address):
        from coterie.store.postgres import PostgresStore

        return PostgresStore(str(address))
    if isinstance(address, str) and "://" in address:
        kind = address.partition("://")[0]
        raise StoreError(f"there is no store of kind {kind[:20]}://; give a folder or postgresql://…")
    if not make:
        store_folder(address)
    from coterie.store.embedded import EmbeddedStore

    return EmbeddedStore(address, wait=wait)


def store_folder(address: AnyPath) -> Path:
    """Return the folder of an embedded store; StoreError if it holds none."""
    folder = Path(address).absolute()
    if not (folder / "store").is_file():
        words = "holds no store; give the one that a collector keeps, DATA/store"
        raise StoreError(f"{os.fspath(address)} {words}")
    return folder


def is_database(address: AnyPath) -> bool:
    """Return whether an address is a PostgreSQL database's."""
    return isinstance(address, str) and address.startswith(("postgresql://", "postgres://"))
