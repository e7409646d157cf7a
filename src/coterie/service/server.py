"""Running the service: uvicorn with uvloop and httptools, and connections held to their limits.

No access log is written, no server or user agent is told, no forwarded address is read. What is logged is
the life of the server, without times.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import uvicorn
from starlette.routing import BaseRoute
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from coterie.service.app import create_app
from coterie.service.collector import Collector
from coterie.service.keys import operator_token, signing_key
from coterie.service.pages.routes import PAGES
from coterie.service.problems import MEDIA_TYPE, Problem
from coterie.service.settings import Settings
from coterie.service.shuffler import Shuffler
from coterie.store import Store, open_store

log = logging.getLogger("coterie.service")

_SWEEP_SECONDS: Final = 1.0


def limited_protocol(settings: Settings) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with a bound on headers and on the time that a request may take to come."""
    most_header = settings.most_header

    class Limited(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            self.header_bytes = self.unparsed_bytes = 0
            self.coming_since: float | None = self.loop.time()
            super().connection_made(transport)
            if len(self.connections) > settings.most_connections:
                self.refuse(Problem("crowded", "connect again later", {"retry-after": "1"}))

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.header_bytes = 0
            self.coming_since = self.loop.time()

        def on_headers_complete(self) -> None:
            self.unparsed_bytes = -1  # from here on it is body
            super().on_headers_complete()

        def on_url(self, url: bytes) -> None:
            self._more(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._more(len(name) + len(value) + 4)
            super().on_header(name, value)

        def on_message_complete(self) -> None:
            self.coming_since = None
            self.unparsed_bytes = 0
            super().on_message_complete()

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            super().data_received(data)
            if self.unparsed_bytes >= 0 and self.coming_since is not None:  # a header that does not end
                self.unparsed_bytes += len(data)
                if self.unparsed_bytes > most_header:
                    self.header_bytes = self.unparsed_bytes
                    self.send_400_response("")

        def _more(self, size: int) -> None:
            self.header_bytes += size
            if self.header_bytes > most_header:
                raise _HeaderTooLargeError

        def send_400_response(self, msg: str) -> None:
            large = self.header_bytes > most_header
            del msg
            self.refuse(
                Problem("large-header", f"send at most {most_header} bytes of headers")
                if large
                else Problem("malformed-request", "this is no HTTP/1.1 request")
            )

        def refuse(self, problem: Problem) -> None:
            """Answer without the application, and hang up."""
            body = problem.document()
            head = (
                f"HTTP/1.1 {problem.status} {problem.title}\r\ncontent-type: {MEDIA_TYPE}\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n"
                + "".join(f"{name}: {value}\r\n" for name, value in problem.headers.items())
                + "\r\n"
            )
            self.transport.write(head.encode() + body)
            self.transport.close()

        def is_late(self, now: float) -> bool:
            """Tell whether a request has been coming for too long."""
            return self.coming_since is not None and now - self.coming_since > settings.request_seconds

    return Limited


class _HeaderTooLargeError(Exception):
    """Stops the parser."""


class Server(uvicorn.Server):
    """A server that hangs up on requests that take too long to come, and says where it listens."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None] | None = None) -> None:
        super().__init__(config)
        self._told = started

    async def startup(self, sockets: Any = None) -> None:
        """Start, and tell the address."""
        await super().startup(sockets)
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())
        if self.started and self._told is not None:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._told(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    async def shutdown(self, sockets: Any = None) -> None:
        """Stop."""
        self._sweeper.cancel()
        await super().shutdown(sockets)
        self._captured_signals.clear()  # they have been obeyed: the store is still to be shut

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if getattr(connection, "is_late", lambda now: False)(now):
                    connection.transport.close()


def service_of(settings: Settings, store: Store) -> Collector:
    """Return the parts of a collector or a shuffler, as the settings say."""
    options: dict[str, Any] = {
        "token": operator_token(settings.token_path),
        "key": signing_key(settings.key_path),
        "most_body": settings.most_body,
        "most_waiting": settings.most_waiting,
        "most_reports": settings.most_reports,
        "reports_per_second": settings.reports_per_second,
        "upkeep_seconds": settings.upkeep_seconds,
        "compact_seconds": settings.compact_seconds,
        "decode_seconds": settings.decode_seconds,
    }
    if settings.role == "shuffler":
        return Shuffler(store, deliver_to=settings.deliver_to, **options)
    return Collector(store, shufflers=settings.public_keys, **options)


def uvicorn_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """Return how uvicorn runs an application."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http=limited_protocol(settings),
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level="warning",  # below it uvicorn writes addresses
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=settings.idle_seconds,
        timeout_graceful_shutdown=settings.drain_seconds,
        backlog=2048,
    )


def serve(
    settings: Settings,
    *,
    routes: Sequence[BaseRoute] = (),
    started: Callable[[str], None] | None = None,
) -> None:
    """Run a collector or a shuffler until SIGTERM or SIGINT; what was accepted by then is written.

    Parameters
    ----------
    settings : Settings
        How.
    routes : sequence
        More routes of the application, besides the pages.
    started : callable, optional
        Told the address when the service is ready.
    """
    with plain_log(), open_store(settings.store_address) as store:
        pages = () if settings.role == "shuffler" else PAGES
        app = create_app(service_of(settings, store), [*pages, *routes])
        Server(uvicorn_config(app, settings), started).run()


@contextlib.contextmanager
def plain_log() -> Iterator[None]:
    """Write what the service has to say to stderr: level and words, no time and no address."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    loggers = [logging.getLogger(name) for name in ("coterie.service", "uvicorn", "uvicorn.error")]
    access = logging.getLogger("uvicorn.access")
    for each in loggers[:2]:
        each.addHandler(handler)
        each.setLevel(logging.WARNING)
    access.handlers, access.propagate = [], False
    try:
        yield
    finally:
        for each in loggers[:2]:
            each.removeHandler(handler)
