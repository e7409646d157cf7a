"""The application: reports on the fast path, a route for everything else, problems as documents.

    collector = Collector(store, token=…, key=…)
    app = create_app(collector, routes=[…])       # more routes, such as pages

`Collector` holds the parts; a route finds it as `request.app.state.collector`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, wraps
from typing import Any, ClassVar, Final, ParamSpec, TypeVar

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from coterie.errors import PlanError
from coterie.plain.canonical import MAX_BYTES, parse_object
from coterie.plain.checks import checked_fields, checked_integer
from coterie.plan import Plan
from coterie.service.batches import MOST_BODY, Tally, checked_people
from coterie.service.keys import is_operator
from coterie.service.metrics import MEDIA_TYPE as METRICS_TYPE
from coterie.service.metrics import Metrics
from coterie.service.openapi import openapi_document
from coterie.service.problems import MEDIA_TYPE as PROBLEM_TYPE
from coterie.service.problems import Problem
from coterie.service.results import Outcome, Results
from coterie.service.status import status_document
from coterie.service.studies import Known, Studies
from coterie.service.upkeep import Upkeep
from coterie.service.uploads import Uploads
from coterie.service.writer import Writer, problem_of
from coterie.store import Store, StoreError, Study
from coterie.wire.layout import TOKEN_BYTES
from coterie.wire.shuffled_file import MEDIA_TYPE as BATCH_TYPE
from coterie.wire.shuffled_file import is_put_by
from coterie.wire.tokens import token_mark

MOST_INVITATIONS: Final = 100_000  # of one request
LONGEST_WAIT: Final = 300.0  # seconds that a request for decoding may wait

_NO_STORE: Final = {"cache-control": "no-store"}
_FOREVER: Final = {"cache-control": "public, max-age=31536000, immutable"}

P = ParamSpec("P")
T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[Response]]


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
    most_body, most_waiting, most_reports, reports_per_second, upkeep_seconds, compact_seconds, decode_seconds
        As in `Settings`.
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
        most_waiting: int = 1 << 25,
        most_reports: int = 1 << 36,
        reports_per_second: int = 0,
        upkeep_seconds: float = 60,
        compact_seconds: float = 3600,
        decode_seconds: float = 3600,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.clock = clock
        self.metrics = Metrics()
        self.threads = ThreadPoolExecutor(4, "coterie-store")
        self.studies = Studies(store, self.threads, self.model)
        self.shufflers = tuple(shufflers)
        self.tally = Tally(store)
        self.writer = Writer(
            store, self.metrics, most_waiting=most_waiting, most_reports=most_reports, clock=clock
        )
        self.uploads = Uploads(
            self.studies,
            self.writer,
            self.metrics,
            most_body=most_body,
            reports_per_second=reports_per_second,
            model=self.model,
        )
        self.results = self.results_kind(store, key, timeout=decode_seconds, clock=clock)
        self.upkeep = self.upkeep_kind(
            store, self.studies, self.results, compact_seconds=compact_seconds, clock=clock
        )
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
        if plan.model == "shuffle" and not self.shufflers:
            raise Problem("unfit-plan", "this collector knows no shuffler: give it the public key of one")
        if plan.model not in ("local", "shuffle"):
            raise Problem("unfit-plan", f"this service takes no plans of the {plan.model} model")

    def study(self, plan_id: str) -> Study:
        """Return where a study stands; in the shuffle model people came in batches."""
        study = self.store.study(plan_id)
        if study.plan.model == self.model:
            return study
        return replace(study, counts=replace(study.counts, counted=self.tally.people(study)))

    @property
    def routes(self) -> tuple[BaseRoute, ...]:
        """What it answers to, besides reports and withdrawals."""
        return ROUTES


def operator(endpoint: Endpoint) -> Endpoint:
    """Make an endpoint the operator's."""

    @wraps(endpoint)
    async def guarded(request: Request) -> Response:
        of(request).check_operator(request)
        return await endpoint(request)

    return guarded


