"""What attackers take from healthy clients, and of memory: `python -m benchmarks service_attack`.

The real server (`coterie serve`, its settings as they come) in a process of its own, with a decoded study
whose table has 20 MB and an open one. Healthy clients send single reports, `RATE` per second over 32
connections; attackers do, one after the other and then all at once:

    idle readers        60 connections ask for the table and never read
    slow readers        150 connections ask for the table and read 1 kB per second
    sending ahead       400 connections send 47 MB of requests without waiting for answers
    slow bodies         200 connections send a body of 1 MiB and leave out its end
    bad requests        500 connections per second send nonsense
    idle connections    1,100 connections that do nothing
    withdrawals         4.8 million ids that were never reported are withdrawn, 56 MB

Promised: healthy clients keep 80 % of the rate that they have alone, and the server takes at most 300 MiB.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS as FOLDER
from benchmarks.harness import machine, write_json
from benchmarks.service_load import PLAN, _resident
from coterie.plan import Plan

RESULTS = FOLDER / "service_attack.json"
RATE = 400.0  # healthy requests per second
CONNECTIONS = 32
LEAST_RATE = 0.8
MOST_MIB = 300
DECODED = Plan.design(dimension=20, clusters=4, epsilon=1.0, expected_users=10**6)
TABLE_BYTES = 20 << 20

Address = tuple[str, int]


# ---------------------------------------------------------------- healthy clients


async def _healthy(address: Address, seconds: float) -> dict[str, float]:
    """Send single reports at `RATE` for so long; return how many were answered, and how late."""
    row = PLAN.report_width
    head = (
        f"POST /plans/{PLAN.id}/reports HTTP/1.1\r\nHost: load\r\n"
        f"Content-Type: application/vnd.coterie.reports\r\nContent-Length: {row}\r\n\r\n"
    ).encode()
    latencies: list[float] = []
    again = 0

    async def client(number: int) -> None:
        nonlocal again
        reader = writer = None
        start = time.perf_counter()
        for turn in range(int(seconds * RATE / CONNECTIONS)):
            due = start + (turn + number / CONNECTIONS) * CONNECTIONS / RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if time.perf_counter() > start + seconds:
                break
            body, sent = os.urandom(row), time.perf_counter()
            for _ in range(50):  # as `RemoteCollector` does: connect again, send again
                try:
                    if writer is None:
                        reader, writer = await asyncio.open_connection(*address)
                    writer.write(head + body)
                    answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
                    size = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                    await reader.readexactly(size)
                    if answer.startswith(b"HTTP/1.1 200"):
                        latencies.append(time.perf_counter() - sent)
                        break
                except (OSError, asyncio.IncompleteReadError, TimeoutError):
                    pass
                again += 1
                if writer is not None:
                    writer.close()
                writer = None
                await asyncio.sleep(0.05)
        if writer is not None:
            writer.close()

    await asyncio.gather(*(client(number) for number in range(CONNECTIONS)))
    late = np.quantile(latencies, [0.5, 0.99]) if latencies else [np.nan, np.nan]
    return {
        "rate": len(latencies) / seconds,
        "p50": 1000 * float(late[0]),
        "p99": 1000 * float(late[1]),
        "again": float(again),
    }


# ---------------------------------------------------------------- attackers


async def _hold(address: Address, data: bytes, then: Callable[[Any, Any], Awaitable[None]]) -> None:
    """Connect, send, and do something with the connection; connect again when it is gone."""
    while True:
        try:
            reader, writer = await asyncio.open_connection(*address, limit=4096)
            writer.write(data)
            try:
                await then(reader, writer)
            finally:
                writer.close()
        except (OSError, asyncio.IncompleteReadError):
            pass
        await asyncio.sleep(0.2)


async def _never(reader: Any, writer: Any) -> None:
    while not writer.transport.is_closing():
        await asyncio.sleep(0.5)


async def _trickle(reader: Any, writer: Any) -> None:
    while await reader.read(1000):
        await asyncio.sleep(1)


async def _sends_on(reader: Any, writer: Any) -> None:
    await writer.drain()
    await reader.read(4096)


def _table(path: str = "table") -> bytes:
    return f"GET /plans/{DECODED.id}/{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def _post(where: str, size: int, body: bytes) -> bytes:
    head = (
        f"POST /plans/{PLAN.id}/{where} HTTP/1.1\r\nHost: x\r\n"
        f"Content-Type: application/vnd.coterie.reports\r\nContent-Length: {size}\r\n\r\n"
    )
    return head.encode() + body


async def _many(number: int, address: Address, data: bytes, then: Any) -> None:
    await asyncio.gather(*(_hold(address, data, then) for _ in range(number)))


async def _bad_requests(address: Address) -> None:
    async def one() -> None:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"NONSENSE\r\n\r\n")
            await reader.read(1000)
            writer.close()

    while True:
        await asyncio.gather(*(one() for _ in range(25)), asyncio.sleep(0.05))


async def _withdrawals(address: Address) -> None:
    width = PLAN.report_width
    rows = (1 << 20) // width
    for _ in range(56):
        body = np.frombuffer(os.urandom(rows * width), dtype=np.uint8).reshape(rows, width).copy()
        body[:, -1] = 0  # of the plan's form
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(_post("withdrawals", body.size, body.tobytes()))
            await reader.readuntil(b"\r\n\r\n")
            writer.close()
    await asyncio.Event().wait()


ATTACKS: dict[str, Callable[[Address], Awaitable[None]]] = {
    "idle readers": lambda to: _many(60, to, _table(), _never),
    "slow readers": lambda to: _many(150, to, _table(), _trickle),
    "sending ahead": lambda to: _many(
        400, to, _table("status") * (117_500 // len(_table("status"))), _sends_on
    ),
    "slow bodies": lambda to: _many(200, to, _post("reports", 1 << 20, bytes((1 << 20) - 100)), _never),
    "bad requests": _bad_requests,
    "idle connections": lambda to: _many(1100, to, b"", _never),
    "withdrawals": _withdrawals,
}


async def _attack(names: list[str], address: Address) -> None:
    await asyncio.gather(*(ATTACKS[name](address) for name in names))


# ---------------------------------------------------------------- the server, and what is measured


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[Address, int]]:
    """Run a server; yield its address and process id."""
    command = [sys.executable, "-m", "benchmarks.service_attack", "--serve", str(folder)]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as server,  # noqa: S603
    ):
        try:
            assert server.stdout is not None
            host, port = server.stdout.readline().strip().removeprefix("http://").rsplit(":", 1)
            yield (host, int(port)), server.pid
        finally:
            server.terminate()
            try:
                server.wait(60)
            finally:
                server.kill()


def _serve(folder: str) -> None:
    from coterie.service import server as service
    from coterie.service.app import create_app
    from coterie.service.settings import Settings
    from coterie.store import open_store

    settings = Settings(data=Path(folder), port=0, drain_seconds=1)
    with service.plain_log(), open_store(settings.store_address) as opened:
        for plan in (PLAN, DECODED):
            opened.put_plan(plan)
        table = {"table": os.urandom(TABLE_BYTES), "result": b"{}", "manifest": b"{}"}
        for name, data in table.items():
            opened.put_document(DECODED.id, name, data)
        app = create_app(service.service_of(settings, opened))
        config = service.uvicorn_config(app, settings)
        service.Server(config, lambda address: print(address, flush=True)).run()


def measure(names: list[str], seconds: float) -> dict[str, float]:
    """Return what healthy clients had while so much went on, and the most memory that the server took."""
    me = [sys.executable, "-m", "benchmarks.service_attack"]
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (address, pid):
        where = [address[0], str(address[1])]
        most, done = [_resident(pid)], threading.Event()

        def watch() -> None:
            while not done.wait(0.02):
                most[0] = max(most[0], _resident(pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        attack = subprocess.Popen([*me, "--attack", ",".join(names), *where])  # noqa: S603
        try:
            time.sleep(2)  # until they are all there
            healthy = [*me, "--healthy", str(seconds), *where]
            found = subprocess.run(healthy, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
        finally:
            done.set()
            watcher.join()
            attack.kill()
            attack.wait()
        log = len((Path(folder) / "log").read_text().splitlines())
    return {**json.loads(found.stdout), "mib": float(most[0]), "log_lines": float(log)}


def main() -> int:
    """Print the figures; return how many promises are broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=15.0, help="of each measurement")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file for the figures (%(default)s)")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--attack", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--healthy", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        _serve(options.serve)
        return 0
    if options.attack is not None:
        names, host, port = options.attack
        asyncio.run(_attack([name for name in names.split(",") if name], (host, int(port))))
        return 0
    if options.healthy is not None:
        seconds, host, port = options.healthy
        print(json.dumps(asyncio.run(_healthy((host, int(port)), float(seconds)))))
        return 0
    titles = ("healthy/s", "kept", "p50 ms", "p99 ms", "again", "MiB", "log lines")
    print(" " * 20 + "".join(f"{title:>10}" for title in titles))
    alone, broken, lines = 0.0, 0, []
    for name, names in {
        "nothing else": [],
        **{name: [name] for name in ATTACKS},
        "all of it": list(ATTACKS),
    }.items():
        found = measure(names, options.seconds)
        alone = alone or found["rate"]
        kept = found["rate"] / alone
        broken += kept < LEAST_RATE or found["mib"] > MOST_MIB
        lines.append({"attackers": name, "kept": kept, **found})
        figures = [f"{kept:.0%}", *(f"{found[each]:.1f}" for each in ("p50", "p99"))]
        figures += [f"{found[each]:,.0f}" for each in ("again", "mib", "log_lines")]
        print(f"{name:20}{found['rate']:10,.0f}" + "".join(f"{each:>10}" for each in figures), flush=True)
    print(f"\npromised: {LEAST_RATE:.0%} of the rate kept, at most {MOST_MIB} MiB: {broken} broken")
    promised = {"least rate kept": LEAST_RATE, "most MiB": MOST_MIB, "broken": broken}
    document = {"machine": machine(), "seconds": options.seconds, "promised": promised, "attacks": lines}
    write_json(options.out, document)
    return broken


if __name__ == "__main__":
    sys.exit(main())
