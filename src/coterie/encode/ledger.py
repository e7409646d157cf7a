"""The ledger: a device's memory of its answers, so that a retry never spends privacy twice.

    lock → read → (answered: return those bytes) → make the report → write → fsync → rename → fsync → return

Whatever goes wrong, at most one report of a plan is ever returned:

- The whole ledger is written under another name, flushed, then renamed over the old one. After a crash there
  is the old ledger or the new one, never a torn one. A report whose rename did not happen was never returned,
  so drawing another in its place reveals nothing; one whose rename happened is found and returned next time.
- A report that is found may stand in a rename that the disk does not hold yet (the process died just then),
  so the folder is flushed before a report is returned, found or new.
- Two processes or threads take turns by an exclusive lock on a file beside the ledger.
- A ledger that cannot be read is an error and never a reason to draw again.

It holds plan ids and reports, nothing else: not the point, not the coins, not the cap. It never compares
points: the first answer stands, whatever the value is now. Deleting the ledger, or restoring an older copy of
it, forgets answers, and the promise then holds for each report by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from coterie.errors import LedgerError
from coterie.plan import Plan
from coterie.plan.files import sync_folder

MAGIC: Final = b"COTERIE-LEDGER\n"
VERSION: Final = 1
MAX_BYTES: Final = 1 << 20  # some twenty thousand answers

_HEADER: Final = struct.Struct(">15sB")
_RECORD: Final = struct.Struct(">32sH")  # plan id, length of the report that follows
_DIGEST_BYTES: Final = 32
_OWNER_ONLY: Final = 0o600


class Ledger:
    """One file on one device. The folder must exist; the file is made with the first answer.

    Parameters
    ----------
    path : str or os.PathLike
        The ledger. Beside it lie `<path>.lock` and, after a crash, perhaps `<path>.new`.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> ledger = Ledger("answers")
    >>> ledger.answer(plan, lambda: b"thirteen byte") == ledger.answer(plan, lambda: b"another bytes")
    True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()  # two names of one ledger must meet at one lock
        self._lock_path = self.path.with_name(self.path.name + ".lock")
        self._new_path = self.path.with_name(self.path.name + ".new")

    def answer(self, plan: Plan, make: Callable[[], bytes]) -> bytes:
        """Return the plan's one report: the stored one, or the one that `make` makes now.

        `make` is called only if the plan was never answered. Its report is on the disk before it is returned.

        Raises
        ------
        LedgerError
            If the ledger cannot be locked, read or written. No report has been returned then.
        """
        try:
            with self._locked():
                answers = self._read()
                if plan.id_bytes not in answers:
                    answers[plan.id_bytes] = make()
                    self._write(answers)
                sync_folder(self.path.parent)
                return answers[plan.id_bytes]
        except OSError as error:
            raise LedgerError(
                f"{self.path}: the ledger cannot be used ({error.strerror}) and no report was returned; "
                "give it a folder that exists and can be written, then ask again"
            ) from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the exclusive lock, waiting for whoever has it."""
        try:
            import fcntl
        except ImportError:
            raise LedgerError("a ledger needs POSIX file locks, which this system does not have") from None
        while True:
            handle = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                if self._is_lock_file(handle):
                    yield
                    return
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)  # closing would not do it while a forked child has a copy
                os.close(handle)

    def _is_lock_file(self, handle: int) -> bool:
        """Tell whether `handle` still has its name; if it was removed while we waited, it locks nothing."""
        try:
            return os.path.samestat(os.fstat(handle), self._lock_path.stat())
        except FileNotFoundError:
            return False

    def _read(self) -> dict[bytes, bytes]:
        """Return the stored reports by plan id."""
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return {}
        try:
            return _parse(data)
        except ValueError as error:
            raise LedgerError(
                f"{self.path}: the ledger is damaged ({error}) and cannot tell whether this plan was "
                "answered, so no report was made; restore it from a copy. Removing it forgets all answers, "
                "and a second report spends privacy twice"
            ) from None

    def _write(self, answers: dict[bytes, bytes]) -> None:
        """Replace the ledger; the old one stays until the new one is on the disk."""
        data = _format(answers)
        if len(data) > MAX_BYTES:
            raise LedgerError(
                f"{self.path}: the ledger is full ({MAX_BYTES} bytes); use another for new plans"
            )
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(self._new_path, flags, _OWNER_ONLY)  # a leftover of a crash is overwritten
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        self._new_path.replace(self.path)


def _format(answers: dict[bytes, bytes]) -> bytes:
    data = _HEADER.pack(MAGIC, VERSION)
    for plan_id, report in answers.items():
        data += _RECORD.pack(plan_id, len(report)) + report
    return data + hashlib.sha256(data).digest()


def _parse(data: bytes) -> dict[bytes, bytes]:
    """Read a ledger's bytes; ValueError says what is wrong."""
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if len(data) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES} bytes")
    if len(data) < _HEADER.size + _DIGEST_BYTES:
        raise ValueError(f"only {len(data)} bytes")
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("its digest does not match")
    magic, version = _HEADER.unpack_from(body)
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError("no ledger of version 1")
    answers: dict[bytes, bytes] = {}
    offset = _HEADER.size
    while offset < len(body):
        if len(body) - offset < _RECORD.size:
            raise ValueError(f"a record is cut short at byte {offset}")
        plan_id, width = _RECORD.unpack_from(body, offset)
        offset += _RECORD.size
        if len(body) - offset < width:
            raise ValueError(f"a report is cut short at byte {offset}")
        answers[plan_id] = body[offset : offset + width]
        offset += width
    return answers
