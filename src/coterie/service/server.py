"""Running the service: uvicorn with uvloop and httptools, and connections held to their limits.

No access log is written, no server or user agent is told, no forwarded address is read. What is logged is
the life of the server, without times.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from coterie.errors import SettingError
from coterie.service.app import create_app
from coterie.service.collector import Collector
from coterie.service.connection import limited_protocol, sweep
from coterie.service.keys import operator_token, signing_key
from coterie.service.pages.routes import PAGES, SHUFFLER_PAGES
from coterie.service.settings import Settings
from coterie.service.shuffler import Shuffler
from coterie.service.taking import Taking
from coterie.store import Store, open_store

log = logging.getLogger("coterie.service")

_MOST_KINDS: Final = 1024  # of messages that are remembered


class Server(uvicorn.Server):
    """A server that hangs up on requests that take too long to come, and says where it listens."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None] | None = None) -> None:
        super().__init__(config)
        self._told = started

    async def startup(self, sockets: Any = None) -> None:
        """Start, and tell the address."""
        await super().startup(sockets)
        self._sweeper = asyncio.get_running_loop().create_task(sweep(self.server_state.connections))
        if self.started and self._told is not None:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._told(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    async def shutdown(self, sockets: Any = None) -> None:
        """Stop."""
        self._sweeper.cancel()
        await super().shutdown(sockets)
        self._captured_signals.clear()  # they have been obeyed: the store is still to be shut


def service_of(settings: Settings, store: Store) -> Taking:
    """Return the parts of a collector or a shuffler, as the settings say."""
    options: dict[str, Any] = {
        "token": operator_token(settings.token_path),
        "key": signing_key(settings.key_path),
        "limits": settings,
    }
    if settings.role == "shuffler":
        options |= {"address": settings.address.rstrip("/"), "issuers": settings.issuer_keys}
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
        headers=[("x-content-type-options", "nosniff")],  # of every answer
        proxy_headers=False,
        timeout_keep_alive=settings.idle_seconds,
        timeout_graceful_shutdown=settings.drain_seconds,
        backlog=2048,
    )


def serve(settings: Settings, *, started: Callable[[str], None] | None = None) -> None:
    """Run a collector or a shuffler until SIGTERM or SIGINT; what was accepted by then is written.

    Parameters
    ----------
    settings : Settings
        How.
    started : callable, optional
        Told the address when the service is ready.
    """
    with listening(settings) as sockets, plain_log(), open_store(settings.store_address) as store:
        pages = SHUFFLER_PAGES if settings.role == "shuffler" else PAGES
        app = create_app(service_of(settings, store), pages)
        Server(uvicorn_config(app, settings), started).run(sockets)


@contextlib.contextmanager
def listening(settings: Settings) -> Iterator[list[socket.socket]]:
    """Listen where the settings say, before anything else is done.

    Raises
    ------
    SettingError
        If that cannot be, because another program has the port, say.
    """
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, *_, address = found[0]
        held = socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise SettingError(f"cannot listen on {settings.host}, port {settings.port}: {why}") from None
    with held:
        yield [held]


class Throttle(logging.Filter):
    """Lets a message through once a minute, with how often it came since: a flood fills no disk.

    Examples
    --------
    >>> throttle, record = Throttle(clock=lambda: 0.0), logging.makeLogRecord({"msg": "bad request"})
    >>> [throttle.filter(record) for _ in range(3)]
    [True, False, False]
    """

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds, self._clock = seconds, clock
        self._seen: dict[str, tuple[float, int]] = {}  # when a message was written, and how often it was not

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a message."""
        kind = f"{record.msg} {record.args} {(record.exc_info or (None,))[0]}"
        written, kept_back = self._seen.pop(kind, (-math.inf, 0))
        if len(self._seen) >= _MOST_KINDS:
            self._seen.clear()
        if self._clock() - written < self._seconds:
            self._seen[kind] = written, kept_back + 1
            return False
        self._seen[kind] = self._clock(), 0
        if kept_back:
            record.msg = f"{record.getMessage()} ({kept_back:,} more like it since the last)"
            record.args = ()
        return True


@contextlib.contextmanager
def plain_log() -> Iterator[None]:
    """Write what the service has to say to stderr: level and words, no time and no address."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    handler.addFilter(Throttle())
    loggers = [logging.getLogger(name) for name in ("coterie", "uvicorn")]
    access = logging.getLogger("uvicorn.access")
    for each in loggers:
        each.addHandler(handler)
        each.setLevel(logging.WARNING)
    access.handlers, access.propagate = [], False
    try:
        yield
    finally:
        for each in loggers:
            each.removeHandler(handler)
