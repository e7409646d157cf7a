"""Every endpoint of a collector, over real HTTP."""

import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.remote import CollectorError, RemoteCollector
from coterie.service.metrics import MOST_PLANS, Metrics
from coterie.store import open_store
from tests.service.conftest import (
    OPERATOR,
    REPORTS,
    TOKEN,
    Clock,
    ask,
    failures,
    post,
    problem,
    reports_of,
    serving,
    small_plan,
)


def test_a_plan_is_put_once_and_got_for_ever(server, plan):
    status, headers, body = ask(server.url, "GET", f"/plans/{plan.id}")
    assert (status, body) == (200, plan.to_json().encode())
    assert headers["etag"] == f'"{plan.id}"'
    assert "immutable" in headers["cache-control"]
    same = ask(server.url, "GET", f"/plans/{plan.id}", headers={"if-none-match": headers["etag"]})
    assert (same[0], same[2]) == (304, b"")
    spaced = json.dumps(json.loads(plan.to_json()), indent=1)
    again = ask(server.url, "PUT", f"/plans/{plan.id}", spaced, OPERATOR)
    assert again[0] == 200
    other = small_plan()
    problem(ask(server.url, "GET", f"/plans/{other.id}"), 404, "unknown-plan")  # and that is not remembered
    made = ask(server.url, "PUT", f"/plans/{other.id}", other.to_json(), OPERATOR)
    assert (made[0], made[1]["location"]) == (201, f"/plans/{other.id}")
    assert ask(server.url, "GET", f"/plans/{other.id}")[0] == 200
    listed = json.loads(ask(server.url, "GET", "/plans", headers=OPERATOR)[2])
    assert listed == {"plans": sorted([plan.id, other.id])}


def test_plans_that_are_refused(server, plan):
    other = small_plan()
    problem(ask(server.url, "PUT", f"/plans/{plan.id}", other.to_json(), OPERATOR), 409, "another-plan")
    problem(ask(server.url, "PUT", f"/plans/{plan.id}", "{}", OPERATOR), 400, "malformed-plan")
    greedy = json.loads(plan.to_json())
    greedy["parameters"]["odds"] *= 2
    answer = ask(server.url, "PUT", f"/plans/{plan.id}", json.dumps(greedy), OPERATOR)
    assert "odds" in problem(answer, 400, "malformed-plan")["detail"]
    shuffle = Plan.design(3, 2, 1.0, 10_000, model="shuffle", delta=1e-6)
    problem(ask(server.url, "PUT", f"/plans/{shuffle.id}", shuffle.to_json(), OPERATOR), 422, "unfit-plan")


def test_reports_of_a_shuffle_plan_are_refused(server):
    shuffle = Plan.design(3, 2, 1.0, 10_000, model="shuffle", delta=1e-6)
    server.store.put_plan(shuffle)
    answer = post(server.url, shuffle, bytes(shuffle.report_width))
    assert "shuffler" in problem(answer, 403, "direct-report")["detail"]
    assert server.store.study(shuffle.id).counts.received == 0


def test_reports_are_taken_in_once(server, plan):
    rows = reports_of(plan, 500)
    assert failures(post(server.url, plan, rows.tobytes())) == []
    assert failures(post(server.url, plan, rows[::-1].tobytes())) == []  # a replay is no failure
    assert failures(post(server.url, plan, rows[0].tobytes())) == []
    counts = server.store.compact(plan.id)
    assert (counts.received, counts.counted, counts.duplicates) == (1001, 500, 501)


def test_one_bad_report_stops_nobody_else(server, plan):
    rows = reports_of(plan, 6).copy()
    rows[[1, 4], -1] = (200, 255)
    assert failures(post(server.url, plan, rows.tobytes())) == [
        (rows[1, :12].tobytes().hex(), "malformed"),
        (rows[4, :12].tobytes().hex(), "malformed"),
    ]
    assert server.store.compact(plan.id).counted == 4


def test_of_one_id_the_smallest_report_counts(server, plan):
    rows = np.repeat(reports_of(plan, 1), 3, axis=0)
    rows[:, -1] = (7, 3, 9)
    for row in rows:
        assert failures(post(server.url, plan, row.tobytes())) == []
    kept = np.concatenate(list(server.store.reports(plan.id)))
    assert kept.tolist() == [rows[1].tolist()]
    assert server.store.study(plan.id).counts.conflicting == 2


