"""Services as processes that tests may kill; forked from one that has all imported, so they start fast."""

import contextlib
import multiprocessing
import os
import signal
import socket

from coterie.remote import RemoteCollector
from coterie.service.settings import Settings
from tests.service.conftest import TOKEN

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["coterie.service.server", "coterie.store.embedded", "psycopg", "psycopg_pool"]
)


def free_port():
    """A port that nobody listens on now; a service keeps it over restarts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _serve(settings, ready):
    os.environ["COTERIE_OPERATOR_TOKEN"] = TOKEN
    from coterie.service.server import serve

    serve(Settings(**settings), started=ready.send)


class Service:
    """A collector or a shuffler in a process of its own, on one port and one store."""

    def __init__(self, folder, **settings):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._settings = {"data": folder, "port": self.port, "upkeep_seconds": 1, **settings}
        self._process = None

    def start(self):
        """Start it; return when it answers."""
        ready, told = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(target=_serve, args=(self._settings, told), daemon=True)
        self._process.start()
        told.close()
        assert ready.poll(60), "it does not start"
        assert ready.recv() == self.url

    def kill(self):
        """End it as a power cut does, as far as the process goes."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()

    def stop(self):
        """End it as an operator does."""
        if self._process is not None and self._process.is_alive():
            self._process.terminate()
            self._process.join(60)
            assert self._process.exitcode in (0, -signal.SIGTERM)  # stopped, and then says by what

    def operator(self, attempts=8):
        return RemoteCollector(self.url, token=TOKEN, attempts=attempts, timeout=20)


@contextlib.contextmanager
def running(*services):
    """Services that run, and are stopped in the end."""
    with contextlib.ExitStack() as stack:
        for service in services:
            service.start()
            stack.callback(service.stop)
        yield
