"""A real server on a free port, in a thread of this process, on a real store; the clock may be the test's."""

import asyncio
import contextlib
import dataclasses
import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

from coterie.coins import SimulationCoins
from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.protocols import encoder_of
from coterie.remote import RemoteCollector
from coterie.service.app import create_app
from coterie.service.collector import Collector
from coterie.service.server import Server, uvicorn_config
from coterie.service.settings import Limits, Settings
from coterie.service.status import Tellings, coarse
from coterie.store import open_store

TOKEN = "an operator's token of enough letters"  # noqa: S105  # of these tests alone
KEY = bytes(range(32))
REPORTS = "application/vnd.coterie.reports"


def small_plan(collection=None, **public):
    """A plan of two groups in three dimensions, of whose index bytes some are malformed."""
    plan = Plan.design(
        dimension=3, clusters=2, epsilon=4.0, expected_users=20_000, collection=collection, **public
    )
    return dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, codewords=200, cap=20))


def reports_of(plan, people, seed=0):
    """Reports of two groups, (people, width)."""
    points = np.where(np.arange(people)[:, None] % 2, 0.6, -0.6) * np.array([1.0, 0.2, 0.0])
    encoder = encoder_of(plan)
    return encoder.encode_counting(points, None, SimulationCoins(seed))[0]


class Clock:
    def __init__(self):
        self.now = time.time()

    def __call__(self):
        return self.now


class AtOnce(Tellings):
    """Tells counts at once and without noise, for tests of what is made of them."""

    def tell(self, plan_id, counts, now, *, final=False):
        return {name: coarse(count) for name, count in counts.items()}


@contextlib.contextmanager
def serving(
    folder,
    *,
    kind=Collector,
    clock=time.time,
    store=None,
    routes=(),
    settings=None,
    tellings=AtOnce(3600),  # noqa: B008  # it keeps nothing
    **options,
):
    """Run a collector, or another kind of service; yield its address and parts."""
    chosen = Settings(data=folder, port=0, **(settings or {}))
    with contextlib.ExitStack() as stack:
        kept = store if store is not None else stack.enter_context(open_store(chosen.store_address))
        limits = {each.name: options.pop(each.name) for each in fields(Limits) if each.name in options}
        options = {"status_seconds": 0, "limits": Limits(**limits), **options}
        collector = kind(kept, token=TOKEN, key=KEY, clock=clock, **options)
        collector.tellings = tellings
        ready, found = threading.Event(), {}
        server = Server(
            uvicorn_config(create_app(collector, routes), chosen),
            lambda address: (found.update(url=address), ready.set()),
        )
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            assert ready.wait(30)
            yield SimpleNamespace(
                url=found["url"], collector=collector, store=kept, server=server, thread=thread
            )
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


def ask(url, method, path, body=None, headers=None):
    """One request; status, headers, body."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def post(url, plan, body, where="reports"):
    return ask(url, "POST", f"/plans/{plan.id}/{where}", body, {"content-type": REPORTS})


def failures(answer):
    status, _, body = answer
    assert status == 200, body
    return [(each["id"], each["reason"]) for each in json.loads(body)["failures"]]


def problem(answer, status, kind):
    """Check that an answer is a problem document of this kind."""
    found, headers, body = answer
    assert headers["content-type"] == "application/problem+json"
    document = json.loads(body)
    assert (found, document["status"], document["type"]) == (status, status, f"urn:coterie:problem:{kind}")
    assert document["title"]
    assert document["detail"]
    return document


OPERATOR = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def plan():
    return small_plan(Collection(minimum=100))


@pytest.fixture
def server(tmp_path, plan):
    with serving(tmp_path) as running:
        running.operator = RemoteCollector(running.url, token=TOKEN, attempts=1)
        running.operator.put_plan(plan)
        yield running
        running.operator.disconnect()


def finished(coroutine):
    """Run a coroutine to its end in a thread of its own: a browser's driver may have a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


@pytest.fixture(autouse=True, scope="module")
def _fast(hardly_any_atoms):
    """Decode as fast as it goes: these tests are about what is around the decoder."""
