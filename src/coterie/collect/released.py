"""Which reports have left the shuffler: each enters one batch, ever.

A folder per plan, named by the plan's id, so that every copy of a plan meets the same memory; in it one file
a batch, named by the batch's digest; it holds the sorted 12-byte ids of the batch.

    bytes 0-15 "COTERIE-RELEASED"    16-47 plan id    48-55 number of ids    then the ids    then SHA-256 of
    all

The entry is written, and flushed to the disk, *before* the batch itself appears. If the machine stops between
the two, the same reports make the same batch with the same digest, and that one may be finished; reports of
any other batch are left out. A damaged entry refuses everything: what was released is then unknown.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError, ReportError
from coterie.plain.files import read_bounded, replacing
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES

MAGIC: Final = b"COTERIE-RELEASED"
SUFFIX: Final = ".released"
MOST_BYTES: Final = 1 << 32  # of a record: more than the ids of the largest batch

_HEADER: Final = struct.Struct(">16s32sQ")
_DIGEST_BYTES: Final = 32
_ID: Final = np.dtype((np.void, ID_BYTES))


class Released:
    """The memory of one plan's batches; made by `open_released`, which holds its lock."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder = folder
        self._plan = plan

    def holds(self, batch: bytes) -> bool:
        """Tell whether this very batch was recorded before."""
        entry = self._folder / (batch.hex() + SUFFIX)
        if not entry.exists():
            return False
        self._read(entry)  # damaged, it would say nothing
        return True

    def released_before(self, ids: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Tell which ids are in a recorded batch: (n, 12) -> (n,)."""
        found = np.zeros(len(ids), dtype=bool)
        for entry in sorted(self._folder.glob(f"*{SUFFIX}")):
            found |= np.isin(_as_ids(ids), self._read(entry))
        return found

    def record(self, batch: bytes, ids: NDArray[np.uint8]) -> bool:
        """Record a batch; return False if this very batch was recorded before.

        Parameters
        ----------
        batch : bytes
            Digest of the batch, 32 bytes.
        ids : ndarray of uint8, shape (n, 12)
            Its ids, sorted, each once.

        Raises
        ------
        ReportError
            If an id of another batch is among them; nothing was recorded.
        """
        name = batch.hex() + SUFFIX
        for entry in sorted(self._folder.glob(f"*{SUFFIX}")):
            others = self._read(entry)
            if entry.name == name:
                return False
            shared = np.isin(_as_ids(ids), others).sum()
            if shared:
                raise ReportError(
                    f"{shared} of {len(ids)} reports were released before, in batch {entry.stem[:12]}…; each "
                    "report enters one batch, ever: leave the files of that batch out. Nothing was released"
                )
        body = _HEADER.pack(MAGIC, self._plan.id_bytes, len(ids)) + ids.tobytes()
        with replacing(self._folder / name) as file:
            file.write(body + hashlib.sha256(body).digest())
        return True

    def _read(self, entry: Path) -> NDArray[np.void]:
        data = read_bounded(entry, MOST_BYTES, "a record of a batch")
        body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
        if len(body) < _HEADER.size or hashlib.sha256(body).digest() != digest:
            raise FileError(
                entry,
                len(body),
                "the SHA-256 of everything before it",
                "a damaged record of a batch; restore it",
            )
        magic, plan_id, count = _HEADER.unpack_from(body)
        if magic != MAGIC or len(body) != _HEADER.size + count * ID_BYTES:
            raise FileError(entry, 0, f"{MAGIC!r} and {count} ids")
        if plan_id != self._plan.id_bytes:
            raise FileError(entry, 16, f"plan {self._plan.id}", f"plan {plan_id.hex()}")
        return np.frombuffer(body, dtype=_ID, offset=_HEADER.size)


@contextlib.contextmanager
def open_released(folder: str | os.PathLike[str], plan: Plan) -> Iterator[Released]:
    """Open the memory of a plan's batches in `folder`, made if need be; one process at a time holds it.

    Examples
    --------
    >>> plan = Plan.design(2, 2, 1.0, 1000, model="shuffle", delta=1e-6)
    >>> with open_released("released", plan) as released:
    ...     released.record(bytes(32), np.zeros((1, 12), dtype=np.uint8))
    True
    """
    path = Path(folder) / plan.id
    path.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)  # no lock file that could be removed
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # let go when the handle is closed, also by a crash
        yield Released(path, plan)
    finally:
        os.close(handle)


def default_folder() -> Path:
    """Return where this user's shufflers remember released ids: one place, wherever the plans lie.

    `$XDG_STATE_HOME/coterie/released`, or `~/.local/state/coterie/released`.
    """
    state = os.environ.get("XDG_STATE_HOME") or ""
    root = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return root / "coterie" / "released"


def _as_ids(ids: NDArray[np.uint8]) -> NDArray[np.void]:
    return np.ascontiguousarray(ids).view(_ID)[:, 0]
