"""What a collector does with too much, too fast, too slow, and with a disk that is full."""

import json
import socket
import threading
import time

import pytest

from coterie.errors import SettingError
from coterie.remote import CollectorError, RemoteCollector
from coterie.service.settings import Settings
from coterie.store import StoreError, StoreFullError, StoreUnavailableError
from coterie.store.embedded import EmbeddedStore
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


class Troubled(EmbeddedStore):
    """A real store whose disk can be full, gone, or slow."""

    trouble = None
    gate = None

    def append(self, batches):
        if self.gate is not None:
            self.gate.wait(30)
        if self.trouble is not None:
            raise self.trouble
        return super().append(batches)


def raw(url, data, wait=30.0):
    """Send bytes and read until the server hangs up."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=wait) as connection:
        connection.sendall(data)
        found = b""
        while piece := connection.recv(65536):
            found += piece
        return found


def test_a_body_that_is_too_large(tmp_path, plan):
    with serving(tmp_path, most_body=1300) as running:
        running.store.put_plan(plan)
        rows = reports_of(plan, 101).tobytes()
        assert failures(post(running.url, plan, rows[:1300])) == []
        problem(post(running.url, plan, rows), 413, "too-large")
        head = (
            f"POST /plans/{plan.id}/reports HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
            "content-type: application/vnd.coterie.reports\r\n\r\n"
        )
        chunks = "".join(f"400\r\n{'a' * 1024}\r\n" for _ in range(3)).encode()
        for end in (b"", b"0\r\n\r\n"):
            answer = raw(running.url, head.encode() + chunks + end)
            assert b" 413 " in answer.partition(b"\r\n")[0]
        path = f"/plans/{plan.id}/invitations"
        problem(ask(running.url, "POST", path, b"x" * 5000, OPERATOR), 422, "unfit-plan")
        assert running.store.study(plan.id).counts.received == 100


def test_headers_that_are_too_large_or_never_end(tmp_path):
    with serving(tmp_path, settings={"most_header": 2048}) as running:
        many = b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + b"x-more: 1234567890\r\n" * 200
        assert b" 431 " in raw(running.url, many + b"\r\n").partition(b"\r\n")[0]
        endless = b"GET /healthz HTTP/1.1\r\nx-long: " + b"a" * 5000
        assert b" 431 " in raw(running.url, endless).partition(b"\r\n")[0]
        assert b" 400 " in raw(running.url, b"NONSENSE\r\n\r\n").partition(b"\r\n")[0]
        assert ask(running.url, "GET", "/healthz")[0] == 200


def test_a_request_that_takes_too_long_to_come(tmp_path, plan):
    with serving(tmp_path, settings={"request_seconds": 1}) as running:
        running.store.put_plan(plan)
        started = time.monotonic()
        assert raw(running.url, b"GET /healthz HTTP/1.1\r\nhost: ") == b""
        head = (
            f"POST /plans/{plan.id}/reports HTTP/1.1\r\nhost: x\r\ncontent-length: 13\r\n"
            "content-type: application/vnd.coterie.reports\r\n\r\n123"
        )
        assert raw(running.url, head.encode()) == b""
        assert time.monotonic() - started < 20
        assert running.store.study(plan.id).counts.received == 0


def test_connections_are_bounded(tmp_path):
    with serving(tmp_path, settings={"most_connections": 2}) as running:
        host, port = running.url.removeprefix("http://").split(":")
        held = [socket.create_connection((host, int(port))) for _ in range(2)]
        time.sleep(0.2)
        answer = raw(running.url, b"")
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in answer
        assert b"urn:coterie:problem:crowded" in answer
        for each in held:
            each.close()
        deadline = time.monotonic() + 20
        while ask(running.url, "GET", "/healthz")[0] != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_status_is_told_again_for_a_while(tmp_path, plan):
    with serving(tmp_path, status_seconds=3600) as running:
        running.store.put_plan(plan)
        first = ask(running.url, "GET", f"/plans/{plan.id}/status")[2]
        post(running.url, plan, reports_of(plan, 500).tobytes())
        assert ask(running.url, "GET", f"/plans/{plan.id}/status")[2] == first


def test_what_waits_is_bounded(tmp_path, plan):
    store = Troubled(tmp_path / "store")
    store.gate = threading.Event()
    with store, serving(tmp_path, store=store, most_waiting=1300) as running:
        store.put_plan(plan)
        rows = reports_of(plan, 200)
        waiting = threading.Thread(target=post, args=(running.url, plan, rows[:100].tobytes()))
        waiting.start()
        deadline = time.monotonic() + 20
        while running.collector.writer.waiting_bytes < 1300 and time.monotonic() < deadline:
            time.sleep(0.01)
        answer = post(running.url, plan, rows[100].tobytes())
        problem(answer, 429, "busy")
        assert int(answer[1]["retry-after"]) >= 1
        assert ask(running.url, "GET", "/healthz")[0] == 200  # the rest goes on
        store.gate.set()
        waiting.join()
        assert failures(post(running.url, plan, rows[100].tobytes())) == []
        assert store.study(plan.id).counts.received == 101


def test_so_many_reports_per_second(tmp_path, plan):
    with serving(tmp_path, reports_per_second=5) as running:
        running.store.put_plan(plan)
        rows = reports_of(plan, 20)
        assert failures(post(running.url, plan, rows[:5].tobytes())) == []
        problem(post(running.url, plan, rows[5:10].tobytes()), 429, "busy")
        patient = RemoteCollector(running.url)
        assert patient.send(plan, rows[5:10]).taken == 5  # it waits and sends again
        patient.disconnect()


def test_a_full_disk_answers_507_and_loses_nothing(tmp_path, plan):
    rows = reports_of(plan, 3)
    with Troubled(tmp_path / "store") as store, serving(tmp_path, store=store) as running:
        store.put_plan(plan)
        assert failures(post(running.url, plan, rows[0].tobytes())) == []
        store.trouble = StoreFullError("no room")
        problem(post(running.url, plan, rows[1].tobytes()), 507, "full")
        store.trouble = StoreUnavailableError("gone")
        assert post(running.url, plan, rows[1].tobytes())[1]["retry-after"] == "5"
        store.trouble = None
        assert failures(post(running.url, plan, rows[2].tobytes())) == []
        assert store.compact(plan.id).counted == 2


def test_one_plans_trouble_is_not_anothers(tmp_path, plan):
    class Partly(Troubled):
        def append(self, batches):
            answers = super().append(batches)
            return [StoreError("odd") if plan_id == other.id else each
                    for (plan_id, _), each in zip(batches, answers, strict=True)]  # fmt: skip

        def withdraw(self, plan_id, ids):
            raise StoreFullError("no room")

    other = small_plan(seed=1)
    store = Partly(tmp_path / "store")
    store.gate = threading.Event()
    with store, serving(tmp_path, store=store) as running:
        for each in (plan, other):
            store.put_plan(each)
        answers = {}

        def send(name, which, where="reports"):
            answers[name] = post(running.url, which, reports_of(which, 1).tobytes(), where)

        calls = [("first", plan), ("good", plan), ("odd", other), ("back", plan, "withdrawals")]
        senders = [threading.Thread(target=send, args=call) for call in calls]
        for number, each in enumerate(senders):
            each.start()
            deadline = time.monotonic() + 20
            while running.collector.writer.waiting_bytes < 13 * (number + 1) and time.monotonic() < deadline:
                time.sleep(0.01)
        store.gate.set()
        for each in senders:
            each.join()
        assert failures(answers["first"]) == failures(answers["good"]) == []
        problem(answers["odd"], 500, "internal")
        problem(answers["back"], 507, "full")


def test_a_full_study(tmp_path, plan):
    with serving(tmp_path, most_reports=10) as running:
        running.store.put_plan(plan)
        rows = reports_of(plan, 12)
        assert failures(post(running.url, plan, rows[:10].tobytes())) == []
        assert failures(post(running.url, plan, rows[10].tobytes())) == [
            (rows[10, :12].tobytes().hex(), "full")
        ]


def test_an_unforeseen_error_is_a_document_too(tmp_path, plan, capfd):
    with Troubled(tmp_path / "store") as store, serving(tmp_path, store=store) as running:
        store.put_plan(plan)
        store.trouble = RuntimeError("unforeseen")
        problem(post(running.url, plan, reports_of(plan, 1).tobytes()), 500, "internal")
    del capfd


def test_stopping_drains_what_waits(tmp_path, plan):
    store = Troubled(tmp_path / "store")
    store.gate = threading.Event()
    rows = reports_of(plan, 50)
    answers = []
    with store:
        store.put_plan(plan)
        with serving(tmp_path, store=store) as running:
            senders = [
                threading.Thread(
                    target=lambda row=row: answers.append(post(running.url, plan, row.tobytes()))
                )
                for row in rows
            ]
            for each in senders:
                each.start()
            deadline = time.monotonic() + 20
            while running.collector.writer.waiting_bytes < rows.nbytes and time.monotonic() < deadline:
                time.sleep(0.01)
            running.server.should_exit = True
            time.sleep(0.3)
            assert not answers
            store.gate.set()
            for each in senders:
                each.join()
        assert [failures(answer) for answer in answers] == [[]] * 50
        assert store.compact(plan.id).counted == 50


def test_settings_by_flag_environment_and_file(tmp_path):
    file = tmp_path / "serve.toml"
    file.write_text('port = 1\nhost = "::1"\nmost_body = 4096\ndata = "here"\n')
    environment = {"COTERIE_SERVE_PORT": "2", "COTERIE_SERVE_MOST_BODY": "8192", "OTHER": "1"}
    found = Settings.read({"port": 3, "host": None}, file=file, environment=environment)
    assert (found.port, found.most_body, found.host, str(found.data)) == (3, 8192, "::1", "here")
    assert found.store_address == "here/store"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, "say where reports are kept"),
        ({"data": "d", "colour": 1}, "no setting 'colour'"),
        ({"data": "d", "port": "x"}, "port must be an integer"),
        ({"data": "d", "port": 65536}, "port must be below 65536"),
        ({"data": "d", "most_body": 1}, "most_body must be an integer of at least 1024"),
        ({"data": "d", "most_body": 2048.5}, "most_body must be an integer"),
        ({"data": "d", "host": 3}, "host must be text"),
        ({"store": "postgresql://x"}, "token_file"),
    ],
)
def test_settings_that_are_refused(flags, message):
    with pytest.raises(SettingError, match=message):
        Settings.read(flags, environment={})


def test_a_client_gives_up_in_the_end():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    pauses = []
    collector = RemoteCollector(url, attempts=6, sleep=pauses.append)
    with pytest.raises(CollectorError, match="does not answer"):
        collector.status("0" * 64)
    assert len(pauses) == 5
    assert all(2**i / 8 <= pause <= 2**i / 4 for i, pause in enumerate(pauses))  # doubling, with jitter


def test_a_client_does_not_repeat_what_is_refused(server):
    pauses = []
    collector = RemoteCollector(server.url, sleep=pauses.append)
    with pytest.raises(CollectorError) as refused:
        collector.plan("0" * 64)
    assert (refused.value.status, refused.value.kind, pauses) == (404, "unknown-plan", [])
    collector.disconnect()
    with pytest.raises(CollectorError, match="starts with http"):
        RemoteCollector("collector.example")


def test_a_client_notices_another_plan(tmp_path, monkeypatch):
    with serving(tmp_path) as running:
        plan, other = small_plan(), small_plan(seed=1)
        running.store.put_plan(plan)
        collector = RemoteCollector(running.url, token=TOKEN)
        monkeypatch.setattr(collector, "_ask", lambda *_, **__: (200, other.to_json().encode()))
        with pytest.raises(CollectorError, match="another plan"):
            collector.plan(plan.id)
        monkeypatch.setattr(collector, "_ask", lambda *_, **__: (200, b"<html>"))
        with pytest.raises(CollectorError, match="is this a collector"):
            collector.status(plan.id)
        monkeypatch.setattr(collector, "_ask", lambda *_, **__: (200, json.dumps({"ok": 1}).encode()))
        with pytest.raises(CollectorError, match="lists no failures"):
            collector.send(plan, bytes(plan.report_width))
