"""What a collector does with too much, too fast, too slow, and with a disk that is full."""

import contextlib
import json
import logging
import os
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from coterie.errors import SettingError
from coterie.remote import CollectorError, RemoteCollector
from coterie.service import writer
from coterie.service.connection import PIECE
from coterie.service.documents import MOST_FILES, Documents
from coterie.service.problems import Problem
from coterie.service.server import Throttle, plain_log
from coterie.service.settings import Settings
from coterie.store import StoreError, StoreFullError, StoreUnavailableError, open_store
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


@pytest.fixture
def connected():
    """Open connections that send something and read nothing; at the end all are closed."""
    opened = []

    def connect(url, data=b"", receive=None):
        host, port = url.removeprefix("http://").split(":")
        opened.append(socket.socket())
        if receive is not None:
            opened[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        opened[-1].settimeout(30)
        opened[-1].connect((host, int(port)))
        opened[-1].sendall(data)
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


def waits_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_idle_connections_make_room_and_those_at_work_do_not(tmp_path, plan, connected):
    store = Troubled(tmp_path / "store")
    store.gate = threading.Event()
    with store, serving(tmp_path, store=store, settings={"most_connections": 3}) as running:
        store.put_plan(plan)
        answers = []
        row = reports_of(plan, 1).tobytes()
        at_work = threading.Thread(target=lambda: answers.append(post(running.url, plan, row)))
        at_work.start()
        waits_until(lambda: running.collector.writer.waiting_bytes)
        connected(running.url)
        connected(running.url, b"GET /healthz HTTP/1.1\r\nhost: ")
        time.sleep(1.2)
        for _ in range(2):  # each takes the place of one that has done nothing for longest
            assert ask(running.url, "GET", "/healthz")[0] == 200
            time.sleep(0.1)
        store.gate.set()
        at_work.join()
        assert failures(answers[0]) == []


def test_whatever_follows_a_request_that_is_not_answered_is_not_read(tmp_path, plan, connected, caplog):
    with serving(tmp_path) as running:
        running.store.put_plan(plan)
        rows = reports_of(plan, 3)

        def request(row):
            head = (
                f"POST /plans/{plan.id}/reports HTTP/1.1\r\nhost: x\r\n"
                f"content-type: application/vnd.coterie.reports\r\ncontent-length: {len(row)}\r\n\r\n"
            )
            return head.encode() + row

        ahead = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n" * 20_000
        for row, more in zip(rows, (request(rows[1].tobytes()), ahead, b"NONSENSE\r\n\r\n"), strict=True):
            connection = connected(running.url, request(row.tobytes()) + more[:1000])
            answer = b""
            with contextlib.suppress(OSError):  # who sends on is hung up on
                connection.sendall(more[1000:])
            with contextlib.suppress(ConnectionResetError):
                while piece := connection.recv(65536):
                    answer += piece
            connection.close()
            assert answer.count(b"HTTP/1.1 ") == 1
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b"connection: close" in answer
        assert running.store.compact(plan.id).counted == 3
        assert running.server.server_state.total_requests == 3
    assert "Invalid HTTP request received." in caplog.text


@pytest.fixture
def published(tmp_path, plan):
    """Run a collector with the documents of a decoded study, its table of 20 MB."""
    documents = {"table": os.urandom(20 << 20), "result": b"{}", "manifest": b"{}"}
    settings = {"answer_seconds": 1, "idle_seconds": 1}
    with serving(tmp_path, settings=settings, most_readers=12) as running:
        running.store.put_plan(plan)
        for name, data in documents.items():
            running.store.put_document(plan.id, name, data)
        running.table = documents["table"]
        yield running


def test_readers_that_do_not_read_hold_little_and_not_for_long(published, plan, connected):
    request = f"GET /plans/{plan.id}/table HTTP/1.1\r\nhost: x\r\n\r\n".encode()
    for _ in range(10):
        connected(published.url, request, receive=4096)
    connections = published.server.server_state.connections

    def held():
        return [each.transport.get_write_buffer_size() for each in list(connections)]

    waits_until(lambda: sum(map(bool, held())) == 10)
    assert max(held()) <= 2 * PIECE + 4096
    assert ask(published.url, "GET", f"/plans/{plan.id}/table")[2] == published.table  # others read on
    waits_until(lambda: not connections, 10)  # they are hung up on


def test_a_long_answer_goes_out_in_pieces(published, plan, connected, monkeypatch):
    path = f"/plans/{plan.id}"
    ask(published.url, "GET", path)
    long = os.urandom(8 << 20)
    monkeypatch.setattr(published.collector.studies.get(plan.id), "document", long)
    connected(published.url, f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode(), receive=4096)
    connections = published.server.server_state.connections
    waits_until(lambda: any(each.transport.get_write_buffer_size() for each in list(connections)))
    assert max(each.transport.get_write_buffer_size() for each in list(connections)) <= 2 * PIECE + 4096
    assert ask(published.url, "GET", path)[2] == long


def test_a_connection_that_ends_does_not_wait_for_its_reader_for_ever(published, connected):
    connected(published.url)
    connections = published.server.server_state.connections
    waits_until(lambda: connections)
    (one,) = connections
    ends = []
    real, one.transport = (
        one.transport,
        SimpleNamespace(is_closing=lambda: True, abort=lambda: ends.append(1)),
    )
    now = time.monotonic()
    one.look(now)
    assert not ends  # it has a while to take what was written
    one.look(now + 1.1)
    one.transport = real
    assert ends


def test_a_document_is_read_once_and_then_by_pieces(tmp_path, plan):
    data = os.urandom(3 * PIECE + 5)
    with open_store(tmp_path) as store:
        store.put_plan(plan)
        store.put_document(plan.id, "table", data)
        documents = Documents(store, 1)
        with pytest.raises(Problem, match="closes and decodes"):  # its manifest comes last
            documents.find(plan.id, "table")
        store.put_document(plan.id, "manifest", b"{}")
        with pytest.raises(Problem, match="closes and decodes"):
            documents.find(plan.id, "result")
        first = documents.find(plan.id, "table")
        assert documents.find(plan.id, "table") is first
        pieces = [first.piece(start) for start in range(0, first.size, PIECE)]
        assert [len(piece) for piece in pieces] == [PIECE] * 3 + [5]
        assert b"".join(pieces) == data
        for number in range(MOST_FILES):
            store.put_document(plan.id, f"d{number}", b"x")
            documents.find(plan.id, f"d{number}")
        assert documents.find(plan.id, "table") is not first  # room was needed
        assert first.piece(0) == data[:PIECE]  # but who reads it reads on
        handle = first._handle
        del first
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(handle)


def test_so_many_read_at_a_time(published, plan, connected):
    request = f"GET /plans/{plan.id}/table HTTP/1.1\r\nhost: x\r\n\r\n".encode()
    for _ in range(12):
        connected(published.url, request, receive=4096)
    waits_until(lambda: not published.collector.documents._left)
    answer = ask(published.url, "GET", f"/plans/{plan.id}/table")
    problem(answer, 503, "crowded")
    assert answer[1]["retry-after"] == "5"
    assert post(published.url, plan, reports_of(plan, 1).tobytes())[0] == 200  # the rest goes on
    waits_until(lambda: published.collector.documents._left == 12, 10)
    assert ask(published.url, "GET", f"/plans/{plan.id}/table")[2] == published.table


def test_large_bodies_on_their_way_are_bounded_and_small_ones_find_room(tmp_path, plan, connected):
    with serving(tmp_path, most_waiting=260_000) as running:
        running.store.put_plan(plan)
        head = (
            f"POST /plans/{plan.id}/reports HTTP/1.1\r\nhost: x\r\n"
            "content-type: application/vnd.coterie.reports\r\ncontent-length: 260000\r\n\r\n"
        ).encode()
        first = connected(running.url, head + bytes(250_000))
        waits_until(lambda: running.collector.uploads._room.left < 100_000)
        second = connected(running.url, head + bytes(250_000))
        assert second.recv(100).startswith(b"HTTP/1.1 429 ")
        assert failures(post(running.url, plan, reports_of(plan, 1).tobytes())) == []
        first.close()
        waits_until(lambda: running.collector.uploads._room.left == 260_000)


def test_hardly_more_withdrawals_than_reports(tmp_path, plan, monkeypatch):
    assert writer.WITHDRAWN_AHEAD * 12 < 1 << 20  # bytes that somebody may make the store keep for nothing
    monkeypatch.setattr(writer, "WITHDRAWN_AHEAD", 0)
    with serving(tmp_path) as running:
        running.store.put_plan(plan)
        rows, never = reports_of(plan, 10), reports_of(plan, 1000, seed=1)
        assert failures(post(running.url, plan, rows.tobytes())) == []
        refused = failures(post(running.url, plan, never.tobytes(), "withdrawals"))
        assert [reason for _, reason in refused] == ["full"] * 1000
        assert failures(post(running.url, plan, rows[:4].tobytes(), "withdrawals")) == []
        assert failures(post(running.url, plan, never[:6].tobytes(), "withdrawals")) == []
        assert len(failures(post(running.url, plan, never[6].tobytes(), "withdrawals"))) == 1
        running.store.append([(plan.id, reports_of(plan, 5, seed=2))])  # by another server
        assert failures(post(running.url, plan, rows[4:6].tobytes(), "withdrawals")) == []
        counts = running.store.compact(plan.id)
        assert (counts.counted, counts.withdrawn) == (9, 12)
    with serving(tmp_path) as again:  # what was withdrawn before a new start counts, too
        assert len(failures(post(again.url, plan, never[:4].tobytes(), "withdrawals"))) == 4


def test_one_request_without_room_keeps_no_other_out(tmp_path, plan, monkeypatch):
    monkeypatch.setattr(writer, "WITHDRAWN_AHEAD", 0)
    store = Troubled(tmp_path / "store")
    store.gate = threading.Event()
    store.gate.set()
    with store, serving(tmp_path, store=store, most_reports=60) as running:
        store.put_plan(plan)
        rows, never = reports_of(plan, 50), reports_of(plan, 500, seed=1)
        assert failures(post(running.url, plan, rows.tobytes())) == []
        store.gate.clear()
        answers = {}

        def send(name, body, where):
            answers[name] = post(running.url, plan, body.tobytes(), where)

        calls = [
            ("first", rows[:1], "reports"),  # holds the disk until all are there, for one commit
            ("flood", never, "withdrawals"),
            ("mine", rows[7:8], "withdrawals"),
            ("too many", never[:40], "reports"),
            ("one", reports_of(plan, 1, seed=2), "reports"),
        ]
        senders = [threading.Thread(target=send, args=call) for call in calls]
        size = 0
        for each, (_, body, _) in zip(senders, calls, strict=True):
            each.start()
            size += body.size
            waits_until(lambda size=size: running.collector.writer.waiting_bytes >= size)
        store.gate.set()
        for each in senders:
            each.join()
        assert {name: len(failures(answer)) for name, answer in answers.items()} == {
            "first": 0,
            "flood": 500,
            "mine": 0,
            "too many": 40,
            "one": 0,
        }
        counts = store.compact(plan.id)
        assert (counts.counted, counts.withdrawn) == (50, 1)


def test_nothing_redirects_and_no_host_is_echoed(tmp_path, plan):
    with serving(tmp_path) as running:
        running.store.put_plan(plan)
        for path in ("/healthz/", f"/plans/{plan.id}/", f"/plans/{plan.id}/status/", "//evil.example/.."):
            answer = ask(running.url, "GET", path, headers={"host": "evil.example"})
            problem(answer, 404, "not-found")
            assert "location" not in answer[1]
            assert "evil.example" not in str(answer)


def test_every_answer_forbids_to_guess_its_type(published, plan):
    row = reports_of(plan, 1).tobytes()
    answers = [ask(published.url, "GET", path) for path in ("/healthz", "/no", f"/plans/{plan.id}/result")]
    answers += [post(published.url, plan, body) for body in (row, 2 * row, b"", row[:5])]
    assert {answer[1].get("x-content-type-options") for answer in answers} == {"nosniff"}
    for bad in (b"NONSENSE\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"a" * 50_000):
        assert b"x-content-type-options: nosniff\r\n" in raw(published.url, bad)


def test_a_flood_of_bad_requests_writes_one_line(tmp_path, capfd):
    with plain_log(), serving(tmp_path) as running:
        for _ in range(20):
            raw(running.url, b"NONSENSE\r\n\r\n")
    assert capfd.readouterr().err.count("Invalid HTTP request received.") == 1


def test_what_was_not_written_is_counted_with_the_next():
    now, record = [0.0], logging.makeLogRecord({"msg": "bad %s", "args": ("request",)})
    throttle = Throttle(60.0, lambda: now[0])
    other = logging.makeLogRecord({"msg": "bad %s", "args": ("disk",)})
    assert [throttle.filter(each) for each in (record, record, record, other)] == [True, False, False, True]
    now[0] = 61.0
    assert throttle.filter(record)
    assert record.getMessage() == "bad request (2 more like it since the last)"


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
