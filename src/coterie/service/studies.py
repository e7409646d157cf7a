"""Plans as the service holds them in memory: what a request needs, without asking the store."""

from __future__ import annotations

import asyncio
import re
import time
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Final

from coterie.errors import UnknownPlanError
from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.service.problems import Problem
from coterie.service.waves import Waves
from coterie.store import Store
from coterie.wire.admission import ADMISSION_BYTES
from coterie.wire.shuffled_file import MOST_BATCH, bytes_per_person

REASONS: Final = ("malformed", "closed", "early", "full", "token")  # for which a report is not taken in

_PLAN_ID: Final = re.compile(r"[0-9a-f]{64}")
_FORGET_SECONDS: Final = 2.0  # after which the store is asked again for a plan that it had not
_MOST_MISSING: Final = 1024


@dataclass(slots=True)
class Known:
    """A plan, and what this process counts of it."""

    plan: Plan
    collection: Collection  # what this service keeps to
    width: int  # bytes that one person sends
    received: int  # reports that the store holds, repetitions included, as far as this process knows
    withdrawn: int  # ids withdrawn, likewise
    rejected: dict[str, int]
    document: bytes  # the plan in canonical JSON
    most: int  # reports that may wait for a release; without one, any number
    issuers: tuple[bytes, ...] = ()  # public keys, one of which must admit a report; none: anybody may send
    before: tuple[Plan, ...] = ()  # the waves of the study before this plan

    @property
    def skip(self) -> int:
        """Bytes of the token, or the admission, before a report."""
        return self.width - self.plan.report_width


class Studies:
    """The plans of a store, each read once.

    Parameters
    ----------
    store : Store
        The store.
    threads : Executor
        Where it is asked.
    model : str
        Of the plans whose reports are taken in here.
    issuers : tuple of bytes
        Public keys of those who admit reports; without any, anybody may send.
    """

    def __init__(
        self, store: Store, threads: Executor, model: str = "local", issuers: tuple[bytes, ...] = ()
    ) -> None:
        self._store = store
        self._model = model
        self._issuers = issuers
        self._threads = threads
        self._known: dict[str, Known] = {}
        self._missing: dict[str, float] = {}

    def get(self, plan_id: str) -> Known | None:
        """Return a plan that is in memory."""
        return self._known.get(plan_id)

    async def find(self, plan_id: str) -> Known:
        """Return a plan, asking the store where it is not in memory.

        Raises
        ------
        Problem
            If there is none.
        """
        if (known := self._known.get(plan_id)) is not None:
            return known
        if not _PLAN_ID.fullmatch(plan_id) or self._missing.get(plan_id, 0.0) > time.monotonic():
            raise _unknown()
        loop = asyncio.get_running_loop()
        try:
            known = await loop.run_in_executor(self._threads, self._read, plan_id)
        except UnknownPlanError:
            if len(self._missing) >= _MOST_MISSING:
                self._missing.clear()
            self._missing[plan_id] = time.monotonic() + _FORGET_SECONDS
            raise _unknown() from None
        return self._known.setdefault(plan_id, known)

    def _read(self, plan_id: str) -> Known:
        study = self._store.study(plan_id)
        plan, counts = study.plan, study.counts
        collection = plan.collection or Collection(minimum=plan.minimum_batch)
        if plan.model != self._model:  # its window is the shuffler's; batches come when it has closed
            collection = replace(collection, opens=None, closes=None)
        return Known(
            plan=plan,
            collection=collection,
            width=plan.upload_width + (ADMISSION_BYTES if self._issuers else 0),
            received=counts.received - counts.released,
            withdrawn=counts.withdrawn,
            rejected=dict.fromkeys(REASONS, 0),
            document=plan.to_json().encode(),
            most=MOST_BATCH // bytes_per_person(plan) if plan.mixed else 1 << 62,
            issuers=self._issuers,
            before=tuple(Waves(self._store).waves(plan)[:-1]),
        )

    def forget_missing(self, plan_id: str) -> None:
        """Ask the store again for a plan that it had not."""
        self._missing.pop(plan_id, None)


def _unknown() -> Problem:
    return Problem("unknown-plan", "ask the operator for the id, or put the plan here first")
