"""`Taking`: what both roles of the service have around one store, and what runs while it serves."""

from __future__ import annotations

import asyncio
import contextlib
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
from coterie.service.problems import Problem, refusing
from coterie.service.settings import USUAL, Limits
from coterie.service.status import Tellings
from coterie.service.studies import Known, Studies
from coterie.service.upkeep import Upkeep
from coterie.service.uploads import Uploads
from coterie.service.writer import Writer
from coterie.sheet import checked_sheet, sign_sheet
from coterie.store import Study
from coterie.wire.signing import public_key

SHEET: Final = "sheet"  # a document of the store
READY_SECONDS: Final = 1.5  # in which a service must know whether it is ready

P = ParamSpec("P")
T = TypeVar("T")


class Taking:
    """Takes reports of one model in and looks after studies; how these end is its role's matter.

    Parameters
    ----------
    ending : Ending
        How studies end, in which store, by which key and clock.
    token : str
        The operator's.
    limits : Limits
        What it takes in, and when it looks after things.
    issuers : tuple of bytes
        Public keys of those who admit reports; without any, anybody may send.
    status_seconds : float
        For which a status is told again before the store is asked.
    """

    model: ClassVar[str]  # of the plans whose reports are taken in here
    role: ClassVar[str]

    def __init__(
        self,
        ending: Ending,
        *,
        token: str,
        limits: Limits = USUAL,
        issuers: tuple[bytes, ...] = (),
        status_seconds: float = 1,
    ) -> None:
        self.ending, self._limits, self._token = ending, limits, token
        self.store, self.clock, self.metrics = ending.store, ending.clock, ending.metrics
        self.threads = ThreadPoolExecutor(4, "coterie-store")
        self._probe = ThreadPoolExecutor(1, "coterie-probe")  # the others may all wait for a database
        self._probing: asyncio.Future[int | None] | None = None
        self._least_room = limits.most_waiting
        self.studies = Studies(self.store, self.threads, self.model, issuers)
        self.writer = Writer(self.store, self.metrics, limits, self.clock)
        self.uploads = Uploads(self.studies, self.writer, self.metrics, limits, self.model)
        self.upkeep = Upkeep(self.studies, ending, limits.compact_seconds)
        self.tellings = Tellings(limits.compact_seconds)
        self.status_seconds = status_seconds
        self.told: dict[str, tuple[float, asyncio.Task[dict[str, Any]]]] = {}  # until when, and a status
        self.public_key = public_key(ending.key).hex()

    @contextlib.asynccontextmanager
    async def running(self, app: object = None) -> AsyncIterator[None]:
        """Write and look after things while the block runs; at its end everything that waits is written."""
        del app
        self.writer.start()
        self.ending.start()
        task = asyncio.get_running_loop().create_task(self.upkeep.run(self._limits.upkeep_seconds))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await self.writer.stop()
            for stop in (self.ending.stop, self.upkeep.stop, self.threads.shutdown):
                await asyncio.to_thread(stop)
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
        most = self._limits.most_body if most is None else most
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
        signed, before = sign_sheet(sheet, self.ending.key), self.sheet(plan.id)
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
