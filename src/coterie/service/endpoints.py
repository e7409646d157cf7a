"""Everything but the fast path: plans, status, close, decode, what a study leaves, invitations, metrics.

An endpoint returns a response, or raises `Problem`; `at` says where it answers, and what it is given.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from coterie.errors import StoreError
from coterie.plain.canonical import MAX_BYTES, parse_object
from coterie.plain.checks import checked_fields, checked_integer
from coterie.plan import Plan
from coterie.service.batches import MOST_BODY
from coterie.service.collector import Collector
from coterie.service.console import Seen, summaries
from coterie.service.metrics import MEDIA_TYPE as METRICS_TYPE
from coterie.service.openapi import openapi_document
from coterie.service.problems import Problem, refusing
from coterie.service.results import MANIFEST, RESULT, TABLE
from coterie.service.status import status_document
from coterie.service.studies import Known
from coterie.service.taking import Taking
from coterie.sheet import MOST_BYTES as MOST_SHEET
from coterie.wire.layout import TOKEN_BYTES
from coterie.wire.shuffled_file import MEDIA_TYPE as BATCH_TYPE
from coterie.wire.shuffled_file import is_put_by
from coterie.wire.tokens import token_mark

MOST_INVITATIONS: Final = 100_000  # of one request
LONGEST_WAIT: Final = 300.0  # seconds that a request for decoding may wait

NO_STORE: Final = {"cache-control": "no-store"}
_FOREVER: Final = {"cache-control": "public, max-age=31536000, immutable"}

Endpoint = Callable[..., Awaitable[Response]]


INTAKE_ROUTES: Final[list[BaseRoute]] = []  # what both roles answer to, besides reports and withdrawals
_OWN: Final[list[BaseRoute]] = []  # what a collector alone does


def at(
    routes: list[BaseRoute], path: str, method: str = "GET", *, operator: bool = False, new: bool = False
) -> Callable[[Endpoint], Endpoint]:
    """Let an endpoint answer at a path; `operator`: the operator alone.

    It is given the request, the service that this came to, and the plan that the path names, unless it is new
    here, or the id of the study.
    """

    def placed(endpoint: Endpoint) -> Endpoint:
        async def answer(request: Request) -> Response:
            service: Taking = request.app.state.collector
            if operator:
                service.check_operator(request)
            if "{study_id}" in path:
                return await endpoint(request, service, request.path_params["study_id"])
            if "{plan_id}" in path and not new:
                return await endpoint(request, service, await service.known(request))
            return await endpoint(request, service)

        routes.append(Route(path, answer, methods=[method]))
        return endpoint

    return placed


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON answer that nobody keeps."""
    body = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, {**NO_STORE, **(headers or {})}, "application/json")


@at(INTAKE_ROUTES, "/healthz")
async def healthz(request: Request, service: Taking) -> Response:
    """Answer that the service runs, whatever its store does."""
    return json_response({"status": "ok"})


@at(INTAKE_ROUTES, "/readyz")
async def readyz(request: Request, service: Taking) -> Response:
    """Answer whether the service can take reports in: its store answers, and has room."""
    await service.check_ready()
    return json_response({"status": "ok"})


@at(INTAKE_ROUTES, "/metrics", operator=True)
async def metrics(request: Request, collector: Taking) -> Response:
    """Return the figures for Prometheus."""
    collector.metrics.waiting.set(collector.writer.waiting_bytes)
    collector.metrics.oldest.set(collector.writer.oldest_seconds)
    room = collector.store.room()
    collector.metrics.disk.set(math.nan if room is None else room)
    return Response(collector.metrics.page(), headers=NO_STORE, media_type=METRICS_TYPE)


@at(INTAKE_ROUTES, "/key")
async def key(request: Request, service: Taking) -> Response:
    """Return the public key of what this service signs: manifests and sheets, or batches."""
    return json_response({"public_key": service.public_key})


@at(INTAKE_ROUTES, "/openapi.json")
async def openapi(request: Request, service: Taking) -> Response:
    """Return the description of this interface."""
    return json_response(openapi_document(service.role))


