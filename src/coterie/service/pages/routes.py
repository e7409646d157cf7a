"""The addresses of the pages; a shuffler, which finds nothing, has the first two and the scripts.

GET /                                 what this server is, and the operator's console
GET /plans/{plan-id}/participate      the form
GET /plans/{plan-id}/study            how it is going, and what was found
GET /plans/{plan-id}/report           the same to keep, for people who were not there; and report.json
GET /studies/{study-id}/participate   goes on to the form of the plan that is open
GET /studies/{study-id}/study         all waves of a study, and what changed from one to the next
GET /static/{hash}/{file}             scripts and sheets, for good
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from coterie.service.collector import Collector
from coterie.service.endpoints import at, study_status
from coterie.service.pages import views
from coterie.service.pages.assets import assets
from coterie.service.pages.headers import ASSET, PAGE
from coterie.service.problems import Problem
from coterie.service.reports import FOR_PROGRAMS
from coterie.service.reports import PAGE as REPORT
from coterie.service.results import RESULT
from coterie.service.studies import Known
from coterie.service.study_endpoints import parts_of, told_of
from coterie.service.taking import Taking

SHUFFLER_PAGES: Final[list[BaseRoute]] = []  # of both roles
_OWN: Final[list[BaseRoute]] = []  # of a collector alone


def _html(text: str) -> Response:
    return Response(text, headers=PAGE, media_type="text/html")


@at(SHUFFLER_PAGES, "/")
async def console_page(request: Request, service: Taking) -> Response:
    """Return the page of the server itself."""
    return _html(views.console_page(service.public_key, service.role))


@at(SHUFFLER_PAGES, "/plans/{plan_id}/participate")
async def participate_page(request: Request, service: Taking, known: Known) -> Response:
    """Return the page on which somebody takes part."""
    sheet = await service.ask(service.sheet, known.plan.id)
    chosen = request.query_params.get("language", "")[:35]  # by a link on the page
    wanted = f"{chosen}, {request.headers.get('accept-language', '')}"
    here, key = known.plan.model == service.model, service.public_key
    return _html(views.participate_page(known.plan, sheet, wanted, sends_here=here, public_key=key))


@at(_OWN, "/plans/{plan_id}/study")
async def study_page(request: Request, collector: Taking, known: Known) -> Response:
    """Return the page on which a study fills up."""
    status = await study_status(collector, known)
    result = (
        await collector.ask(collector.store.document, known.plan.id, RESULT) if status["decoded"] else None
    )
    key = collector.public_key
    return _html(await collector.ask(views.study_page, known.plan, known.collection, status, result, key))


def _hand_out(file: str, media_type: str, ending: str) -> None:
    """Let a decoded study's report be asked for."""

    @at(_OWN, f"/plans/{{plan_id}}/{file}")
    async def endpoint(request: Request, collector: Collector, known: Known) -> Response:
        found = await collector.ask(collector.reports.find, known.plan, media_type)
        name = f"report-{known.plan.id[:12]}.{ending}"
        kept = {**PAGE, "content-disposition": f'attachment; filename="{name}"'}
        return collector.documents.answer(found, media_type, kept)


_hand_out("report", REPORT, "html")
_hand_out("report.json", FOR_PROGRAMS, "json")


@at(_OWN, "/studies/{study_id}/participate")
async def participate_in_study(request: Request, collector: Collector, study_id: str) -> Response:
    """Lead to the form of the wave that is open; a browser takes the invitation behind # along."""
    plan = await collector.ask(collector.results.waves.open_one, study_id)
    where = {**PAGE, "location": f"../../plans/{plan.id}/participate"}  # relative: no address is echoed
    return Response(status_code=303, headers=where)


@at(_OWN, "/studies/{study_id}/study")
async def waves_page(request: Request, collector: Collector, study_id: str) -> Response:
    """Return the page of all plans of a study."""
    parts = await parts_of(collector, study_id)
    told = await told_of(collector, parts)
    results = [
        await collector.ask(collector.store.document, each["plan_id"], RESULT) if each["decoded"] else None
        for each in told
    ]
    return _html(await collector.ask(views.waves_page, parts, told, results))


@at(SHUFFLER_PAGES, "/static/{name}/{file}")
async def static_file(request: Request, service: Taking) -> Response:
    """Return a script or a sheet."""
    found = assets()
    file = found.files.get(request.path_params["file"])
    if file is None or request.path_params["name"] != found.name:
        raise Problem("not-found", "load the page again: this is no file of this version")
    return Response(file.data, headers=ASSET, media_type=file.media_type)


PAGES: Final = [*SHUFFLER_PAGES, *_OWN]
