"""The real server, killed with SIGKILL at random moments while reports come in, and started again.

Every report that was acknowledged is in the table exactly once, and the table is, bit for bit, the one that
is built from a file.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from coterie import Aggregate, write_reports
from coterie.collect import take_in
from coterie.remote import CollectorError, RemoteCollector
from coterie.store import open_store
from tests.service.conftest import TOKEN, small_plan

SENDERS = 4


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Killed:
    """`coterie serve` in a process of its own, which can be killed and started again on the same port."""

    def __init__(self, folder, store=None):
        self.folder, self.port, self.store = folder, free_port(), store
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        command = [sys.executable, "-c", "from coterie.cli import main; main()", "serve"]
        command += ["--data", str(self.folder)]
        command += ["--port", str(self.port), "--set", "upkeep_seconds=1", "--set", "compact_seconds=1"]
        command += [] if self.store is None else ["--store", self.store]
        environment = {**os.environ, "COTERIE_OPERATOR_TOKEN": TOKEN}
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def wait_until_up(self):
        def wait(pause):
            assert self.process.poll() is None, "the server ended by itself"
            time.sleep(0.25)

        with RemoteCollector(self.url, attempts=500, sleep=wait) as collector:  # a busy machine is slow
            collector._ask("GET", "/healthz")


def random_reports(count):
    """Distinct reports with the form of the plan, (count, 13)."""
    rows = np.random.default_rng(0).integers(0, 256, (count, 13), dtype=np.uint8)
    rows[:, :4] = np.arange(count, dtype=">u4").view(np.uint8).reshape(-1, 4)
    rows[:, -1] %= 200
    return rows


def bombard(url, plan, pieces, acknowledged, stop):
    """Send pieces again and again until each is acknowledged, some of them twice, in any order."""
    chance = random.Random(len(pieces))  # noqa: S311  # no secret
    with RemoteCollector(url, attempts=1, timeout=20) as collector:
        waiting = list(pieces)
        while waiting and not stop.is_set():
            chance.shuffle(waiting)
            piece = waiting[-1]
            try:
                sent = collector.send(plan, piece)
            except CollectorError:
                time.sleep(0.05)  # it may or may not have been taken in: send it again
                continue
            assert sent.failures == ()
            waiting.pop()
            acknowledged.append(piece)
            if chance.random() < 0.2:
                waiting.insert(0, piece)  # a duplicate, later


def survives(tmp_path, count, kills, every, store=None):
    plan = small_plan()
    rows = random_reports(count)
    write_reports(tmp_path / "all.coterie", plan, rows)
    servers = [Killed(tmp_path / f"data{i}", store) for i in range(1 if store is None else 2)]
    for each in servers:
        each.start()
        each.wait_until_up()
    with RemoteCollector(servers[0].url, token=TOKEN) as operator:
        operator.put_plan(plan)
    order = np.random.default_rng(1).permutation(count)
    sizes = np.random.default_rng(2).integers(1, 2 * every, count)
    cuts = np.cumsum(sizes)
    pieces = [rows[part] for part in np.split(order, cuts[cuts < count])]
    acknowledged, stop = [], threading.Event()
    senders = [
        threading.Thread(
            target=bombard,
            args=(servers[i % len(servers)].url, plan, pieces[i::SENDERS], acknowledged, stop),
        )
        for i in range(SENDERS)
    ]
    for each in senders:
        each.start()
    chance, killed, surprises = random.Random(3), 0, 0  # noqa: S311  # no secret
    try:
        while any(each.is_alive() for each in senders) or killed < kills:
            while len(acknowledged) < len(pieces) * (killed + 1) / (kills + 2) and not stop.is_set():
                time.sleep(0.001)  # spread over all that is sent, on fast machines and slow ones
            time.sleep(chance.uniform(0.0, 0.02))
            victim = chance.choice(servers)
            before = len(acknowledged)
            victim.kill()
            surprises += any(each.is_alive() for each in senders)
            killed += 1
            victim.start()
            victim.wait_until_up()
            if killed >= kills:  # let the rest through
                for each in senders:
                    each.join(600)
            assert len(acknowledged) >= before
    finally:
        stop.set()
        for each in senders:
            each.join()
        for each in servers:
            each.kill()
    assert sum(len(piece) for piece in acknowledged) >= count
    assert killed >= kills
    assert surprises >= kills // 2  # most of them while reports came in
    expected = Aggregate(plan)
    with take_in([tmp_path / "all.coterie"], plan) as intake:
        for chunk in intake.chunks():
            expected.add(chunk)
    found = Aggregate(plan)
    with open_store(store or tmp_path / "data0" / "store") as opened:
        kept = list(opened.reports(plan.id))
        for chunk in kept:
            found.add(chunk)
        counts = opened.study(plan.id).counts
    assert np.array_equal(np.concatenate(kept), rows)  # sorted by id, each once
    assert found.to_bytes() == expected.to_bytes()
    assert counts.counted == count
    return counts


def test_every_acknowledged_report_survives_kills(tmp_path):
    counts = survives(tmp_path, count=20_000, kills=3, every=400)
    assert counts.conflicting == 0
    assert counts.received >= 20_000


@pytest.mark.nightly
def test_200000_reports_survive_20_kills(tmp_path):
    survives(tmp_path, count=200_000, kills=20, every=400)
