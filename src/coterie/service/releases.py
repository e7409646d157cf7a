"""A shuffler's releases: what was gathered becomes a batch, the batch goes to the collector, once.

    gathered ──release──> staged ──deliver──> taken in by the collector ──acknowledge──> ids alone

*Release* is one durable step of the store (`Store.stage_batch`): the mixed batch is there whole and its ids
are released, or nothing has happened. *Delivering* is a PUT that may be repeated: a collector keeps a batch
of one digest once. *Acknowledging* follows the collector's durable answer. So a crash anywhere, of either
side, leaves a state from which the same steps go on, with the same bytes.

One batch waits at a time. When it is released is decided in `shuffler.py` (docs/decisions/0045-shuffler.md).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from coterie.collect.shuffler import batch_bytes, gathered
from coterie.errors import CollectorError, ReportError, StoreError
from coterie.plan import Plan
from coterie.remote.collector import RemoteCollector, pauses_between
from coterie.service.ending import Ending
from coterie.service.problems import Problem
from coterie.service.studies import Known
from coterie.store import Store, StudyState

log = logging.getLogger("coterie.service")

LONGEST_PAUSE: Final = 300.0  # seconds between two attempts to deliver
STOP_SECONDS: Final = 10.0  # for which a stopping service waits for a delivery to break off
IDLE_SECONDS: Final = 60.0  # between two looks for batches that another server made


@dataclass(slots=True)
class _Attempt:
    """How delivering the batch of one plan goes."""

    pauses: Iterator[float]
    due: float = 0.0  # when to try again, on the monotonic clock
    refusal: str | None = None  # why the last attempt failed


class Releases(Ending):
    """Makes batches and delivers them, in a thread of its own; what they are of is decoded elsewhere.

    Of a study that is closed everything is released.

    Parameters
    ----------
    store : Store
        The shuffler's store.
    key : bytes
        Its Ed25519 key, with which batches are signed.
    collector : RemoteCollector
        Where they go.
    clock : callable
        Seconds since 1970.
    ticks : callable
        Seconds that only grow.
    """

    def __init__(
        self,
        store: Store,
        key: bytes,
        collector: RemoteCollector,
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(store, key, clock=clock)
        self._collector, self._ticks = collector, ticks
        self._attempts: dict[str, _Attempt] = {}
        self._finished: set[str] = set()  # closed studies of which nothing more can be released
        self._wake = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="coterie-delivery", daemon=True)

    def start(self) -> None:
        """Begin to deliver, first of all what a crash left to deliver."""
        self._thread.start()

    def stop(self) -> None:
        """Break off; what was not acknowledged is delivered after the next start."""
        self._stopping = True
        self._wake.set()
        self._collector.disconnect()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    # ------------------------------------------------------------ what the operator asks for

    def release(self, plan: Plan) -> dict[str, Any]:
        """Make a batch of all that was gathered, or go on with the one that waits; return where it is.

        Raises
        ------
        Problem
            If too few people have come; nothing has happened then.
        """
        if self.store.study(plan.id).state is StudyState.DELETED:
            raise Problem("deleted", "they were deleted, as the plan says, before they were released")
        try:
            self.store.stage_batch(plan.id, lambda chunks: batch_bytes(plan, gathered(plan, chunks)))
        except ReportError as error:
            counts = self.store.compact(plan.id)  # what was refused may have been rolled back
            if counts.counted or not counts.released:
                raise Problem("too-few", str(error)) from None
            return self.state(plan)  # all is released already: asking twice is asking once
        self._attempts.pop(plan.id, None)  # at once, whatever went wrong before
        self._wake.set()
        return self.state(plan)

    def state(self, plan: Plan) -> dict[str, Any]:
        """Return the batch that waits, if any, why it does, and how many ids were released so far."""
        released = self.store.study(plan.id).counts.released  # first: who is counted then and does not wait
        waiting = self.store.staged_batch(plan.id)  # afterwards has arrived
        attempt = self._attempts.get(plan.id)
        return {
            "waiting": None if waiting is None else waiting.digest,
            "bytes": 0 if waiting is None else len(waiting.data),
            "refusal": None if waiting is None or attempt is None else attempt.refusal,
            "released": released,
        }

    def give_up(self, plan: Plan) -> None:
        """Forget the batch that waits: its ids stay released, its people do not count.

        Raises
        ------
        Problem
            If its collector did not refuse it.
        """
        waiting = self.store.staged_batch(plan.id)
        if waiting is None:
            return
        attempt = self._attempts.get(plan.id)
        if attempt is None or attempt.refusal is None:
            raise Problem("undelivered", "the batch is on its way; only one that is refused is given up")
        self.store.acknowledge_batch(plan.id, waiting.digest)
        self.metrics.batch("given up")

    # ------------------------------------------------------------ by the clock, and in the end

    def look_at(self, known: Known) -> None:
        """Count again where a batch seems full: without repetitions and released ones."""
        if known.received >= known.most:
            known.received = self.store.compact(known.plan.id).counted

    def is_finished(self, known: Known) -> bool:
        """Release what a closed study still holds; return whether nothing is left that can be.

        What waits to be released or delivered is not deleted, however late it is.
        """
        plan_id = known.plan.id
        if plan_id in self._finished:
            return True
        if self.store.staged_batch(plan_id) is not None:
            return False
        try:
            if self.release(known.plan)["waiting"] is not None:
                return False
        except Problem as problem:
            if problem.kind != "too-few":
                raise
        self._finished.add(plan_id)  # nobody can join a closed study: that will not change
        return True

    def delete(self, known: Known) -> None:
        """Delete the reports of a closed study; those that could not be released are gone then."""
        if self.store.study(known.plan.id).state is StudyState.DELETED:
            return
        if self.store.staged_batch(known.plan.id) is not None:
            raise Problem("undelivered", "its collector has not acknowledged a batch yet: deliver it first")
        self.store.delete_reports(known.plan.id)

    # ------------------------------------------------------------ delivering

    def deliver(self, plan_id: str) -> bool:
        """Deliver the batch of a plan that waits, if any; return False if the collector did not take it."""
        waiting = self.store.staged_batch(plan_id)
        if waiting is None:
            self._attempts.pop(plan_id, None)
            return True
        attempt = self._attempts.setdefault(plan_id, _Attempt(pauses_between(LONGEST_PAUSE)))
        if self._ticks() < attempt.due:
            return False
        try:
            self._collector.put_batch(plan_id, waiting.digest, waiting.data, self.key)
        except CollectorError as error:
            attempt.refusal = str(error)
            attempt.due = self._ticks() + next(attempt.pauses)
            self.metrics.batch("refused")
            log.warning("the batch of plan %s is not delivered yet: %s", plan_id, error)
            return False
        self.store.acknowledge_batch(plan_id, waiting.digest)
        self._attempts.pop(plan_id, None)
        self.metrics.batch("delivered")
        return True

    def deliver_all(self) -> float:
        """Deliver what waits; return after how many seconds to look again."""
        pause = IDLE_SECONDS
        for plan_id in self.store.plan_ids():
            if self._stopping:
                break
            if not self.deliver(plan_id):
                pause = min(pause, max(0.0, self._attempts[plan_id].due - self._ticks()))
        return pause

    def _run(self) -> None:
        while not self._stopping:
            pause = 5.0
            try:
                pause = self.deliver_all()
            except StoreError as error:
                log.warning("batches are not delivered: %s", error)
            except Exception:  # deliver again, whatever it was
                log.exception("delivery failed")
            self._wake.wait(pause)
            self._wake.clear()