def of(request: Request) -> Collector:
    """Return the collector that a request came to."""
    collector: Collector = request.app.state.collector
    return collector


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON answer that nobody keeps."""
    body = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, {**_NO_STORE, **(headers or {})}, "application/json")


# ---------------------------------------------------------------- endpoints


async def healthz(request: Request) -> Response:
    """Tell whether the service runs and its store answers."""
    await of(request).ask(of(request).store.plan_ids)
    return json_response({"status": "ok"})


@operator
async def metrics(request: Request) -> Response:
    """Return the figures for Prometheus."""
    collector = of(request)
    collector.metrics.waiting.set(collector.writer.waiting_bytes)
    return Response(collector.metrics.page(), headers=_NO_STORE, media_type=METRICS_TYPE)


async def openapi(request: Request) -> Response:
    """Return the description of this interface."""
    return json_response(openapi_document(of(request).role))


@operator
async def list_plans(request: Request) -> Response:
    """List the ids of all plans."""
    return json_response({"plans": await of(request).ask(of(request).store.plan_ids)})


async def get_plan(request: Request) -> Response:
    """Return a plan, as its id is the hash of."""
    plan = (await of(request).known(request)).plan
    headers = {"etag": f'"{plan.id}"', **_FOREVER}
    if plan.id in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(plan.to_json(), headers=headers, media_type="application/json")


@operator
async def put_plan(request: Request) -> Response:
    """Take a plan in."""
    collector, plan_id = of(request), request.path_params["plan_id"]
    try:
        plan = Plan.from_json(await collector.body(request, MAX_BYTES))
    except PlanError as error:
        raise Problem("malformed-plan", str(error)) from None
    if plan.id != plan_id:
        raise Problem("another-plan", f"its id is {plan.id}: put it under that one")
    collector.check_plan(plan)
    made = await collector.ask(collector.store.put_plan, plan)
    collector.studies.forget_missing(plan.id)
    return json_response({"plan_id": plan.id}, 201 if made else 200, {"location": f"/plans/{plan.id}"})


async def status(request: Request) -> Response:
    """Tell where a study is, coarsely."""
    collector, known = of(request), await of(request).known(request)
    study = await collector.ask(collector.study, known.plan.id)
    decoded = await collector.ask(collector.results.outcome, known.plan.id) is not None
    decoding = collector.results.is_running(known.plan.id)
    return json_response(status_document(known, study, collector.clock(), decoded=decoded, decoding=decoding))


@operator
async def close(request: Request) -> Response:
    """Close a study for good."""
    collector, known = of(request), await of(request).known(request)
    return json_response({"closed": await collector.ask(collector.results.close, known)})


@operator
async def decode(request: Request) -> Response:
    """Decode a closed study, or say that it takes longer than the request waits."""
    collector, known = of(request), await of(request).known(request)
    found = await collector.results.decoded(known, _wait(request))
    if found is None:
        return json_response({"state": "decoding"}, 202, {"location": f"/plans/{known.plan.id}/result"})
    return _document(found.result, "application/json")


def _wait(request: Request) -> float:
    """Return for how long a request is ready to wait (RFC 7240), 10 seconds unless it says."""
    for part in request.headers.get("prefer", "").split(","):
        name, _, value = part.strip().partition("=")
        if name.lower() == "wait" and value.isascii() and value.isdigit():
            return min(float(value[:6]), LONGEST_WAIT)
    return 10.0


async def _outcome(request: Request) -> Outcome:
    collector, known = of(request), await of(request).known(request)
    found = await collector.ask(collector.results.outcome, known.plan.id)
    if found is None:
        raise Problem("not-decoded", "the operator closes and decodes a study; ask again later")
    return found


def _document(data: bytes, media_type: str) -> Response:
    return Response(data, headers=_NO_STORE, media_type=media_type)


async def result(request: Request) -> Response:
    """Return the result of a decoded study."""
    return _document((await _outcome(request)).result, "application/json")


async def table(request: Request) -> Response:
    """Return the table of a decoded study."""
    return _document((await _outcome(request)).table, "application/octet-stream")


async def manifest(request: Request) -> Response:
    """Return the signed manifest of a decoded study."""
    return _document((await _outcome(request)).manifest, "application/json")


@operator
async def delete_reports(request: Request) -> Response:
    """Delete the reports of a closed study before its retention ends."""
    collector, known = of(request), await of(request).known(request)
    study = await collector.ask(collector.store.study, known.plan.id)
    if study.state == "open":
        raise Problem("open", "close the study first")
    await collector.ask(collector.results.delete, known)
    return Response(status_code=204)


@operator
async def invite(request: Request) -> Response:
    """Issue one-time tokens; the service keeps their marks only."""
    collector, known = of(request), await of(request).known(request)
    if known.plan.ids != "token":
        raise Problem("unfit-plan", "the ids of this plan are drawn on the device: it takes no invitations")
    try:
        asked = checked_fields("the body", parse_object(await collector.body(request), "the body"), ["count"])
        count = checked_integer("count", asked["count"], 1, MOST_INVITATIONS)
    except PlanError as error:
        raise Problem("malformed-request", str(error)) from None
    tokens = [secrets.token_bytes(TOKEN_BYTES) for _ in range(count)]
    marks = b"".join(token_mark(known.plan, token) for token in tokens)
    rows = np.frombuffer(marks, dtype=np.uint8).reshape(count, -1)
    await collector.ask(collector.store.invite, known.plan.id, rows)
    return json_response({"tokens": [token.hex() for token in tokens]}, 201)


async def put_batch(request: Request) -> Response:
    """Take a batch in from a shuffler that this collector knows: whole, durably, once."""
    collector, known = of(request), await of(request).known(request)
    plan, digest = known.plan, request.path_params["digest"]
    if not is_put_by(collector.shufflers, request.headers.get("authorization"), plan.id, digest):
        raise Problem("not-a-shuffler", "sign it with the key of a shuffler that this collector knows")
    if plan.model != "shuffle":
        raise Problem("unfit-plan", f"a plan of the {plan.model} model has no batches")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != BATCH_TYPE:
        raise Problem("wrong-type", f"the body must be {BATCH_TYPE}")
    data = await collector.body(request, MOST_BODY)
    try:
        await collector.ask(checked_people, plan, digest, data)
        made = await collector.ask(collector.store.put_batch, plan.id, digest, data)
    except (Problem, StoreError):
        collector.metrics.batch("refused")
        raise
    collector.metrics.batch("accepted" if made else "repeated")
    return json_response({"batch": digest}, 201 if made else 200)


ABOUT_ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route("/healthz", healthz),
    Route("/metrics", metrics),
    Route("/openapi.json", openapi),
)
INTAKE_ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route("/plans", list_plans),
    Route("/plans/{plan_id}", get_plan, methods=["GET"]),
    Route("/plans/{plan_id}", put_plan, methods=["PUT"]),
    Route("/plans/{plan_id}/status", status),
    Route("/plans/{plan_id}/close", close, methods=["POST"]),
    Route("/plans/{plan_id}/reports", delete_reports, methods=["DELETE"]),
)
RESULT_ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route("/plans/{plan_id}/decode", decode, methods=["POST"]),
    Route("/plans/{plan_id}/result", result),
    Route("/plans/{plan_id}/table", table),
    Route("/plans/{plan_id}/manifest", manifest),
    Route("/plans/{plan_id}/batches/{digest}", put_batch, methods=["PUT"]),
    Route("/plans/{plan_id}/invitations", invite, methods=["POST"]),
)
ROUTES: Final = (*ABOUT_ROUTES, *INTAKE_ROUTES, *RESULT_ROUTES)


# ---------------------------------------------------------------- the application


def create_app(collector: Collector, routes: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Return the application of a collector, with more routes if any."""
    app = Starlette(
        routes=[*collector.routes, *routes],
        lifespan=collector.running,
        exception_handlers={
            Problem: _answer,
            StoreError: _answer,
            HTTPException: _answer_http,
            Exception: _answer,
        },
    )
    app.state.collector = collector
    uploads, metrics = collector.uploads, collector.metrics

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if uploads.takes(scope):
                await uploads(scope, receive, send)
                return

            async def counting(message: Any) -> None:
                if message["type"] == "http.response.start":
                    metrics.answer(message["status"])
                await send(message)

            await app(scope, receive, counting)
            return
        await app(scope, receive, send)

    return serve


async def _answer(request: Request, error: Exception) -> Response:
    del request
    problem = problem_of(error)
    return Response(problem.document(), problem.status, {**_NO_STORE, **problem.headers}, PROBLEM_TYPE)


async def _answer_http(request: Request, error: Exception) -> Response:
    """Answer what the router refuses."""
    known = {404: "not-found", 405: "wrong-method"}
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    kind = known.get(status, "malformed-request")
    return await _answer(request, Problem(kind, "see /openapi.json for what there is", headers))
