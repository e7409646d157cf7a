"""The ledger: a device's memory of its answers, so that a retry never spends privacy twice.

    lock → read → (answered: return those bytes) → may it be? → make → write → fsync → rename → fsync → return

Whatever goes wrong, at most one answer to a plan is ever returned, and one plan of a study is ever answered:

- The whole ledger is written under another name, flushed, then renamed over the old one. After a crash there
  is the old ledger or the new one, never a torn one. A report whose rename did not happen was never returned,
  so drawing another in its place reveals nothing; one whose rename happened is found and returned next time.
- A report that is found may stand in a rename that the disk does not hold yet (the process died just then),
  so the folder is flushed before a report is returned, found or new.
- Two processes or threads take turns by an exclusive lock on the ledger's folder, which nobody can remove
  while there is a ledger in it. A child forked inside the lock gives its copy up and returns nothing. Where
  there are no such locks (Windows) they take turns by `<path>.lock`, which cannot be removed there while
  somebody holds it (`filelock`, docs/decisions/0061-ledgers-elsewhere.md).
- A ledger that cannot be read is an error and never a reason to draw again: a damaged one, a pipe, a link, a
  file with a second name (the other name would keep the old contents).

It holds, for each plan answered, the plan's id, its study, the day, what the plan may spend (exact fractions)
and what was sent: not the point, not the coins, not the cap. What was spent is the sum of what stands there,
so no running total can be torn from its answers. It never compares points: the first answer stands, whatever
the value is now. Deleting the ledger, or restoring an older copy of it, forgets answers, and the promise then
holds for each report by itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from coterie.errors import LedgerError, PolicyError
from coterie.plain.files import DIGEST_BYTES, AnyPath, sealed, sync_folder, unsealed
from coterie.plan import Plan
from coterie.privacy.policy import Policy, Spending

MAGIC: Final = b"COTERIE-LEDGER\n"
VERSION: Final = 2
MAX_BYTES: Final = 1 << 20  # some eight thousand answers

_HEADER: Final = struct.Struct(">15sB")
_RECORD: Final = struct.Struct(">32s32sIHH")  # plan id, study id, day, lengths of the figures and the answer
_OWNER_ONLY: Final = 0o600
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)  # 0 on Windows, where making a link takes a privilege
_BINARY: Final = getattr(os, "O_BINARY", 0)  # only Windows has another way to write
_SECONDS_A_DAY: Final = 86400
_FRACTION: Final = re.compile(r"(0|[1-9][0-9]{0,399})(/[1-9][0-9]{0,399})?")
_NO_BOUND: Final = "inf"


@dataclass(frozen=True, slots=True)
class Answer:
    """One plan that was answered: which, of what study, when, at what cost, and the bytes that were sent."""

    plan_id: bytes
    study_id: bytes
    day: int  # since 1970-01-01, UTC
    spending: Spending
    sent: bytes


@dataclass(frozen=True, slots=True)
class Spent:
    """What a ledger's plans may have spent of its owner's privacy, in all.

    Attributes
    ----------
    total : Spending
        Exact sums of ε, δ and ε₀.
    answers : tuple of Answer
        What was answered, in order.
    """

    total: Spending
    answers: tuple[Answer, ...]


class Ledger:
    """One file on one device. The folder must exist; the file is made with the first answer.

    Parameters
    ----------
    path : str or os.PathLike
        The ledger. After a crash there may be a `<path>.new` beside it, which means nothing.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> ledger = Ledger("answers")
    >>> ledger.answer(plan, lambda: b"thirteen byte") == ledger.answer(plan, lambda: b"another bytes")
    True
    >>> print(ledger.spent().total)
    epsilon 1, delta 0, local epsilon 1
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = Path(path).resolve()  # two names of one ledger must meet at one lock
        self._new_path = self.path.with_name(self.path.name + ".new")

    def answer(self, plan: Plan, make: Callable[[], bytes], *, policy: Policy | None = None) -> bytes:
        """Return the plan's one answer: the stored one, or the one that `make` makes now.

        `make` is called only if the plan was never answered, no other plan of its study was, and `policy`
        (if any) allows what it adds to all that was spent. The answer is on the disk before it is returned.

        Raises
        ------
        LedgerError
            If the ledger cannot be locked, read or written, or the study was answered. Nothing was returned.
        PolicyError
            If more would be spent in all than the policy allows. Nothing was drawn.
        """
        with self._usable(), self._locked() as held_by:
            answers = self._read()
            if plan.id_bytes not in answers:
                today = int(time.time()) // _SECONDS_A_DAY
                self._check(plan, policy, answers, today)
                study = bytes.fromhex(plan.study_id)
                made = Answer(plan.id_bytes, study, today, plan.spending, make())
                if os.getpid() != held_by:
                    raise LedgerError(
                        "a child process was forked inside the ledger's lock: its parent answers"
                    )
                answers[plan.id_bytes] = made
                self._write(answers)
            sync_folder(self.path.parent)
            return answers[plan.id_bytes].sent

    def spent(self, *, days: int | None = None) -> Spent:
        """Return what was spent, for good or in the last so many days: for the owner's eyes.

        Examples
        --------
        >>> Ledger("none yet").spent().answers
        ()
        """
        today = int(time.time()) // _SECONDS_A_DAY
        with self._usable(), self._locked():
            return _spent(self._read(), days, today)

    def _check(self, plan: Plan, policy: Policy | None, answers: dict[bytes, Answer], today: int) -> None:
        study = bytes.fromhex(plan.study_id)
        for other in answers.values():
            if other.study_id == study:
                raise LedgerError(
                    f"{self.path}: this device answered plan {other.plan_id.hex()[:12]}… of the same study; "
                    "one plan of a study is answered, ever, and no report was made"
                )
        if policy is None:
            return
        try:
            policy.check_total(_spent(answers, policy.days, today).total, plan.spending)
        except PolicyError as error:
            period = "" if policy.days is None else f" in {policy.days} days"
            raise PolicyError(f"{self.path}: {error}{period}") from None

    @contextlib.contextmanager
    def _usable(self) -> Iterator[None]:
        """Turn what the operating system says into an error of the ledger."""
        try:
            yield
        except OSError as error:
            raise LedgerError(
                f"{self.path}: the ledger cannot be used ({error.strerror}) and no report was returned; "
                "give it a folder that exists and can be written, then ask again"
            ) from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """Hold the exclusive lock, waiting for whoever has it; yield the process that does."""
        holder = os.getpid()
        try:
            import fcntl
        except ImportError:  # Windows
            with self._locked_elsewhere():
                yield holder
            return
        handle = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        _held.add(handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield holder
        finally:
            if os.getpid() == holder:  # in a forked child the handle is closed already
                _held.discard(handle)
                fcntl.flock(handle, fcntl.LOCK_UN)
                os.close(handle)

    @contextlib.contextmanager
    def _locked_elsewhere(self) -> Iterator[None]:
        """Hold the exclusive lock where folders have none: on a file beside the ledger."""
        try:
            from filelock import FileLock
        except ImportError:
            raise LedgerError(
                "a ledger needs POSIX file locks or the package filelock (pip install filelock)"
            ) from None
        with FileLock(self.path.with_name(self.path.name + ".lock")):
            yield

    def _read(self) -> dict[bytes, Answer]:
        """Return the stored answers by plan id."""
        try:
            # Without O_NONBLOCK, a pipe in the ledger's place would keep us waiting for ever.
            handle = os.open(self.path, os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | _BINARY)
        except FileNotFoundError:
            return {}
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise LedgerError(f"{self.path}: the ledger is no ordinary file, and no report was made")
            if found.st_nlink > 1:
                raise LedgerError(
                    f"{self.path}: the ledger has a second name (a hard link), which would keep the old "
                    "contents; remove one, then ask again. No report was made"
                )
            data = file.read(MAX_BYTES + 1)
        try:
            return _parse(data)
        except ValueError as error:
            raise LedgerError(
                f"{self.path}: the ledger is damaged ({error}) and cannot tell whether this plan was "
                "answered, so no report was made; restore it from a copy. Removing it forgets all answers, "
                "and a second report spends privacy twice"
            ) from None

    def _write(self, answers: dict[bytes, Answer]) -> None:
        """Replace the ledger; the old one stays until the new one is on the disk."""
        data = _format(answers)
        if len(data) > MAX_BYTES:
            raise LedgerError(
                f"{self.path}: the ledger is full ({MAX_BYTES} bytes); use another for new plans"
            )
        self._new_path.unlink(missing_ok=True)  # a leftover of a crash, or planted: its inode is not reused
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _BINARY
        handle = os.open(self._new_path, flags, _OWNER_ONLY)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        self._new_path.replace(self.path)


_held: set[int] = set()  # handles of locks that this process holds or waits for


def _give_up_locks() -> None:
    """Close a forked child's copies: a lock lasts as long as any copy of its handle is open."""
    for handle in _held:
        os.close(handle)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_give_up_locks)


