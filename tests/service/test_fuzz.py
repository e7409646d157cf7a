"""Every parser of what comes over the network, fed with anything: it answers or refuses."""

import contextlib
import json
import socket

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from coterie.errors import CoterieError
from coterie.remote import CollectorError, Receipt
from coterie.remote.collector import _failures, _parsed, _problem
from coterie.service.endpoints import waiting
from coterie.service.keys import is_operator
from coterie.service.settings import Settings
from coterie.service.uploads import ONE_SIZE, Uploads
from coterie.wire.manifest import ManifestError, read_manifest
from tests.service.conftest import REPORTS, TOKEN, ask, reports_of, serving, small_plan

PLAN = small_plan()
ANY = settings(max_examples=60, deadline=None, derandomize=True)
LIVE = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with serving(
        tmp_path_factory.mktemp("data"),
        most_body=1 << 16,
        settings={"most_header": 4096, "request_seconds": 2},
    ) as server:
        server.store.put_plan(PLAN)
        yield server


def send(url, data):
    """Send raw bytes, say that there are no more, and return all that comes back."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        try:
            while piece := connection.recv(65536):
                found += piece
        except ConnectionResetError:
            pass
        return found


HEAD = f"POST /plans/{PLAN.id}/reports HTTP/1.1\r\nhost: x\r\ncontent-type: {REPORTS}\r\n".encode()


@LIVE
@given(
    data=st.one_of(
        st.binary(max_size=300),
        st.binary(max_size=60).map(lambda more: HEAD + more),
        st.binary(max_size=60).map(lambda more: HEAD + b"content-length: 13\r\n\r\n" + more),
        st.binary(max_size=60).map(lambda more: HEAD + b"transfer-encoding: chunked\r\n\r\n" + more),
        st.binary(max_size=60).map(lambda more: b"GET /plans/" + more + b" HTTP/1.1\r\nhost: x\r\n\r\n"),
        st.binary(max_size=60).map(
            lambda more: b"GET /healthz HTTP/1.1\r\nauthorization: " + more + b"\r\n\r\n"
        ),
    )
)
@example(HEAD + b"content-length: -1\r\n\r\n")
@example(HEAD + b"content-length: 99999999999999999999\r\n\r\n")
@example(HEAD + b"content-length: 13\r\ncontent-length: 14\r\n\r\n" + bytes(14))
@example(HEAD + b"content-length: 13\r\ntransfer-encoding: chunked\r\n\r\n" + bytes(14))
@example(b"GET /healthz HTTP/1.1\r\n" + b"x: y\r\n" * 2000)
@example(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
def test_any_bytes_on_the_wire(running, data):
    answer = send(running.url, data)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
    assert not answer.startswith(b"HTTP/1.1 5")
    assert ask(running.url, "GET", "/healthz")[0] == 200


@LIVE
@given(body=st.binary(min_size=1, max_size=400))
def test_any_body_of_reports(running, body):
    status, _, answer = ask(running.url, "POST", f"/plans/{PLAN.id}/reports", body, {"content-type": REPORTS})
    if len(body) % 13:
        assert status == 400
        return
    assert status == 200
    wrong = [body[i : i + 12].hex() for i in range(0, len(body), 13) if body[i + 12] >= 200]
    assert [each["id"] for each in json.loads(answer)["failures"]] == wrong
    assert len(body) > 13 or len(answer) == ONE_SIZE


@ANY
@given(
    path=st.text(max_size=100) | st.text(max_size=20).map(lambda end: f"/plans/{PLAN.id}{end}"),
    method=st.sampled_from(["GET", "POST", "PUT"]),
)
def test_the_fast_path_takes_its_own_paths_alone(path, method):
    taken = Uploads.takes({"path": path, "method": method})
    assert taken == (
        method == "POST" and path.startswith("/plans/") and path[71:] in ("/reports", "/withdrawals")
    )


@ANY
@given(text=st.text(max_size=200), data=st.binary(max_size=200))
def test_receipts_manifests_headers_and_answers(text, data):
    with pytest.raises(CoterieError):
        Receipt.read(text)
    with pytest.raises(ManifestError):
        read_manifest(data)
    assert not is_operator(TOKEN, text)
    assert _problem(400, data).status == 400
    with contextlib.suppress(CollectorError):
        _failures(_parsed(data))


@ANY
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    )
)
def test_a_collectors_answers_may_be_anything(value):
    data = json.dumps(value).encode()
    assert _problem(503, data).status == 503
    try:
        found = _failures(_parsed(data))
    except CollectorError:
        return
    assert isinstance(found, list)


@ANY
@given(text=st.text(max_size=40))
def test_how_long_a_request_waits(text):
    class Request:
        headers = {"prefer": text}  # noqa: RUF012

    assert 0 <= waiting(Request()) <= 300


@ANY
@given(values=st.dictionaries(st.sampled_from(["port", "host", "most_body", "x"]), st.text(max_size=10)))
def test_settings_of_the_environment(values):
    environment = {f"COTERIE_SERVE_{name.upper()}": value for name, value in values.items()}
    try:
        Settings.read({"data": "d"}, environment=environment)
    except CoterieError:
        return


def test_a_cut_connection_takes_nothing_in(running):
    before = running.store.study(PLAN.id).counts.received
    rows = reports_of(PLAN, 10).tobytes()
    send(running.url, HEAD + f"content-length: {len(rows)}\r\n\r\n".encode() + rows[:-1])
    assert running.store.study(PLAN.id).counts.received == before