@at(INTAKE_ROUTES, "/plans", operator=True)
async def list_plans(request: Request, service: Taking) -> Response:
    """List the ids of all plans."""
    return json_response({"plans": await service.ask(service.store.plan_ids)})


@at(INTAKE_ROUTES, "/studies", operator=True)
async def list_studies(request: Request, service: Taking) -> Response:
    """Answer of every study where it is and what to do next; counts as everybody is told them."""
    found = []
    for plan_id in await service.ask(service.store.plan_ids):
        known = await service.studies.find(plan_id)
        sheet = await service.ask(service.sheet, plan_id)
        place = await service.ask(service.place, known.plan)
        found.append(Seen(known, await study_status(service, known), sheet, *place, service.model))
    return json_response({"studies": summaries(found)})


@at(INTAKE_ROUTES, "/plans/{plan_id}")
async def get_plan(request: Request, service: Taking, known: Known) -> Response:
    """Return a plan, as its id is the hash of."""
    plan = known.plan
    headers = {"etag": f'"{plan.id}"', **_FOREVER}
    if plan.id in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(known.document, headers=headers, media_type="application/json")


@at(INTAKE_ROUTES, "/plans/{plan_id}", "PUT", operator=True, new=True)
async def put_plan(request: Request, collector: Taking) -> Response:
    """Take a plan in."""
    plan = await plan_in(collector, request)
    if plan.id != request.path_params["plan_id"]:
        raise Problem("another-plan", f"its id is {plan.id}: put it under that one")
    collector.check_plan(plan)
    made = await collector.ask(collector.store.put_plan, plan)
    collector.studies.forget_missing(plan.id)
    return json_response({"plan_id": plan.id}, 201 if made else 200, {"location": f"/plans/{plan.id}"})


async def plan_in(service: Taking, request: Request) -> Plan:
    """Return the plan that the body of a request is."""
    body = await service.body(request, MAX_BYTES)
    with refusing("malformed-plan"):
        return Plan.from_json(body)


@at(INTAKE_ROUTES, "/plans/{plan_id}/status")
async def status(request: Request, service: Taking, known: Known) -> Response:
    """Answer where a study is, coarsely."""
    return json_response(await study_status(service, known))


async def study_status(collector: Taking, known: Known) -> dict[str, Any]:
    """Return where a study is, as anybody may know it; the same again for a while, and worked out once."""
    until, task = collector.told.get(known.plan.id, (0.0, None))
    if task is None or (task.done() and (time.monotonic() >= until or task.exception())):
        task = asyncio.get_running_loop().create_task(collector.ask(_status, collector, known))
        collector.told[known.plan.id] = time.monotonic() + collector.status_seconds, task
    return await asyncio.shield(task)


def _status(collector: Taking, known: Known) -> dict[str, Any]:
    plan_id = known.plan.id
    study, decoded = collector.study(plan_id), collector.ending.is_decoded(plan_id)
    decoding = collector.ending.is_running(plan_id)
    return status_document(
        known, study, collector.clock(), collector.tellings, decoded=decoded, decoding=decoding
    )


@at(INTAKE_ROUTES, "/plans/{plan_id}/close", "POST", operator=True)
async def close(request: Request, collector: Taking, known: Known) -> Response:
    """Close a study for good."""
    return json_response({"closed": await collector.ask(collector.ending.close, known)})


@at(_OWN, "/plans/{plan_id}/decode", "POST", operator=True)
async def decode(request: Request, collector: Collector, known: Known) -> Response:
    """Decode a closed study, or say that it takes longer than the request waits."""
    found = await collector.results.decoded(known, waiting(request))
    if found is None:
        return json_response({"state": "decoding"}, 202, {"location": f"/plans/{known.plan.id}/result"})
    return Response(found.result, headers=NO_STORE, media_type="application/json")


def waiting(request: Request) -> float:
    """Return for how long a request is ready to wait (RFC 7240), 10 seconds unless it says."""
    for part in request.headers.get("prefer", "").split(","):
        name, _, value = part.strip().partition("=")
        if name.lower() == "wait" and value.isascii() and value.isdigit():
            return min(float(value[:6]), LONGEST_WAIT)
    return 10.0


