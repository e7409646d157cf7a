"""The writer: everything that waits goes to the store together, in one durable commit.

Requests put their reports here and wait. One task takes all that is waiting, one thread checks their form,
rows of all requests at once, and hands them to the store; when the disk has confirmed, all of them are
answered. While the disk works the next ones gather, so a slow disk makes larger commits, not longer queues;
what waits is bounded in bytes, and whoever comes then is told to come again.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import (
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StudyClosedError,
    UnknownPlanError,
)
from coterie.service.metrics import Metrics
from coterie.service.problems import Problem, busy
from coterie.service.studies import REASONS, Known
from coterie.store import Store
from coterie.wire.layout import ID_BYTES, TOKEN_BYTES, as_rows
from coterie.wire.tokens import token_id, token_mark

COMMIT_BYTES: Final = 1 << 23  # of one commit; what waits beyond it goes into the next

WITHDRAWN_AHEAD: Final = 10_000  # ids that may be withdrawn beyond the reports received: theirs may come yet

TAKEN: Final = 0  # a report's fate: taken, or 1 + the number of its reason
_MALFORMED, _CLOSED, _EARLY, _FULL, _TOKEN = range(1, 1 + len(REASONS))

Fates = NDArray[np.uint8]


class Waiting:
    """One request: rows of a plan, and the future that tells what became of them."""

    __slots__ = ("body", "future", "known", "withdraws")

    def __init__(
        self, known: Known, body: bytes, future: asyncio.Future[Fates | None], withdraws: bool
    ) -> None:
        self.known = known
        self.body = body
        self.future = future
        self.withdraws = withdraws


class Writer:
    """Takes reports and withdrawals to the store.

    Parameters
    ----------
    store : Store
        The store.
    metrics : Metrics
        Where commits and reports are counted.
    most_waiting : int
        Bytes that may wait.
    most_reports : int
        Reports received per plan.
    clock : callable
        Seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        metrics: Metrics,
        *,
        most_waiting: int,
        most_reports: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._most_waiting = most_waiting
        self._most_reports = most_reports
        self._clock = clock
        self._waiting: list[Waiting] = []
        self._bytes = 0  # that wait or are being written
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "coterie-writer")
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Write what waits, then end."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task
        self._thread.shutdown()

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait or are being written."""
        return self._bytes

    def put(self, known: Known, body: bytes, *, withdraws: bool = False) -> asyncio.Future[Fates | None]:
        """Let rows be taken in; the future tells their fates once the disk has confirmed, None: all taken.

        Raises
        ------
        Problem
            If too much waits already.
        """
        if self._bytes + len(body) > self._most_waiting or self._stopping:
            raise busy(1)
        future: asyncio.Future[Fates | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(known, body, future, withdraws))
        self._bytes += len(body)
        self._wake.set()
        return future

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                group = self._next()
                try:
                    fates = await loop.run_in_executor(self._thread, self._commit, group)
                except Exception as error:  # whoever waits must be told
                    for each in group:
                        if not each.future.done():
                            each.future.set_exception(error)
                else:
                    for each, fate in zip(group, fates, strict=True):
                        if each.future.done():
                            continue
                        if isinstance(fate, StoreError):
                            each.future.set_exception(fate)
                        else:
                            each.future.set_result(fate)
                self._bytes -= sum(len(each.body) for each in group)
            if self._stopping:
                return

    def _next(self) -> list[Waiting]:
        """Take what goes into one commit."""
        size = 0
        for number, each in enumerate(self._waiting):
            size += len(each.body)
            if size > COMMIT_BYTES and number:
                group, self._waiting = self._waiting[:number], self._waiting[number:]
                return group
        group, self._waiting = self._waiting, []
        return group

    # ------------------------------------------------------------ in the thread

    def _commit(self, group: Sequence[Waiting]) -> list[Fates | StoreError | None]:
        """Check and write a group; return what became of the rows of each request, or of the request."""
        started = time.perf_counter()
        parts: dict[tuple[str, bool], list[int]] = defaultdict(list)
        for number, each in enumerate(group):
            parts[each.known.plan.id, each.withdraws].append(number)
        now = self._clock()
        checked = []
        for (plan_id, withdraws), numbers in parts.items():
            known = group[numbers[0]].known
            body = group[numbers[0]].body if len(numbers) == 1 else b"".join(group[n].body for n in numbers)
            rows = as_rows(body, known.width)
            fates = self._fates(known, rows, now, withdraws)
            checked.append((plan_id, withdraws, numbers, known, rows[:, known.skip :], fates))
        pairs = [
            (plan_id, rows if fates is None else rows[fates == TAKEN])
            for plan_id, withdraws, _, _, rows, fates in checked
            if not withdraws
        ]
        answers = iter(self._store.append(pairs) if pairs else [])
        results: list[Fates | StoreError | None] = [None] * len(group)
        for plan_id, withdraws, numbers, known, rows, fates in checked:
            answer = self._withdraw(plan_id, rows, fates) if withdraws else next(answers)
            if isinstance(answer, StudyClosedError):
                fates = np.full(len(rows), TAKEN, dtype=np.uint8) if fates is None else fates
                fates[fates == TAKEN] = _CLOSED
            elif answer is not None:  # it is this plan's alone: the others have been taken in
                for number in numbers:
                    results[number] = answer
                continue
            self._count(known, rows, fates, withdraws)
            if fates is not None:
                start = 0
                for number in numbers:
                    stop = start + len(group[number].body) // known.width
                    part = fates[start:stop]
                    results[number] = part if part.any() else None
                    start = stop
        self._metrics.commit(time.perf_counter() - started)
        return results

    def _fates(self, known: Known, rows: NDArray[np.uint8], now: float, withdraws: bool) -> Fates | None:
        """Decide which rows are not to be taken in, before the store is asked; None if all are."""
        wrong = 0
        if known.collection.is_early(now):
            wrong = _EARLY
        elif known.collection.is_late(now):
            wrong = _CLOSED
        elif not self._has_room(known, len(rows), withdraws):
            wrong = _FULL
        if wrong:
            return np.full(len(rows), wrong, dtype=np.uint8)
        foreign = known.form.foreign(rows[:, known.skip :])
        fates = None
        if foreign.any():
            fates = np.where(foreign, np.uint8(_MALFORMED), np.uint8(TAKEN))
        if known.skip and len(rows):
            unasked = self._without_invitation(known, rows)
            if unasked.any():
                fates = np.zeros(len(rows), dtype=np.uint8) if fates is None else fates
                fates[unasked] = _TOKEN
        return fates

    def _has_room(self, known: Known, number: int, withdraws: bool) -> bool:
        """Return whether so many more may come: withdrawals hardly more than reports were received."""
        if not withdraws:
            return known.received + number <= min(self._most_reports, known.most)
        more = known.withdrawn + number - WITHDRAWN_AHEAD
        return more <= known.received or more <= self._store.study(known.plan.id).counts.received  # of all

    def _without_invitation(self, known: Known, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Tell which uploads, token ‖ report, have no token that was issued, or another id than its."""
        tokens = [row.tobytes() for row in rows[:, :TOKEN_BYTES]]
        ids = b"".join(token_id(known.plan, token) for token in tokens)
        marks = b"".join(token_mark(known.plan, token) for token in tokens)
        foreign = (rows[:, TOKEN_BYTES : TOKEN_BYTES + ID_BYTES] != as_rows(ids, ID_BYTES)).any(axis=1)
        return np.asarray(foreign | ~self._store.invited(known.plan.id, as_rows(marks, 32)))

    def _withdraw(self, plan_id: str, rows: NDArray[np.uint8], fates: Fates | None) -> StoreError | None:
        ids = rows[:, :ID_BYTES] if fates is None else rows[fates == TAKEN, :ID_BYTES]
        try:
            if len(ids):
                self._store.withdraw(plan_id, np.ascontiguousarray(ids))
        except StoreError as error:
            return error
        return None

    def _count(self, known: Known, rows: NDArray[np.uint8], fates: Fates | None, withdraws: bool) -> None:
        found = np.bincount([0] if fates is None else fates, minlength=1 + len(REASONS)).tolist()
        taken = len(rows) if fates is None else found[TAKEN]
        self._metrics.reports("withdrawn" if withdraws else "accepted", taken)
        if withdraws:
            known.withdrawn += taken
        else:
            known.received += taken
        if fates is not None:
            for number, reason in enumerate(REASONS, start=1):
                if found[number]:
                    known.rejected[reason] += found[number]
                    self._metrics.reports(reason, found[number])


def problem_of(error: BaseException) -> Problem:
    """Return what a sender is told when the store did not take a request."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, StoreFullError):
        return Problem("full", "nothing of this request was taken in; nothing accepted before is lost")
    if isinstance(error, StoreUnavailableError):
        return Problem(
            "unavailable", "whether it was taken in is not known; send it again", {"retry-after": "5"}
        )
    if isinstance(error, UnknownPlanError):
        return Problem("unknown-plan", "ask the operator for the id, or put the plan here first")
    if isinstance(error, StudyClosedError):
        return Problem("closed", "the study is closed: nothing more is taken in or withdrawn")
    return Problem("internal", "it was noted; nothing of this request is promised")
