"""The application: reports on the fast path, a route for everything else, problems as documents.

    collector = Collector(store, token=…, key=…)
    app = create_app(collector, routes=[…])       # more routes, such as pages

A route finds its collector as `request.app.state.collector` (`endpoints.at`).
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coterie.errors import StoreError
from coterie.service.connection import send_in_pieces
from coterie.service.endpoints import NO_STORE, ROUTES
from coterie.service.problems import MEDIA_TYPE as PROBLEM_TYPE
from coterie.service.problems import Problem
from coterie.service.shuffler import ROUTES as SHUFFLER_ROUTES
from coterie.service.study_endpoints import ROUTES as STUDY_ROUTES
from coterie.service.taking import Taking
from coterie.service.writer import problem_of


def create_app(collector: Taking, routes: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Return the application of a collector or a shuffler, with more routes if any."""
    app = Starlette(
        routes=[*(SHUFFLER_ROUTES if collector.role == "shuffler" else (*ROUTES, *STUDY_ROUTES)), *routes],
        lifespan=collector.running,
        exception_handlers=dict.fromkeys((Problem, StoreError, HTTPException, Exception), _answer),
    )
    app.router.redirect_slashes = False  # it would name the address that the request came to
    app.state.collector = collector
    uploads, metrics = collector.uploads, collector.metrics

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                metrics.answer(message["status"])
            await send_in_pieces(message, send)

        if scope["type"] != "http":
            await app(scope, receive, send)
        elif uploads.takes(scope):
            await uploads(scope, receive, send)
        else:
            await app(scope, receive, counting)

    return serve


async def _answer(request: Request, error: Exception) -> Response:
    del request
    if isinstance(error, HTTPException):  # what the router refuses
        kind = {404: "not-found", 405: "wrong-method"}.get(error.status_code, "malformed-request")
        error = Problem(kind, "see /openapi.json for what there is", dict(error.headers or {}))
    problem = problem_of(error)
    return Response(problem.document(), problem.status, {**NO_STORE, **problem.headers}, PROBLEM_TYPE)
