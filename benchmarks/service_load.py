"""How many reports a collector takes in per second: `python -m benchmarks service_load [--seconds S]`.

The real server (`coterie serve`) in a process of its own, and beside it, in another, a generator with
keep-alive connections over raw sockets, each sending its next request when the last one is answered. Every
body is new random bytes: no id repeats. Single reports and batches of 1,000, on the embedded store, on
PostgreSQL where `--store` names one, and on a store that keeps nothing, to tell the store's share.

Promised on two cores: 5,000 single reports per second, 400,000 reports per second in batches (150,000 on
PostgreSQL), all durable, 99 % of the answers within 250 ms, memory flat. Rates on the clock tell of a machine
that does nothing else. On one that is shared, `by processor` is the rate that the server's own processor time
per request allows on one core, with the generator on the other.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from coterie.plan import Plan

PLAN = Plan.design(dimension=20, clusters=4, epsilon=1.0, expected_users=10**8)
BARS = {"single": 5_000, "batch": 400_000, "postgres batch": 150_000}
MOST_MILLISECONDS = 250.0
TICKS = os.sysconf("SC_CLK_TCK")


class _Connection:
    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.sent = 0.0
        self.answer = b""


def generate(address: tuple[str, int], rows: int, connections: int, seconds: float) -> dict[str, float]:
    """Send requests of `rows` reports over so many connections; return counts and latencies."""
    width = PLAN.report_width
    head = (
        f"POST /plans/{PLAN.id}/reports HTTP/1.1\r\nHost: load\r\n"
        f"Content-Type: application/vnd.coterie.reports\r\nContent-Length: {rows * width}\r\n\r\n"
    ).encode()
    selector = selectors.DefaultSelector()
    everyone = [_Connection(address) for _ in range(connections)]
    pool, place = os.urandom(1 << 22), 0
    latencies: list[float] = []
    taken = 0

    def send(connection: _Connection) -> None:
        nonlocal pool, place
        if place + rows * width > len(pool):
            pool, place = os.urandom(1 << 22), 0
        data = head + pool[place : place + rows * width]
        place += rows * width
        connection.answer = b""
        connection.sent = time.perf_counter()
        connection.socket.setblocking(True)
        connection.socket.sendall(data)
        connection.socket.setblocking(False)

    for each in everyone:
        selector.register(each.socket, selectors.EVENT_READ, each)
        send(each)
    start = time.perf_counter()
    stop = start + seconds
    busy = connections
    while busy:
        for key, _ in selector.select(10):
            each = key.data
            each.answer += each.socket.recv(1 << 16)
            top, found, body = each.answer.partition(b"\r\n\r\n")
            size = int(top.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]) if found else 1
            if len(body) < size:
                continue
            now = time.perf_counter()
            assert top.startswith(b"HTTP/1.1 200"), top
            assert body.startswith(b'{"failures":[]}'), body[:200]
            latencies.append(now - each.sent)
            taken += rows
            if now < stop:
                send(each)
            else:
                busy -= 1
                selector.unregister(each.socket)
                each.socket.close()
    spent = time.perf_counter() - start
    return {
        "requests": float(len(latencies)),
        "reports": float(taken),
        "seconds": spent,
        "p50": 1000 * float(np.quantile(latencies, 0.5)),
        "p99": 1000 * float(np.quantile(latencies, 0.99)),
    }


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


@contextlib.contextmanager
def serving(store: str | None, folder: Path) -> Iterator[tuple[tuple[str, int], int]]:
    """Run a server; yield its address and process id. `store` None keeps nothing."""
    command = [sys.executable, "-m", "benchmarks.service_load", "--serve", store or "", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            assert server.stdout is not None
            host, port = server.stdout.readline().strip().removeprefix("http://").rsplit(":", 1)
            yield (host, int(port)), server.pid
        finally:
            server.terminate()
            server.wait(60)


def _serve(store: str, folder: str) -> None:
    """Run the server, as `coterie serve` does, with the plan in it."""
    from coterie.service import server as service
    from coterie.service.app import create_app
    from coterie.service.settings import Settings
    from coterie.store import open_store

    settings = Settings(data=Path(folder), store=store or None, port=0)
    keep = _nothing() if not store else open_store(settings.store_address)
    with service.plain_log(), keep as opened:
        opened.put_plan(PLAN)
        app = create_app(service.service_of(settings, opened))
        config = service.uvicorn_config(app, settings)
        service.Server(config, lambda address: print(address, flush=True)).run()


def _nothing() -> Any:
    """Return a store that keeps nothing but the plan."""
    from coterie.store.embedded import EmbeddedStore

    class Nothing(EmbeddedStore):
        def append(self, batches: Any) -> list[Any]:
            return [None] * len(batches)

    return Nothing(Path(tempfile.mkdtemp()))


def measure(name: str, store: str | None, rows: int, connections: int, seconds: float) -> dict[str, Any]:
    """Load one server and return its figures."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        with serving(str(where / "store") if store == "embedded" else store, where) as (address, pid):
            generate(address, rows, connections, min(1.0, seconds))  # warm up
            memory, spent = _resident(pid), _processor_seconds(pid)
            found = generate_elsewhere(address, rows, connections, seconds)
            spent, grown = _processor_seconds(pid) - spent, _resident(pid) - memory
    rate = found["reports"] / found["seconds"]
    by_processor = found["reports"] / spent
    line = {"name": name, "rate": rate, "by_processor": by_processor, "grown_mib": grown, **found}
    times = f"{found['p50']:8.1f} {found['p99']:8.1f}"
    print(f"{name:28} {rate:12,.0f} {by_processor:14,.0f} {times} {grown:+6d} MiB", flush=True)
    return line


def generate_elsewhere(address: tuple[str, int], rows: int, connections: int, seconds: float) -> Any:
    """Run the generator in a process of its own."""
    import json

    given = [address[0], str(address[1]), str(rows), str(connections), str(seconds)]
    command = [sys.executable, "-m", "benchmarks.service_load", "--generate", *given]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return json.loads(done.stdout)


def main() -> int:
    """Print the figures; return how many promises are broken."""
    import json

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--store", help="a PostgreSQL store to measure, too: postgresql://…")
    parser.add_argument("--connections", type=int, default=128, help="that send single reports")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--generate", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        _serve(*options.serve)
        return 0
    if options.generate is not None:
        host, port, rows, connections, seconds = options.generate
        print(json.dumps(generate((host, int(port)), int(rows), int(connections), float(seconds))))
        return 0
    print(f"{'':28} {'reports/s':>12} {'by processor':>14} {'p50 ms':>8} {'p99 ms':>8}  memory")
    stores = {"no store": None, "embedded": "embedded"}
    if options.store:
        stores["postgres"] = options.store
    broken = 0
    for name, store in stores.items():
        for kind, rows, connections in (("single", 1, options.connections), ("batch", 1000, 16)):
            found = measure(f"{name}, {kind}", store, rows, connections, options.seconds)
            bar = BARS.get(f"{name} {kind}", BARS[kind])
            if store is not None:
                broken += max(found["rate"], found["by_processor"]) < bar or found["p99"] > MOST_MILLISECONDS
    print(
        f"\npromised: single {BARS['single']:,}, batches {BARS['batch']:,} (PostgreSQL "
        f"{BARS['postgres batch']:,}) per second, p99 below {MOST_MILLISECONDS:g} ms: {broken} broken"
    )
    return broken


if __name__ == "__main__":
    sys.exit(main())
