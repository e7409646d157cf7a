"""`Collector`: the parts of a collector around one store, and what runs while it serves."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, ParamSpec, TypeVar

from starlette.requests import Request

from coterie.plan import Plan
from coterie.service.documents import Documents
from coterie.service.keys import is_operator
from coterie.service.metrics import Metrics
from coterie.service.problems import Problem
from coterie.service.results import Results
from coterie.service.status import Tellings
from coterie.service.studies import Known, Studies
from coterie.service.upkeep import Upkeep
from coterie.service.uploads import Uploads
from coterie.service.writer import Writer
from coterie.store import Store, Study

P = ParamSpec("P")
T = TypeVar("T")


class Collector:
    """The parts of a collector around one store.

    Parameters
    ----------
    store : Store
        Where reports are kept.
    token : str
        The operator's.
    key : bytes
        The Ed25519 key of manifests, 32 bytes.
    shufflers : collection of bytes
        Public keys of the shufflers whose batches it takes; without any it takes no shuffle plans.
    most_body, most_readers, most_waiting, most_reports, reports_per_second
        As in `Settings`.
    upkeep_seconds, compact_seconds, decode_seconds
        As in `Settings`.
    status_seconds : float
        For which a status is told again before the store is asked.
    clock : callable
        Seconds since 1970.
    """

    model: ClassVar[str] = "local"  # of the plans whose reports are taken in here
    role: ClassVar[str] = "collector"
    results_kind: ClassVar[type[Results]] = Results
    upkeep_kind: ClassVar[type[Upkeep]] = Upkeep

    def __init__(
        self,
        store: Store,
        *,
        token: str,
        key: bytes,
        shufflers: Collection[bytes] = (),
        most_body: int = 1 << 20,
        most_readers: int = 64,
        most_waiting: int = 1 << 25,
        most_reports: int = 1 << 36,
        reports_per_second: int = 0,
        upkeep_seconds: float = 60,
        compact_seconds: float = 3600,
        decode_seconds: float = 3600,
        status_seconds: float = 1,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.clock = clock
        self.metrics = Metrics()
        self.threads = ThreadPoolExecutor(4, "coterie-store")
        self.studies = Studies(store, self.threads, self.model)
        self.documents = Documents(store, most_readers)
        self.shufflers = tuple(shufflers)
        self.writer = Writer(
            store, self.metrics, most_waiting=most_waiting, most_reports=most_reports, clock=clock
        )
        self.uploads = Uploads(
            self.studies,
            self.writer,
            self.metrics,
            most_body=most_body,
            most_coming=most_waiting,
            reports_per_second=reports_per_second,
            model=self.model,
        )
        self.results = self.results_kind(store, key, timeout=decode_seconds, clock=clock)
        self.upkeep = self.upkeep_kind(
            store, self.studies, self.results, compact_seconds=compact_seconds, clock=clock
        )
        self.tellings = Tellings(compact_seconds)
        self.status_seconds = status_seconds
        self.told: dict[str, tuple[float, asyncio.Task[dict[str, Any]]]] = {}  # until when, and a status
        self._token = token
        self._most_body = most_body
        self._upkeep_seconds = upkeep_seconds

    @contextlib.asynccontextmanager
    async def running(self, app: object = None) -> AsyncIterator[None]:
        """Write and look after things while the block runs; at its end everything that waits is written."""
        del app
        self.writer.start()
        task = asyncio.get_running_loop().create_task(self.upkeep.run(self._upkeep_seconds))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await self.writer.stop()
            self.results.stop()
            await asyncio.to_thread(self.upkeep.stop)
            await asyncio.to_thread(self.threads.shutdown)

    async def ask(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call something that blocks, in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, partial(call, *args, **kwargs))

    def check_operator(self, request: Request) -> None:
        """Raise Problem unless the request comes from the operator."""
        if not is_operator(self._token, request.headers.get("authorization")):
            raise Problem(
                "not-authorized", "send Authorization: Bearer <token>", {"www-authenticate": "Bearer"}
            )

    async def body(self, request: Request, most: int | None = None) -> bytes:
        """Read the body of a request, bounded."""
        most = self._most_body if most is None else most
        pieces, size = [], 0
        async for piece in request.stream():
            size += len(piece)
            if size > most:
                raise Problem("too-large", f"send at most {most} bytes", {"connection": "close"})
            pieces.append(piece)
        return b"".join(pieces)

    async def known(self, request: Request) -> Known:
        """Return the plan that a request's path names."""
        return await self.studies.find(request.path_params["plan_id"])

    def check_plan(self, plan: Plan) -> None:
        """Raise Problem unless this service takes such plans."""
        if plan.mixed and not self.shufflers:
            raise Problem("unfit-plan", "this collector knows no shuffler: give it the public key of one")
        if plan.curated:
            raise Problem("unfit-plan", f"this service takes no plans of the {plan.model} model")

    def study(self, plan_id: str) -> Study:
        """Return where a study stands; in the shuffle model people came in batches."""
        study = self.store.study(plan_id)
        if study.plan.model == self.model:
            return study
        return replace(study, counts=replace(study.counts, counted=self.results.tally.people(study)))
