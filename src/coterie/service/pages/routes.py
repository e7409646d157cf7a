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

from coterie.service.endpoints import at, collector_of, of, study_status
from coterie.service.pages import views
from coterie.service.pages.assets import assets
from coterie.service.pages.headers import ASSET, PAGE
from coterie.service.problems import Problem
from coterie.service.reports import FOR_PROGRAMS
from coterie.service.reports import PAGE as REPORT
from coterie.service.results import RESULT
from coterie.service.study_endpoints import parts_of, study_of, told_of

SHUFFLER_PAGES: Final[list[BaseRoute]] = []  # of both roles
_OWN: Final[list[BaseRoute]] = []  # of a collector alone


def _html(text: str) -> Response:
    return Response(text, headers=PAGE, media_type="text/html")


@at(SHUFFLER_PAGES, "/")
async def console_page(request: Request) -> Response:
    """Return the page of the server itself."""
    return _html(views.console_page(of(request).public_key, of(request).role))


@at(SHUFFLER_PAGES, "/plans/{plan_id}/participate")
async def participate_page(request: Request) -> Response:
    """Return the page on which somebody takes part."""
    service, known = of(request), await of(request).known(request)
    sheet = await service.ask(service.sheet, known.plan.id)
    chosen = request.query_params.get("language", "")[:35]  # by a link on the page
    wanted = f"{chosen}, {request.headers.get('accept-language', '')}"
    here, key = known.plan.model == service.model, service.public_key
    return _html(views.participate_page(known.plan, sheet, wanted, sends_here=here, public_key=key))


@at(_OWN, "/plans/{plan_id}/study")
async def study_page(request: Request) -> Response:
    """Return the page on which a study fills up."""
    collector, known = of(request), await of(request).known(request)
    status = await study_status(collector, known)
    result = (
        await collector.ask(collector.store.document, known.plan.id, RESULT) if status["decoded"] else None
    )
    key = collector.public_key
    return _html(await collector.ask(views.study_page, known.plan, known.collection, status, result, key))


def _hand_out(file: str, media_type: str, ending: str) -> None:
    """Let a decoded study's report be asked for."""

    @at(_OWN, f"/plans/{{plan_id}}/{file}")
    async def endpoint(request: Request) -> Response:
        collector, known = collector_of(request), await of(request).known(request)
        found = await collector.ask(collector.reports.find, known.plan, media_type)
        name = f"report-{known.plan.id[:12]}.{ending}"
        kept = {**PAGE, "content-disposition": f'attachment; filename="{name}"'}
        return collector.documents.answer(found, media_type, kept)


_hand_out("report", REPORT, "html")
_hand_out("report.json", FOR_PROGRAMS, "json")


@at(_OWN, "/studies/{study_id}/participate")
async def participate_in_study(request: Request) -> Response:
    """Lead to the form of the wave that is open; a browser takes the invitation behind # along."""
    collector = collector_of(request)
    plan = await collector.ask(collector.results.waves.open_one, study_of(request))
    where = {**PAGE, "location": f"../../plans/{plan.id}/participate"}  # relative: no address is echoed
    return Response(status_code=303, headers=where)


@at(_OWN, "/studies/{study_id}/study")
async def waves_page(request: Request) -> Response:
    """Return the page of all plans of a study."""
    collector, parts = collector_of(request), await parts_of(request)
    told = await told_of(collector, parts)
    results = [
        await collector.ask(collector.store.document, each["plan_id"], RESULT) if each["decoded"] else None
        for each in told
    ]
    return _html(await collector.ask(views.waves_page, parts, told, results))


@at(SHUFFLER_PAGES, "/static/{name}/{file}")
async def static_file(request: Request) -> Response:
    """Return a script or a sheet."""
    found = assets()
    file = found.files.get(request.path_params["file"])
    if file is None or request.path_params["name"] != found.name:
        raise Problem("not-found", "load the page again: this is no file of this version")
    return Response(file.data, headers=ASSET, media_type=file.media_type)


PAGES: Final = [*SHUFFLER_PAGES, *_OWN]