def test_requests_that_are_refused_as_a_whole(server, plan):
    rows = reports_of(plan, 2).tobytes()
    problem(post(server.url, plan, rows[:-1]), 400, "malformed-request")
    problem(post(server.url, plan, b""), 400, "malformed-request")
    problem(post(server.url, small_plan(), rows), 404, "unknown-plan")
    path = f"/plans/{plan.id}/reports"
    problem(ask(server.url, "POST", path, rows, {"content-type": "text/plain"}), 415, "wrong-type")
    problem(ask(server.url, "POST", path, rows), 415, "wrong-type")
    encoded = {"content-type": REPORTS, "content-encoding": "gzip"}
    problem(ask(server.url, "POST", path, rows, encoded), 415, "wrong-type")
    problem(ask(server.url, "GET", path), 405, "wrong-method")
    problem(ask(server.url, "GET", "/"), 404, "not-found")
    problem(ask(server.url, "GET", f"/plans/{'0' * 64}/status"), 404, "unknown-plan")
    problem(ask(server.url, "GET", "/plans/..%2f..%2fetc/status"), 404, "not-found")
    assert server.store.study(plan.id).counts.received == 0
    parameters = {"content-type": f"{REPORTS.upper()}; v=1"}
    assert failures(ask(server.url, "POST", path, rows, parameters)) == []


def test_a_withdrawn_report_never_counts(server, plan):
    rows = reports_of(plan, 3)
    assert failures(post(server.url, plan, rows[0].tobytes())) == []
    assert failures(post(server.url, plan, rows[:2].tobytes(), "withdrawals")) == []
    assert failures(post(server.url, plan, rows.tobytes())) == []  # a late retry brings nothing back
    assert np.concatenate(list(server.store.reports(plan.id))).tolist() == [rows[2].tolist()]
    server.operator.close(plan.id)
    late = failures(post(server.url, plan, rows[2].tobytes(), "withdrawals"))
    assert late == [(rows[2, :12].tobytes().hex(), "closed")]
    assert server.store.compact(plan.id).counted == 1


def test_the_operators_endpoints_need_the_token(server, plan):
    asked = [
        ("GET", "/plans"),
        ("GET", "/metrics"),
        ("PUT", f"/plans/{plan.id}"),
        ("POST", f"/plans/{plan.id}/close"),
        ("POST", f"/plans/{plan.id}/decode"),
        ("POST", f"/plans/{plan.id}/invitations"),
        ("DELETE", f"/plans/{plan.id}/reports"),
    ]
    wrong = [None, "", "Bearer", "Bearer x", OPERATOR["authorization"][:-1], "Basic " + "a" * 40, "é"]
    for method, path in asked:
        for header in wrong:
            headers = {} if header is None else {"authorization": header}
            answer = ask(server.url, method, path, b"{}", headers)
            problem(answer, 401, "not-authorized")
            assert answer[1]["www-authenticate"] == "Bearer"
    assert server.store.study(plan.id).state == "open"


def test_status_is_coarse(server, plan):
    server.operator.send(plan, reports_of(plan, 1234))
    assert server.operator.status(plan.id)["reports"] == 0  # as of the last compaction
    server.store.compact(plan.id)
    found = server.operator.status(plan.id)
    assert (found["state"], found["reports"], found["decoded"]) == ("open", 1200, False)
    assert found["collection"]["minimum"] == 100
    assert found["expected"]["now"][0]["people"] == 1200
    assert found["expected"]["planned"][0]["people"] == 20_000
    assert found["rejected"]["malformed"] == 0
    bad = reports_of(plan, 25, seed=1).copy()
    bad[:, -1] = 255
    server.operator.send(plan, bad)
    assert server.operator.status(plan.id)["rejected"]["malformed"] == 20


def test_health_metrics_and_the_description(server, plan):
    for path in ("/healthz", "/readyz"):
        assert json.loads(ask(server.url, "GET", path)[2]) == {"status": "ok"}
    server.collector._least_room = 1 << 62
    problem(ask(server.url, "GET", "/readyz"), 507, "full")
    bad = reports_of(plan, 5).copy()
    bad[0, -1] = 255
    post(server.url, plan, bad.tobytes())
    page = ask(server.url, "GET", "/metrics", headers=OPERATOR)[2].decode()
    assert f'coterie_reports_total{{outcome="accepted",plan="{plan.id[:12]}"}} 4.0' in page
    assert f'coterie_reports_total{{outcome="malformed",plan="{plan.id[:12]}"}} 1.0' in page
    assert "coterie_commit_seconds_count 1.0" in page
    assert 'coterie_commit_seconds_bucket{le="0.25"}' in page
    assert "coterie_oldest_waiting_seconds 0.0" in page
    assert "coterie_decode_seconds_count 0.0" in page
    assert float(re.search(r"^coterie_disk_free_bytes (\S+)$", page, re.MULTILINE)[1]) > 0
    assert plan.id not in page
    assert "_created" not in page
    assert json.loads(ask(server.url, "GET", "/openapi.json")[2])["openapi"] == "3.1.0"


def test_so_many_plans_have_a_label_of_their_own():
    metrics = Metrics()
    for number in range(MOST_PLANS + 5):
        metrics.reports(f"{number:064x}"[::-1], "accepted", 1)
    page = metrics.page().decode()
    assert page.count('{outcome="accepted"') == MOST_PLANS + 1
    assert 'coterie_reports_total{outcome="accepted",plan="other"} 5.0' in page


