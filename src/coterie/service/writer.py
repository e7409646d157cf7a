"""The writer: everything that waits goes to the store together, in one durable commit.

Requests put their reports here and wait. One task takes all that is waiting, one thread checks their form,
rows of all requests at once, and hands them to the store; when the disk has confirmed, all of them are
answered. While the disk works the next ones gather, so a slow disk makes larger commits, not longer queues;
what waits is bounded in bytes, and whoever comes then is told to come again.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.collect import Intake
from coterie.collect.skips import Skips
from coterie.collect.uploads import TOKEN_REASONS, Issued
from coterie.errors import (
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StudyClosedError,
    StudyIncompleteError,
    UnknownPlanError,
)
from coterie.service.metrics import Metrics
from coterie.service.problems import Problem, busy
from coterie.service.settings import Limits
from coterie.service.studies import REASONS, Known
from coterie.service.waves import Invited
from coterie.store import Store
from coterie.wire.layout import ID_BYTES, TOKEN_BYTES, as_rows

COMMIT_BYTES: Final = 1 << 23  # of one commit; what waits beyond it goes into the next

WITHDRAWN_AHEAD: Final = 10_000  # ids that may be withdrawn beyond the reports received: theirs may come yet

TAKEN: Final = 0  # a report's fate: taken, or 1 + the number of its reason
_MALFORMED, _CLOSED, _EARLY, _FULL, _TOKEN = range(1, 1 + len(REASONS))

Fates = NDArray[np.uint8]


@dataclass(slots=True, eq=False)
class Waiting:
    """One request: rows of a plan, what became of them, and the future that tells it."""

    known: Known
    body: bytes
    future: asyncio.Future[Fates | None]
    withdraws: bool
    since: float = field(default_factory=time.monotonic)
    fates: Fates | Exception | None = None  # None: all taken


class Writer:
    """Takes reports and withdrawals to the store.

    Parameters
    ----------
    store : Store
        The store.
    metrics : Metrics
        Where commits and reports are counted.
    limits : Limits
        How many bytes may wait, and how many reports of a plan are received.
    clock : callable
        Seconds since 1970.
    """

    def __init__(self, store: Store, metrics: Metrics, limits: Limits, clock: Callable[[], float]) -> None:
        self._store, self._metrics, self._limits, self._clock = store, metrics, limits, clock
        self._invited = Invited(store)
        self._waiting: list[Waiting] = []
        self._written: list[Waiting] = []  # that are on their way to the disk
        self.waiting_bytes = 0  # that wait or are being written
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
    def oldest_seconds(self) -> float:
        """For how long the oldest request has waited that is not on the disk; 0 where there is none."""
        first = [*self._written[:1], *self._waiting[:1]]
        return time.monotonic() - first[0].since if first else 0.0

    def put(self, known: Known, body: bytes, *, withdraws: bool = False) -> asyncio.Future[Fates | None]:
        """Let rows be taken in; the future tells their fates once the disk has confirmed, None: all taken.

        Raises
        ------
        Problem
            If too much waits already.
        """
        if self.waiting_bytes + len(body) > self._limits.most_waiting or self._stopping:
            raise busy(1)
        future: asyncio.Future[Fates | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(known, body, future, withdraws))
        self.waiting_bytes += len(body)
        self._wake.set()
        return future

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                group = self._written = self._next()
                try:
                    await loop.run_in_executor(self._thread, self._commit, group)
                except Exception as error:  # whoever waits must be told
                    for each in group:
                        each.fates = error
                for each in group:
                    if each.future.done():
                        continue
                    if isinstance(each.fates, Exception):
                        each.future.set_exception(each.fates)
                    else:
                        each.future.set_result(each.fates)
                self.waiting_bytes -= sum(len(each.body) for each in group)
                self._written = []
            if self._stopping:
                return

    def _next(self) -> list[Waiting]:
        """Take what goes into one commit."""
        sizes = [*itertools.accumulate(len(each.body) for each in self._waiting)]
        number = max(1, bisect.bisect_right(sizes, COMMIT_BYTES))
        group, self._waiting = self._waiting[:number], self._waiting[number:]
        return group

    # ------------------------------------------------------------ in the thread

    def _commit(self, group: Sequence[Waiting]) -> None:
        """Check and write a group, and note what became of the rows of each request, or of the request."""
        started = time.perf_counter()
        together: dict[tuple[str, bool, bool], list[Waiting]] = defaultdict(list)
        coming: Counter[tuple[str, bool]] = Counter()
        for each in group:  # one for which there is no room keeps nobody else out
            kind, count = (each.known.plan.id, each.withdraws), len(each.body) // each.known.width
            fits = self._has_room(each.known, coming[kind] + count, each.withdraws)
            coming[kind] += count * fits
            together[*kind, fits].append(each)
        now = self._clock()
        parts = [self._checked(requests, now, fits) for (_, _, fits), requests in together.items()]
        taken = [(part.known.plan.id, part.rows) for part in parts if not part.withdraws]
        answers = iter(self._store.append(taken) if taken else [])
        for part in parts:
            answer = self._withdraw(part) if part.withdraws else next(answers)
            if isinstance(answer, StudyClosedError):
                part.fates[part.fates == TAKEN] = _CLOSED
            elif answer is not None:  # it is this plan's alone: the others have been taken in
                for each in part.requests:
                    each.fates = answer
                continue
            self._count(part)
            start = 0
            for each in part.requests if part.fates.any() else ():
                stop = start + len(each.body) // part.known.width
                fates = part.fates[start:stop]
                each.fates = fates if fates.any() else None
                start = stop
        self._metrics.commit(time.perf_counter() - started)

    def _checked(self, requests: Sequence[Waiting], now: float, fits: bool) -> _Part:
        """Decide which rows of requests of one plan and kind are taken in, before the store is asked."""
        body = requests[0].body if len(requests) == 1 else b"".join(each.body for each in requests)
        part, known = _Part(requests, len(body)), requests[0].known
        if known.collection.is_early(now):
            part.fates[:] = _EARLY
        elif known.collection.is_late(now):
            part.fates[:] = _CLOSED
        elif not fits:
            part.fates[:] = _FULL
        else:
            intake = Intake(known.plan, into=part, skips=part)
            if known.issuers:
                intake.add_admitted([body], known.issuers)
            elif known.plan.ids == "token":
                intake.add_uploads([body], issued=self._issued(known, body))
            else:
                intake.add_stream([body])
        return part

    def _issued(self, known: Known, body: bytes) -> Issued:
        """Return who knows which tokens are good for a plan."""
        if not known.before:
            return partial(self._store.invited, known.plan.id)
        tokens = [row.tobytes() for row in as_rows(body, known.width)[:, :TOKEN_BYTES]]
        return self._invited.good(known.plan, known.before, tokens)

    def _has_room(self, known: Known, number: int, withdraws: bool) -> bool:
        """Return whether so many more may come: withdrawals hardly more than reports were received."""
        if not withdraws:
            return known.received + number <= min(self._limits.most_reports, known.most)
        more = known.withdrawn + number - WITHDRAWN_AHEAD
        return more <= known.received or more <= self._store.study(known.plan.id).counts.received  # of all

    def _withdraw(self, part: _Part) -> StoreError | None:
        try:
            if len(part.rows):
                self._store.withdraw(part.known.plan.id, np.ascontiguousarray(part.rows[:, :ID_BYTES]))
        except StoreError as error:
            return error
        return None

    def _count(self, part: _Part) -> None:
        taken, *others = np.bincount(part.fates, minlength=1 + len(REASONS)).tolist()
        plan_id = part.known.plan.id
        self._metrics.reports(plan_id, "withdrawn" if part.withdraws else "accepted", taken)
        if part.withdraws:
            part.known.withdrawn += taken
        else:
            part.known.received += taken
        for reason, number in zip(REASONS, others, strict=True):
            if number:
                part.known.rejected[reason] += number
                self._metrics.reports(plan_id, reason, number)


class _Part(Skips):
    """What came of one plan and kind: the rows that an intake lets through, and the fates of all."""

    def __init__(self, requests: Sequence[Waiting], size: int) -> None:
        super().__init__()
        self.requests, self.known, self.withdraws = requests, requests[0].known, requests[0].withdraws
        self.rows = np.zeros((0, self.known.plan.report_width), dtype=np.uint8)
        self.fates: Fates = np.zeros(size // self.known.width, dtype=np.uint8)  # TAKEN

    def add(self, rows: NDArray[np.uint8]) -> None:
        """Take rows; they come all at once."""
        self.rows = rows

    def note(self, reason: str, numbers: NDArray[np.integer], place: Callable[[int], str]) -> None:
        """Note what an intake leaves out."""
        del place
        self.fates[numbers] = _TOKEN if reason in TOKEN_REASONS else _MALFORMED


def problem_of(error: BaseException) -> Problem:
    """Return what a sender is told when the store did not take a request."""
    if isinstance(error, Problem):
        return error
    for kind, (name, words) in _PROBLEMS.items():
        if isinstance(error, kind):
            return Problem(name, words, {"retry-after": "5"} if kind is StoreUnavailableError else None)
    return Problem("internal", "it was noted; nothing of this request is promised")


_PROBLEMS: Final = {
    StoreFullError: ("full", "nothing of this request was taken in; nothing accepted before is lost"),
    StoreUnavailableError: ("unavailable", "whether it was taken in is not known; send it again"),
    UnknownPlanError: ("unknown-plan", "ask the operator for the id, or put the plan here first"),
    StudyIncompleteError: (
        "incomplete",
        "the operator restores a backup, or accepts that (coterie store check)",
    ),
    StudyClosedError: ("closed", "the study is closed: nothing more is taken in or withdrawn"),
}