def _spent(answers: dict[bytes, Answer], days: int | None, today: int) -> Spent:
    """Sum up; an answer from the future (a clock that was set back) counts in every period."""
    counted = tuple(one for one in answers.values() if days is None or one.day > today - days)
    total = Spending.nothing()
    for one in counted:
        total += one.spending
    return Spent(total, counted)


def _format(answers: dict[bytes, Answer]) -> bytes:
    data = bytearray(_HEADER.pack(MAGIC, VERSION))
    for one in answers.values():
        figures = _figures(one.spending)
        data += _RECORD.pack(one.plan_id, one.study_id, one.day, len(figures), len(one.sent))
        data += figures + one.sent
    return sealed(bytes(data))


def _figures(spending: Spending) -> bytes:
    local = _NO_BOUND if spending.local_epsilon is None else str(spending.local_epsilon)
    return f"{spending.epsilon} {spending.delta} {local}".encode("ascii")


def _parse(data: bytes) -> dict[bytes, Answer]:
    """Read a ledger's bytes; ValueError says what is wrong."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES} bytes")
    if len(data) < _HEADER.size + DIGEST_BYTES:
        raise ValueError(f"only {len(data)} bytes")
    body = unsealed(data, "the ledger")
    magic, version = _HEADER.unpack_from(body)
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError(f"no ledger of version {VERSION}")
    answers: dict[bytes, Answer] = {}
    offset = _HEADER.size
    while offset < len(body):
        if len(body) - offset < _RECORD.size:
            raise ValueError(f"a record is cut short at byte {offset}")
        plan_id, study_id, day, figures, width = _RECORD.unpack_from(body, offset)
        offset += _RECORD.size
        if len(body) - offset < figures + width:
            raise ValueError(f"an answer is cut short at byte {offset}")
        spending = _spending(body[offset : offset + figures], offset)
        offset += figures + width
        if plan_id in answers:
            raise ValueError(f"a plan stands there twice, the second time before byte {offset}")
        answers[plan_id] = Answer(plan_id, study_id, day, spending, body[offset - width : offset])
    return answers


def _spending(figures: bytes, offset: int) -> Spending:
    words = figures.decode("ascii", errors="replace").split(" ")
    if len(words) != 3 or not all(
        _FRACTION.fullmatch(word) or (place == 2 and word == _NO_BOUND) for place, word in enumerate(words)
    ):
        raise ValueError(f"figures that are no fractions at byte {offset}")
    local = None if words[2] == _NO_BOUND else Fraction(words[2])
    return Spending(Fraction(words[0]), Fraction(words[1]), local)