def test_what_waits_for_the_disk_is_told_by_its_age(server, plan, monkeypatch):
    held, append = threading.Event(), server.store.append
    monkeypatch.setattr(server.store, "append", lambda batches: (held.wait(30), append(batches))[1])
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(post, server.url, plan, reports_of(plan, 1).tobytes())
        while server.collector.writer.oldest_seconds < 0.2:
            assert not sent.done()
            time.sleep(0.02)
        held.set()
        assert sent.result()[0] == 200
    assert server.collector.writer.oldest_seconds == 0


def test_a_study_is_closed_decoded_and_leaves_its_table(server, plan):
    rows = reports_of(plan, 3000)
    server.operator.send(plan, rows)
    with pytest.raises(CollectorError, match="close the study first") as refused:
        server.operator.decode(plan.id)
    assert (refused.value.status, refused.value.kind) == (409, "open")
    problem(ask(server.url, "GET", f"/plans/{plan.id}/result"), 404, "not-decoded")
    closed = server.operator.close(plan.id)
    assert closed % 3600 == 0
    assert server.operator.close(plan.id) == closed
    late = reports_of(plan, 2, seed=1)
    assert failures(post(server.url, plan, late.tobytes())) == [
        (row[:12].tobytes().hex(), "closed") for row in late
    ]
    first = ask(server.url, "POST", f"/plans/{plan.id}/decode", headers={**OPERATOR, "prefer": "wait=120"})
    assert first[0] == 200
    again = ask(server.url, "POST", f"/plans/{plan.id}/decode", headers=OPERATOR)
    assert again[2] == first[2] == ask(server.url, "GET", f"/plans/{plan.id}/result")[2]
    result = json.loads(first[2])
    assert result["count"] == 3000
    assert len(result["words"]) == 2
    assert sorted(round(center[0], 1) for center in result["centers"]) == [-0.6, 0.6]
    table = Aggregate(plan)
    table.add(rows)
    assert server.operator.table(plan.id) == table.to_bytes()
    assert server.operator.result_bytes(plan.id) == first[2]
    stated = json.loads(server.operator.manifest(plan.id))["stated"]
    assert stated == {name: result[name] for name in stated}
    assert set(result) - set(stated) == {"groups", "everybody", "words"}
    found = server.operator.status(plan.id)
    assert (found["state"], found["decoded"], found["reports"]) == ("closed", True, 3000)


def test_too_few_people_are_not_decoded(server, plan):
    server.operator.send(plan, reports_of(plan, 99))
    server.operator.send(plan, reports_of(plan, 99))  # the same people again
    server.operator.close(plan.id)
    with pytest.raises(CollectorError, match="wants 100 people") as refused:
        server.operator.decode(plan.id)
    assert (refused.value.status, refused.value.kind) == (409, "too-few")
    assert server.store.document(plan.id, "table") is None


def test_decoding_goes_on_when_nobody_waits(server, plan):
    server.operator.send(plan, reports_of(plan, 200))
    server.operator.close(plan.id)
    headers = {**OPERATOR, "prefer": "wait=0"}
    answer = ask(server.url, "POST", f"/plans/{plan.id}/decode", headers=headers)
    assert (answer[0], json.loads(answer[2])) == (202, {"state": "decoding"})
    assert server.operator.status(plan.id)["decoding"]
    assert server.operator.decode(plan.id)["count"] == 200


def test_a_server_that_stops_ends_what_it_decodes(tmp_path, plan):
    with serving(tmp_path) as running, RemoteCollector(running.url, token=TOKEN) as operator:
        operator.put_plan(plan)
        operator.send(plan, reports_of(plan, 200))
        operator.close(plan.id)
        headers = {**OPERATOR, "prefer": "wait=0"}
        assert ask(running.url, "POST", f"/plans/{plan.id}/decode", headers=headers)[0] == 202
        decoder = running.collector.results._decoder
        deadline = time.monotonic() + 20
        while decoder._child is None and time.monotonic() < deadline:
            time.sleep(0.01)
    assert decoder._child.wait(20) == -9
    with open_store(tmp_path / "store") as store:
        assert store.document(plan.id, "result") is None


def test_the_window_opens_and_closes_by_the_clock(tmp_path):
    clock = Clock()
    clock.now = 7_199.0
    plan = small_plan(Collection(opens=7200, closes=14_400))
    with serving(tmp_path, clock=clock) as running:
        operator = RemoteCollector(running.url, token=TOKEN)
        operator.put_plan(plan)
        rows = reports_of(plan, 3)
        assert operator.send(plan, rows).reasons == {"early": 3}
        assert operator.status(plan.id)["state"] == "early"
        clock.now = 7_200.0
        assert operator.send(plan, rows[:1]).taken == 1
        clock.now = 14_399.9
        assert operator.send(plan, rows[1:2]).taken == 1
        clock.now = 14_400.0
        assert operator.send(plan, rows[2:]).reasons == {"closed": 1}
        assert operator.withdraw(plan, rows[:1]).reasons == {"closed": 1}
        assert operator.status(plan.id)["state"] == "closed"
        operator.disconnect()
        assert running.store.compact(plan.id).counted == 2
