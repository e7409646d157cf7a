"""`Taking`: what both roles of the service have around one store, and what runs while it serves."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, Final, ParamSpec, TypeVar

from starlette.requests import Request

from coterie.errors import PlanError, SheetError
from coterie.plain.canonical import parse_object
from coterie.plan import Plan
from coterie.service.ending import Ending
from coterie.service.keys import is_operator
from coterie.service.metrics import Metrics
from coterie.service.problems import Problem, refusing
from coterie.service.status import Tellings
from coterie.service.studies import Known, Studies
from coterie.service.upkeep import Upkeep
from coterie.service.uploads import Uploads
from coterie.service.writer import Writer
from coterie.sheet import checked_sheet, sign_sheet
from coterie.store import Store, Study
from coterie.wire.signing import public_key

SHEET: Final = "sheet"  # a document of the store
READY_SECONDS: Final = 1.5  # in which a service must know whether it is ready

P = ParamSpec("P")
T = TypeVar("T")


class Taking:
    """Takes reports of one model in and looks after studies; how these end is its role's matter.

    Parameters
    ----------
    store : Store
        Where reports are kept.
    ending : Ending
        How studies end.
    token : str
        The operator's.
    key : bytes
        The Ed25519 key with which it signs, 32 bytes.
    most_body, most_waiting, most_reports, reports_per_second, upkeep_seconds, compact_seconds
        As in `Settings`.
    issuers : tuple of bytes
        Public keys of those who admit reports; without any, anybody may send.
    status_seconds : float
        For which a status is told again before the store is asked.
    metrics : Metrics, optional
        Where the service counts.
    clock : callable
        Seconds since 1970.
    """

    model: ClassVar[str]  # of the plans whose reports are taken in here
    role: ClassVar[str]

    def __init__(
        self,
        store: Store,
        ending: Ending,
        *,
        token: str,
        key: bytes,
        most_body: int = 1 << 20,
        most_waiting: int = 1 << 25,
        most_reports: int = 1 << 36,
        reports_per_second: int = 0,
        upkeep_seconds: float = 60,
        compact_seconds: float = 3600,
        issuers: tuple[bytes, ...] = (),
        status_seconds: float = 1,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.ending = ending
        self.clock = clock
        self.metrics = metrics or Metrics()
        self.threads = ThreadPoolExecutor(4, "coterie-store")
        self._probe = ThreadPoolExecutor(1, "coterie-probe")  # the others may all wait for a database
        self._probing: asyncio.Future[int | None] | None = None
        self._least_room = most_waiting
        self.studies = Studies(store, self.threads, self.model, issuers)
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
        self.upkeep = Upkeep(store, self.studies, ending, compact_seconds=compact_seconds, clock=clock)
        self.tellings = Tellings(compact_seconds)
        self.status_seconds = status_seconds
        self.told: dict[str, tuple[float, asyncio.Task[dict[str, Any]]]] = {}  # until when, and a status
        self.public_key = public_key(key).hex()
        self._key = key
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
            self.ending.stop()
            await asyncio.to_thread(self.upkeep.stop)
            await asyncio.to_thread(self.threads.shutdown)
            self._probe.shutdown(wait=False, cancel_futures=True)

    async def ask(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call something that blocks, in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, partial(call, *args, **kwargs))

    async def check_ready(self) -> None:
        """Raise Problem unless the store answers, in `READY_SECONDS`, and has room for what may wait."""
        if self._probing is None or self._probing.done():
            self._probing = asyncio.get_running_loop().run_in_executor(self._probe, self.store.probe)
        probing = self._probing  # of all who ask meanwhile
        done, _ = await asyncio.wait([probing], timeout=READY_SECONDS)
        if not done:
            raise Problem("unavailable", "its store does not answer", {"retry-after": "5"})
        room = probing.result()
        if room is not None and room < self._least_room:
            raise Problem("full", f"the disk of its store has {room:,} bytes left")

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

    def publish_sheet(self, plan: Plan, data: bytes) -> tuple[bytes, bool]:
        """Check a sheet, sign and keep it; return the one that is kept, and whether it is new. Blocks.

        People agree to what they read, so a sheet that is there is not replaced.
        """
        with refusing("malformed-request", (PlanError, SheetError)):
            sheet = checked_sheet(parse_object(data, "a sheet"), plan)
        signed, before = sign_sheet(sheet, self._key), self.sheet(plan.id)
        kept = self.store.put_document(plan.id, SHEET, signed) if before is None else before
        if kept != signed:
            raise Problem("another-sheet", "people agree to what they read: a sheet is never replaced")
        return kept, before is None

    def sheet(self, plan_id: str) -> bytes | None:
        """Return the signed sheet of a study, or None. Blocks."""
        return self.store.document(plan_id, SHEET)

    def place(self, plan: Plan) -> tuple[str | None, bool]:
        """Return a plan's label in its study, and whether it is the wave that a next one follows. Blocks."""
        del plan
        return None, False

    def check_plan(self, plan: Plan) -> None:
        """Raise Problem unless this service takes such plans."""
        raise NotImplementedError

    def study(self, plan_id: str) -> Study:
        """Return where a study stands."""
        return self.store.study(plan_id)
