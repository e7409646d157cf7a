"""Studies of several plans: their list, the next wave, plans with labels, and what the waves left together.

GET  /studies/{study-id}                    the plans, in order
POST /studies/{study-id}/next               make the plan of the next wave, and open it: the operator's
PUT  /studies/{study-id}/plans/{label}      open a plan under a public label: the operator's
GET  /studies/{study-id}/result, /manifest  of all waves that were decoded
"""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from coterie.plain.canonical import parse_object
from coterie.service.collector import Collector
from coterie.service.endpoints import (
    NO_STORE,
    at,
    json_response,
    plan_in,
    study_status,
    waiting,
)
from coterie.service.problems import Problem, refusing
from coterie.service.results import MANIFEST, RESULT
from coterie.service.waves import Part

ROUTES: Final[list[BaseRoute]] = []


async def parts_of(collector: Collector, study_id: str) -> list[Part]:
    """Return the plans of a study."""
    return await collector.ask(collector.results.waves.parts, study_id)


async def told_of(collector: Collector, parts: list[Part]) -> list[dict[str, Any]]:
    """Return where each plan of a study is."""
    return [
        {
            "plan_id": part.plan.id,
            "label": part.label,
            "confirms": part.plan.confirms,
            "why": part.why,
            **{name: status[name] for name in ("state", "decoded", "decoding", "reports", "expected_users")},
        }
        for part in parts
        for status in [await study_status(collector, await collector.studies.find(part.plan.id))]
    ]


@at(ROUTES, "/studies/{study_id}")
async def get_study(request: Request, collector: Collector, study_id: str) -> Response:
    """Return the plans of a study, in order, and where each of them is."""
    plans = await told_of(collector, await parts_of(collector, study_id))
    return json_response({"study_id": study_id, "plans": plans})


@at(ROUTES, "/studies/{study_id}/next", "POST", operator=True)
async def next_wave(request: Request, collector: Collector, study_id: str) -> Response:
    """Open the next wave, or say that it takes longer than the request waits."""
    body = await collector.body(request)
    with refusing("malformed-request"):
        asked = parse_object(body, "what is asked of the next wave")
    found = await collector.results.opened(study_id, asked, waiting(request))
    if found is None:
        return json_response({"state": "decoding"}, 202)
    plan, made = found
    collector.studies.forget_missing(plan.id)
    headers = {**NO_STORE, "location": f"/plans/{plan.id}"}
    return Response(plan.to_json().encode(), 201 if made else 200, headers, "application/json")


@at(ROUTES, "/studies/{study_id}/plans/{label}", "PUT", operator=True)
async def put_labelled(request: Request, collector: Collector, study_id: str) -> Response:
    """Open a plan of a study under a public label."""
    plan = await plan_in(collector, request)
    collector.check_plan(plan)
    label = str(request.path_params["label"])
    made = await collector.ask(collector.results.waves.add_labelled, study_id, label, plan)
    collector.studies.forget_missing(plan.id)
    return json_response({"plan_id": plan.id, "label": label}, 201 if made else 200)


def _hand_out(name: str) -> None:
    """Let a document of all waves that were decoded be asked for: the last one's."""

    @at(ROUTES, f"/studies/{{study_id}}/{name}")
    async def endpoint(request: Request, collector: Collector, study_id: str) -> Response:
        for part in reversed(await parts_of(collector, study_id)):
            if part.label is not None:
                raise Problem("not-found", "plans with labels are decoded one by one: each has its own")
            if await collector.ask(collector.results.is_decoded, part.plan.id):
                found = await collector.ask(collector.documents.find, part.plan.id, name)
                return collector.documents.answer(found, "application/json", NO_STORE)
        raise Problem("not-decoded", "the operator closes and decodes a wave; ask again later")


_hand_out(RESULT)
_hand_out(MANIFEST)
