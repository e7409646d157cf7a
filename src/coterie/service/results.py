"""What a closed study leaves: its table, result and manifest, each kept once, whoever makes it.

*Closing* is final, and noted with its rounded time. *Decoding* wants a closed study and the plan's minimum of
people; it runs in another process, and what it gives is kept under a name, first come: asked again, also on
another server, a study answers with the same bytes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Final

from coterie.errors import DecodeError
from coterie.service.batches import Tally
from coterie.service.decoder import Decoder
from coterie.service.ending import Ending
from coterie.service.manifest import make_manifest
from coterie.service.metrics import Metrics
from coterie.service.problems import Problem
from coterie.service.studies import Known
from coterie.store import Store, StudyState

TABLE: Final = "table"
RESULT: Final = "result"
MANIFEST: Final = "manifest"


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
    metrics : Metrics, optional
        Where it is noted how long decoding takes.
    clock : callable
        Seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        key: bytes,
        *,
        timeout: float,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(store, clock=clock)
        self.tally = Tally(store)
        self._key = key
        self._timeout = timeout
        self._metrics = metrics or Metrics()
        self._thread = ThreadPoolExecutor(1, "coterie-decoding")  # one study at a time
        self._decoder = Decoder()
        self._running: dict[str, asyncio.Task[Outcome]] = {}

    def stop(self) -> None:
        """End what runs; it is begun again when it is asked for."""
        self._decoder.stop()
        self._thread.shutdown(wait=False, cancel_futures=True)

    # ------------------------------------------------------------ blocking, to be called in threads

    def is_decoded(self, plan_id: str) -> bool:
        """Tell whether a study left all that it leaves; the manifest is the last that is kept."""
        return self._store.document(plan_id, MANIFEST) is not None

    def outcome(self, plan_id: str) -> Outcome | None:
        """Return what a study left, or None."""
        manifest = self._store.document(plan_id, MANIFEST)
        if manifest is None:
            return None
        table, result = self._store.document(plan_id, TABLE), self._store.document(plan_id, RESULT)
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
        study = self._store.study(plan.id)
        if study.state is StudyState.OPEN:
            raise Problem("open", "close the study first: a result is final")
        if study.state is StudyState.DELETED:
            raise Problem("deleted", "they were deleted, as the plan says, before the study was decoded")
        closed = self.close(known)  # again: where a crash came between closing and noting when
        counts = self._store.compact(plan.id)
        people = self.tally.people(study) if plan.mixed else counts.counted
        if people < known.collection.minimum:
            raise Problem(
                "too-few",
                f"the plan wants {known.collection.minimum} people before it is decoded; fewer answered",
            )
        try:
            with self._metrics.decoding.time():
                result, table = self._decoder.run(plan, self._store.messages(plan.id), self._timeout)
        except DecodeError as error:
            raise Problem("undecodable", str(error)) from None
        table = self._store.put_document(plan.id, TABLE, table)
        result = self._store.put_document(plan.id, RESULT, result)
        told: dict[str, Any] = {**asdict(counts), "counted": people}
        if study.lost is not None:
            told["lost"] = study.lost.reports
        manifest = make_manifest(plan, table, result, told, closed, self._key)
        return Outcome(table, result, self._store.put_document(plan.id, MANIFEST, manifest))

    def delete(self, known: Known) -> None:
        """Delete the reports of a closed study; a study that can be decoded is, first."""
        if self._store.study(known.plan.id).state is StudyState.DELETED:
            return
        if self.outcome(known.plan.id) is None:
            try:
                self.decode(known)
            except Problem as problem:
                if problem.kind not in ("too-few", "undecodable"):
                    raise
        self._store.delete_reports(known.plan.id)

    # ------------------------------------------------------------ in the loop

    async def decoded(self, known: Known, wait: float) -> Outcome | None:
        """Decode, or wait for whoever does; None if it takes longer than `wait` seconds, and goes on."""
        plan_id = known.plan.id
        if (task := self._running.get(plan_id)) is None:
            loop = asyncio.get_running_loop()
            task = loop.create_task(self._in_thread(known))
            self._running[plan_id] = task
            task.add_done_callback(lambda done: self._running.pop(plan_id, None))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # told to who waits
        done, _ = await asyncio.wait([task], timeout=wait)
        return task.result() if done else None

    async def _in_thread(self, known: Known) -> Outcome:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.decode, known)

    def is_running(self, plan_id: str) -> bool:
        """Tell whether a study is being decoded here."""
        return plan_id in self._running
