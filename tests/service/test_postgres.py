"""The collector on PostgreSQL: the same answers, several servers at once."""

import json
import threading
import time

import numpy as np

from coterie import Aggregate
from coterie.plan.collection import Collection
from coterie.remote import RemoteCollector
from coterie.store import open_store
from tests.service.conftest import (
    OPERATOR,
    TOKEN,
    ask,
    failures,
    post,
    problem,
    reports_of,
    serving,
    small_plan,
)
from tests.service.test_faults import random_reports, survives

PLAN = small_plan(Collection(minimum=100))


def test_two_servers_on_one_database_are_one_collector(tmp_path, database):
    rows = reports_of(PLAN, 1000)
    with (
        open_store(database) as first,
        open_store(database) as second,
        serving(tmp_path / "a", store=first) as one,
        serving(tmp_path / "b", store=second) as two,
        RemoteCollector(one.url, token=TOKEN) as at_one,
        RemoteCollector(two.url, token=TOKEN) as at_two,
    ):
        problem(post(two.url, PLAN, rows[0].tobytes()), 404, "unknown-plan")
        at_one.put_plan(PLAN)
        two.collector.studies.forget_missing(PLAN.id)
        assert at_two.plan(PLAN.id) == PLAN
        assert at_one.send(PLAN, rows[:700]).taken == 700
        assert at_two.send(PLAN, rows[300:]).taken == 700
        assert at_two.withdraw(PLAN, rows[:1]).taken == 1
        closed = at_two.close(PLAN.id)
        assert at_one.close(PLAN.id) == closed
        late = reports_of(PLAN, 1, seed=1)
        for each in (one, two):
            assert failures(post(each.url, PLAN, late.tobytes())) == [
                (late[0, :12].tobytes().hex(), "closed")
            ]
        result = at_one.decode(PLAN.id)
        again = ask(two.url, "POST", f"/plans/{PLAN.id}/decode", headers=OPERATOR)
        assert json.loads(again[2]) == result
        assert at_one.manifest(PLAN.id) == at_two.manifest(PLAN.id)
        table = Aggregate(PLAN)
        table.add(rows[1:])
        assert at_two.table(PLAN.id) == table.to_bytes()
        assert json.loads(at_one.manifest(PLAN.id))["counts"]["counted"] == 999


def test_invitations_hold_on_every_server(tmp_path, database):
    plan = small_plan(ids="token")
    with (
        open_store(database) as first,
        open_store(database) as second,
        serving(tmp_path / "a", store=first) as one,
        serving(tmp_path / "b", store=second) as two,
        RemoteCollector(one.url, token=TOKEN) as operator,
    ):
        from coterie.encode import Client

        operator.put_plan(plan)
        token = operator.invite(plan.id, 1)[0]
        upload = Client(plan).encode([0.1, 0.2, 0.3], token=token)
        for each in (one, two):
            assert failures(post(each.url, plan, upload)) == []
        assert np.concatenate(list(first.reports(plan.id))).tobytes() == upload[16:]


def test_two_servers_are_killed_on_one_database(tmp_path, database):
    survives(tmp_path, count=10_000, kills=3, every=400, store=database)


def test_a_service_whose_database_is_gone_says_so_in_two_seconds(tmp_path, database, postgres):
    with open_store(database) as store, serving(tmp_path, store=store) as running:
        assert ask(running.url, "GET", "/readyz")[0] == 200
        postgres.stop("immediate")
        try:
            waiting = [
                threading.Thread(target=ask, args=(running.url, "GET", "/plans", None, OPERATOR))
                for _ in range(6)  # more than there are threads: they wait for the database
            ]
            for each in waiting:
                each.start()
            for path, status in (("/readyz", 503), ("/healthz", 200), ("/readyz", 503)):
                started = time.monotonic()
                assert ask(running.url, "GET", path)[0] == status
                assert time.monotonic() - started < 2
        finally:
            postgres.start()
        for each in waiting:
            each.join(60)
        assert ask(running.url, "GET", "/readyz")[0] == 200


def test_the_database_is_restarted_under_a_collector(tmp_path, database, postgres):
    plan, rows = small_plan(), random_reports(4000)
    with (
        open_store(database) as store,
        serving(tmp_path, store=store) as running,
        RemoteCollector(running.url, token=TOKEN) as operator,
    ):
        operator.put_plan(plan)
        done = threading.Event()

        def restart():
            for mode in ("immediate", "fast", "immediate"):
                if not done.wait(0.3):
                    postgres.stop(mode)  # `immediate` is a crash
                    postgres.start()

        restarts = threading.Thread(target=restart)
        restarts.start()
        with RemoteCollector(running.url, attempts=100, sleep=lambda pause: time.sleep(0.1)) as sender:
            for _ in range(2):  # everything twice
                for start in range(0, len(rows), 100):
                    assert sender.send(plan, rows[start : start + 100]).failures == ()
                    time.sleep(0.02)
        done.set()
        restarts.join()
        assert np.array_equal(np.concatenate(list(store.reports(plan.id))), rows)
