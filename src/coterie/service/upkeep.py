"""What happens by the clock: windows close, open studies are compacted, reports are deleted in time.

One look at all studies every `upkeep_seconds`. Each step is safe to repeat and safe on several servers: the
store keeps sets, closing twice is closing once, and the first document of a name wins.
"""

from __future__ import annotations

import asyncio
import logging
import math
from concurrent.futures import ThreadPoolExecutor

from coterie.service.ending import Ending
from coterie.service.studies import Known, Studies
from coterie.store import StudyState

log = logging.getLogger("coterie.service")


class Upkeep:
    """Looks after the studies of a store."""

    def __init__(self, studies: Studies, ending: Ending, compact_seconds: float) -> None:
        self._studies, self._ending, self._store = studies, ending, ending.store
        self._compact_seconds = compact_seconds
        self._compacted: dict[str, float] = {}
        self._thread = ThreadPoolExecutor(1, "coterie-upkeep")

    async def run(self, every: float) -> None:
        """Look at all studies again and again."""
        while True:
            await asyncio.sleep(every)
            await self.look()

    async def look(self) -> None:
        """Look at all studies once; what goes wrong with one is noted and tried again."""
        loop = asyncio.get_running_loop()
        for plan_id in await loop.run_in_executor(self._thread, self._store.plan_ids):
            try:
                known = await self._studies.find(plan_id)
                await loop.run_in_executor(self._thread, self._look_at, known)
            except Exception:  # the others must not wait for it
                log.exception("upkeep of plan %s failed", plan_id)

    def stop(self) -> None:
        """Let what runs end."""
        self._thread.shutdown()

    def _look_at(self, known: Known) -> None:
        plan_id, now = known.plan.id, self._ending.clock()
        state = self._store.study(plan_id).state
        if state is StudyState.OPEN:
            self._ending.look_at(known)
            if known.collection.is_late(now):
                self._ending.close(known)
                self._store.compact(plan_id)
                self._ending.is_finished(known)
            elif now >= self._compacted.setdefault(plan_id, now) + self._compact_seconds:
                self._store.compact(plan_id)
                self._compacted[plan_id] = now
        elif (
            state is StudyState.CLOSED and self._ending.is_finished(known) and now >= self._kept_until(known)
        ):
            self._ending.delete(known)

    def _kept_until(self, known: Known) -> float:
        """Return when the reports of a closed study are deleted: surely after the retention, rounded."""
        how = known.collection
        if how.retention is None:
            return math.inf
        return self._ending.close(known) + how.time_precision + how.retention
