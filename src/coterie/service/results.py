"""What a closed study leaves: its table, result and manifest, each kept once, whoever makes it.

*Closing* is final, and noted with its rounded time. *Decoding* wants a closed study and the plan's minimum of
people; it runs in another process, and what it gives is kept under a name, first come: asked again, also on
another server, a study answers with the same bytes. A plan that follows others of its study is decoded
together with their tables, and its manifest names them all (`waves`); what they left is enough for it, also
after their reports are deleted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, TypeVar

from coterie.errors import DecodeError
from coterie.plan import Plan
from coterie.service.batches import Batches
from coterie.service.decoder import Decoder
from coterie.service.ending import Ending
from coterie.service.following import checked_asked, is_asked
from coterie.service.manifest import make_manifest
from coterie.service.problems import Problem, refusing
from coterie.service.studies import Known
from coterie.service.waves import Part, Waves
from coterie.store import Store, StudyState

TABLE: Final = "table"
RESULT: Final = "result"
MANIFEST: Final = "manifest"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What decoding left."""

    table: bytes
    result: bytes
    manifest: bytes


class Results(Ending):
    """Closes and decodes studies.

    Parameters
    ----------
    store : Store
        The store.
    key : bytes
        The Ed25519 key of manifests.
    timeout : float
        Seconds after which decoding is given up.
    clock : callable
        Seconds since 1970.
    """

    def __init__(
        self, store: Store, key: bytes, *, timeout: float, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(store, key, clock=clock)
        self.batches = Batches(store)
        self.waves = Waves(store)
        self._timeout = timeout
        self._thread = ThreadPoolExecutor(1, "coterie-decoding")  # one study at a time
        self._decoder = Decoder()
        self._running: dict[str, asyncio.Future[Any]] = {}

    def stop(self) -> None:
        """End what runs; it is begun again when it is asked for."""
        self._decoder.stop()
        self._thread.shutdown(wait=False, cancel_futures=True)

    # ------------------------------------------------------------ blocking, to be called in threads

    def is_decoded(self, plan_id: str) -> bool:
        """Return whether a study left all that it leaves; the manifest is the last that is kept."""
        return self.store.document(plan_id, MANIFEST) is not None

    def outcome(self, plan_id: str) -> Outcome | None:
        """Return what a study left, or None."""
        manifest = self.store.document(plan_id, MANIFEST)
        if manifest is None:
            return None
        table, result = self.store.document(plan_id, TABLE), self.store.document(plan_id, RESULT)
        return None if table is None or result is None else Outcome(table, result, manifest)

    def decode(self, known: Known) -> Outcome:
        """Decode a closed study and keep what comes out.

        Raises
        ------
        Problem
            If it is open, its reports were deleted, too few people answered, or they cannot be decoded.
        """
        plan = known.plan
        if (found := self.outcome(plan.id)) is not None:
            return found
        study = self.store.study(plan.id)
        if study.state is StudyState.OPEN:
            raise Problem("open", "close the study first: a result is final")
        if study.state is StudyState.DELETED:
            raise Problem("deleted", "they were deleted, as the plan says, before the study was decoded")
        closed = self.close(known)  # again: where a crash came between closing and noting when
        counts = self.store.compact(plan.id)
        people = self.batches.people(study) if plan.mixed else counts.counted
        if people < known.collection.minimum:
            raise Problem(
                "too-few",
                f"the plan wants {known.collection.minimum} people before it is decoded; fewer answered",
            )
        before = [self._left_by(each) for each in self.waves.waves(plan)[:-1]]
        with refusing("undecodable", (DecodeError,)), self.metrics.decoding.time():
            result, table = self._decoder.run(
                plan, self.store.messages(plan.id), self._timeout, [each.table for each in before]
            )
        table = self.store.put_document(plan.id, TABLE, table)
        result = self.store.put_document(plan.id, RESULT, result)
        told: dict[str, Any] = {**asdict(counts), "counted": people}
        if study.lost is not None:
            told["lost"] = study.lost.reports
        last = before[-1].manifest if before else None
        manifest = make_manifest(plan, table, result, told, closed, self.key, before=last)
        return Outcome(table, result, self.store.put_document(plan.id, MANIFEST, manifest))

    def _left_by(self, plan: Plan) -> Outcome:
        found = self.outcome(plan.id)
        if found is None:
            raise Problem("not-decoded", "the wave before was not decoded, and the next one needs it")
        return found

    def next_wave(self, study_id: str, asked: Mapping[str, Any]) -> tuple[Plan, bool]:
        """Open the next wave of a study, made from what all waves so far told; return whether it is new.

        Asked again for the wave that was opened last, it answers with that one.

        Raises
        ------
        Problem
            If the last wave is not decoded, or no such plan follows from it.
        """
        with refusing("malformed-request"), refusing("undecodable", (DecodeError,)):
            checked_asked(asked)
            parts = self.waves.parts(study_id)
            last = parts[-1]
            if last.label is not None:
                raise Problem(
                    "unfit-plan", "the plans of this study have labels: they are compared, not followed"
                )
            if not self.is_decoded(last.plan.id):
                if len(parts) > 1 and is_asked(last.plan, asked):
                    return last.plan, False
                raise Problem("open", "close and decode the wave before: the next is made from its result")
            tables = [self._left_by(each.plan).table for each in parts]
            plan, why = self._decoder.next_plan(tables, asked, self._timeout)
        return plan, self.waves.add(study_id, Part(plan, why=why))

    def delete(self, known: Known) -> None:
        """Delete the reports of a closed study; a study that can be decoded is, first."""
        if self.store.study(known.plan.id).state is StudyState.DELETED:
            return
        if self.outcome(known.plan.id) is None:
            try:
                self.decode(known)
            except Problem as problem:
                if problem.kind not in ("too-few", "undecodable"):
                    raise
        self.store.delete_reports(known.plan.id)

    # ------------------------------------------------------------ in the loop

    async def decoded(self, known: Known, wait: float) -> Outcome | None:
        """Decode, or wait for whoever does; None if it takes longer than `wait` seconds, and goes on."""
        return await self._once(known.plan.id, partial(self.decode, known), wait)

    async def opened(self, study_id: str, asked: Mapping[str, Any], wait: float) -> tuple[Plan, bool] | None:
        """Open the next wave, or wait for whoever does, as `decoded` does."""
        name = f"next wave of {study_id}: {sorted(asked.items())}"
        return await self._once(name, partial(self.next_wave, study_id, asked), wait)

    async def _once(self, name: str, call: Callable[[], T], wait: float) -> T | None:
        """Call something in the thread, once for all who ask for it by this name at a time."""
        task: asyncio.Future[T] | None = self._running.get(name)
        if task is None:
            task = asyncio.get_running_loop().run_in_executor(self._thread, call)
            self._running[name] = task
            task.add_done_callback(lambda done: self._running.pop(name, None))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # told to who waits
        done, _ = await asyncio.wait([task], timeout=wait)
        return task.result() if done else None

    def is_running(self, plan_id: str) -> bool:
        """Return whether a study is being decoded here."""
        return plan_id in self._running