def _hand_out(name: str, media_type: str) -> None:
    """Let a document that a decoded study left be asked for."""

    @at(_OWN, f"/plans/{{plan_id}}/{name}")
    async def endpoint(request: Request, collector: Collector, known: Known) -> Response:
        found = await collector.ask(collector.documents.find, known.plan.id, name)
        return collector.documents.answer(found, media_type, NO_STORE)


_hand_out(RESULT, "application/json")
_hand_out(TABLE, "application/octet-stream")
_hand_out(MANIFEST, "application/json")


@at(INTAKE_ROUTES, "/plans/{plan_id}/sheet")
async def get_sheet(request: Request, service: Taking, known: Known) -> Response:
    """Return who asks, and why."""
    found = await service.ask(service.sheet, known.plan.id)
    if found is None:
        raise Problem("not-found", "this study has no sheet")
    return Response(found, headers=NO_STORE, media_type="application/json")


@at(INTAKE_ROUTES, "/plans/{plan_id}/sheet", "PUT", operator=True)
async def put_sheet(request: Request, service: Taking, known: Known) -> Response:
    """Publish the sheet of a study, signed, once."""
    data = await service.body(request, MOST_SHEET)
    kept, made = await service.ask(service.publish_sheet, known.plan, data)
    return Response(kept, 201 if made else 200, NO_STORE, "application/json")


@at(INTAKE_ROUTES, "/plans/{plan_id}/reports", "DELETE", operator=True)
async def delete_reports(request: Request, collector: Taking, known: Known) -> Response:
    """Delete the reports of a closed study before its retention ends."""
    study = await collector.ask(collector.store.study, known.plan.id)
    if study.state == "open":
        raise Problem("open", "close the study first")
    await collector.ask(collector.ending.delete, known)
    return Response(status_code=204)


@at(_OWN, "/plans/{plan_id}/invitations", "POST", operator=True)
async def invite(request: Request, collector: Taking, known: Known) -> Response:
    """Issue one-time tokens; the service keeps their marks only."""
    if known.plan.ids != "token":
        raise Problem("unfit-plan", "the ids of this plan are drawn on the device: it takes no invitations")
    body = await collector.body(request)
    with refusing("malformed-request"):
        asked = checked_fields("the body", parse_object(body, "the body"), ["count"])
        count = checked_integer("count", asked["count"], 1, MOST_INVITATIONS)
    tokens = [secrets.token_bytes(TOKEN_BYTES) for _ in range(count)]
    marks = b"".join(token_mark(known.plan, token) for token in tokens)
    rows = np.frombuffer(marks, dtype=np.uint8).reshape(count, -1)
    await collector.ask(collector.store.invite, known.plan.id, rows)
    return json_response({"tokens": [token.hex() for token in tokens]}, 201)


@at(_OWN, "/plans/{plan_id}/batches/{digest}", "PUT")
async def put_batch(request: Request, collector: Collector, known: Known) -> Response:
    """Take a batch in from a shuffler that this collector knows: whole, durably, once."""
    plan, digest = known.plan, request.path_params["digest"]
    if not is_put_by(collector.shufflers, request.headers.get("authorization"), plan.id, digest):
        raise Problem("not-a-shuffler", "sign it with the key of a shuffler that this collector knows")
    if not plan.mixed:
        raise Problem("unfit-plan", f"a plan of the {plan.model} model has no batches")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != BATCH_TYPE:
        raise Problem("wrong-type", f"the body must be {BATCH_TYPE}")
    data = await collector.body(request, MOST_BODY)
    try:
        made = await collector.ask(collector.results.batches.take, plan, digest, data)
    except (Problem, StoreError):
        collector.metrics.batch("refused")
        raise
    collector.metrics.batch("accepted" if made else "repeated")
    return json_response({"batch": digest}, 201 if made else 200)


ROUTES: Final = [*INTAKE_ROUTES, *_OWN]
