"""What the service itself must not learn, keep or tell. Each test fails where the promise is broken."""

import json
import re
import time

import numpy as np
import pytest

from coterie.coins import SimulationCoins
from coterie.plan.collection import Collection
from coterie.remote import RemoteCollector
from coterie.service.keys import is_operator, operator_token, signing_key
from coterie.service.status import EPSILON, Tellings
from coterie.service.uploads import ONE_SIZE
from tests.service.conftest import (
    KEY,
    TOKEN,
    Clock,
    ask,
    post,
    reports_of,
    serving,
    small_plan,
)

AGENT = "a-very-special-agent/1.0"


def everything_in(folder):
    """All bytes and names under a folder."""
    found = b""
    for path in sorted(folder.rglob("*")):
        found += path.name.encode() + (path.read_bytes() if path.is_file() else b"")
    return found


def test_no_address_agent_or_time_is_kept_or_logged(tmp_path, capfd, caplog):
    plan = small_plan(Collection(time_precision=86_400))
    rows = reports_of(plan, 200)
    caplog.set_level(1)  # whatever is said, however quietly
    with serving(tmp_path / "data") as running:
        running.store.put_plan(plan)
        before = time.time()
        for row in rows[:20]:
            headers = {
                "content-type": "application/vnd.coterie.reports",
                "user-agent": AGENT,
                "x-forwarded-for": "203.0.113.77",
                "forwarded": "for=203.0.113.77",
                "cookie": "who=somebody-known",
            }
            assert ask(running.url, "POST", f"/plans/{plan.id}/reports", row.tobytes(), headers)[0] == 200
        ask(running.url, "GET", "/nothing", headers={"user-agent": AGENT, "x-forwarded-for": "203.0.113.77"})
        operator = RemoteCollector(running.url, token=TOKEN)
        operator.send(plan, rows[20:])
        closed = operator.close(plan.id)
        running.store.compact(plan.id)
        operator.disconnect()
    assert closed % 86_400 == 0
    log = caplog.text + "".join(capfd.readouterr())
    kept = everything_in(tmp_path / "data")
    for secret in (AGENT, "203.0.113.77", "127.0.0.1", "somebody-known"):
        assert secret.encode() not in kept
        assert secret not in log
    seconds = {int(before) + i for i in range(-1, 60)}
    for number in re.findall(rb"1[0-9]{9}", kept + log.encode()):  # a time in seconds, as text
        assert int(number) not in seconds
    for second in seconds:
        assert second.to_bytes(8, "big") not in kept
        assert second.to_bytes(8, "little") not in kept


def test_nothing_tells_the_order_of_arrival_once_compacted(tmp_path):
    plan = small_plan()
    rows = reports_of(plan, 300)
    found = []
    for name, order in (("a", slice(None)), ("b", slice(None, None, -1))):
        with serving(tmp_path / name) as running:
            running.store.put_plan(plan)
            for part in range(3):
                post(running.url, plan, rows[order][100 * part : 100 * (part + 1)].tobytes())
            running.store.compact(plan.id)
        files = sorted(path for path in (tmp_path / name / "store").rglob("*") if path.is_file())
        found.append({str(path.relative_to(tmp_path / name)): path.read_bytes() for path in files})
    assert found[0] == found[1]


def test_answers_to_single_reports_have_one_size(tmp_path):
    clock = Clock()
    clock.now = 3600.0
    plan = small_plan(Collection(opens=7200, closes=14_400))
    tokens = small_plan(ids="token")
    rows = reports_of(plan, 4).copy()
    rows[3, -1] = 255
    with serving(tmp_path, clock=clock, most_reports=2) as running:
        running.store.put_plan(plan)
        running.store.put_plan(tokens)
        answers = [post(running.url, plan, rows[0].tobytes())]  # too early
        clock.now = 7200.0
        answers += [
            post(running.url, plan, row.tobytes()) for row in (rows[3], rows[0], rows[0], rows[1], rows[2])
        ]
        answers.append(post(running.url, plan, rows[0].tobytes(), "withdrawals"))
        clock.now = 14_400.0
        answers.append(post(running.url, plan, rows[1].tobytes()))
        answers.append(post(running.url, tokens, bytes(16) + rows[1].tobytes()))
    reasons = [[each["reason"] for each in json.loads(body)["failures"]] for _, _, body in answers]
    assert reasons == [["early"], ["malformed"], [], [], ["full"], ["full"], [], ["closed"], ["token"]]
    sizes = {
        (status, len(body), sum(len(name) + len(value) for name, value in headers.items()))
        for status, headers, body in answers
    }
    assert len(sizes) == 1
    assert sizes.pop()[:2] == (200, ONE_SIZE)


def test_no_cookies_and_no_servers_name(server, plan):
    for method, path in [("GET", "/healthz"), ("GET", f"/plans/{plan.id}"), ("GET", "/nothing")]:
        _, headers, _ = ask(server.url, method, path)
        assert not {"set-cookie", "server", "x-powered-by"} & headers.keys()
    _, headers, _ = post(server.url, plan, reports_of(plan, 1).tobytes())
    assert not {"set-cookie", "server"} & headers.keys()


def test_a_replay_is_answered_as_the_first_time(server, plan):
    row = reports_of(plan, 1).tobytes()
    first, again = post(server.url, plan, row), post(server.url, plan, row)
    server.store.compact(plan.id)
    later = post(server.url, plan, row)
    assert first[2] == again[2] == later[2]


def test_counts_are_told_once_in_a_while_and_with_noise_of_their_own(tmp_path):
    clock, plan = Clock(), small_plan()
    clock.now = 3600.0 * 1000
    tellings = Tellings(3600)
    with serving(tmp_path, clock=clock, tellings=tellings) as running:
        running.store.put_plan(plan)

        def told():
            status = json.loads(ask(running.url, "GET", f"/plans/{plan.id}/status")[2])
            assert status["counts"] == {"epsilon": 1, "seconds": 3600}
            return status["reports"], *status["rejected"].values()

        post(running.url, plan, reports_of(plan, 300).tobytes())
        running.store.compact(plan.id)
        first = told()
        assert 280 <= first[0] <= 320
        post(running.url, plan, reports_of(plan, 300, seed=1).tobytes())
        post(running.url, plan, b"\xff" * 90 * plan.report_width)  # malformed
        running.store.compact(plan.id)
        clock.now += 3599
        assert told() == first  # nothing that came since
        clock.now += 1
        later = told()
        assert 570 <= later[0] <= 640
        assert 70 <= later[1] <= 110


def test_what_is_told_of_counts_has_the_law_that_is_stated():
    """Hold the noise of each new telling to e^-|y|·ε: of the counts, and on top of all noise before."""

    class Watched(Tellings):
        def noise(self):
            return self._told["plan"][1]

    coins = SimulationCoins(5)
    first, steps = [], []
    for _ in range(4000):
        tellings = Watched(10.0, coins)
        tellings.tell("plan", {"reports": 105, "malformed": 5}, 0.0)
        before = tellings.noise()
        tellings.tell("plan", {"reports": 107, "malformed": 5}, 10.0)
        first += before
        steps += [after - old for after, old in zip(tellings.noise(), before, strict=True)]
    for drawn in (first, steps):
        counts = np.bincount(np.abs(drawn), minlength=30)
        ratio, sizes = np.exp(-EPSILON), np.arange(30)
        expected = len(drawn) * (1 - ratio) / (1 + ratio) * ratio**sizes * np.where(sizes, 2, 1)
        kept = expected > 20
        chi_squared = ((counts - expected) ** 2 / expected)[kept].sum()
        assert chi_squared < 30  # 8 degrees of freedom: 1 in 4,700
        assert abs(np.mean(drawn)) < 0.08  # 5 deviations
    assert EPSILON == 1  # what the page states
    told = [Tellings(10.0, coins).tell("plan", {"reports": 100}, 0.0)["reports"] for _ in range(100)]
    assert set(told) == {90, 100}  # of exactly 100, the tens do not tell


def test_a_study_that_ended_is_told_once_more_and_then_no_more():
    tellings = Tellings(10.0, SimulationCoins(1))
    told = {tellings.tell("plan", {"reports": 1000}, 10.0 * i, final=True)["reports"] for i in range(50)}
    assert len(told) == 1


def test_an_open_study_is_compacted_by_the_clock(tmp_path):
    clock, plan = Clock(), small_plan()
    with serving(tmp_path, clock=clock, upkeep_seconds=0.05, compact_seconds=3600) as running:
        running.store.put_plan(plan)
        post(running.url, plan, reports_of(plan, 50).tobytes())
        time.sleep(0.5)
        assert running.store.study(plan.id).counts.counted == 0
        clock.now += 3601
        deadline = time.monotonic() + 20
        while running.store.study(plan.id).counts.counted == 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert running.store.study(plan.id).counts.counted == 50


def test_a_window_that_ends_closes_and_reports_are_deleted_in_time(tmp_path):
    clock = Clock()
    clock.now = 7200.0
    plan = small_plan(Collection(closes=14_400, retention=7200, minimum=1000))
    with serving(tmp_path, clock=clock, upkeep_seconds=0.05) as running:
        running.store.put_plan(plan)
        post(running.url, plan, reports_of(plan, 50).tobytes())

        def comes_to(*wanted):
            deadline, found = time.monotonic() + 20, None
            while found != wanted and time.monotonic() < deadline:
                time.sleep(0.05)
                study = running.store.study(plan.id)
                found = (study.state, study.counts.counted)
            return found == wanted

        clock.now = 14_401.0
        assert comes_to("closed", 50)  # and compacted: nothing says any longer who came before whom
        clock.now = 14_400.0 + 7200 + 3599  # closed may have been an hour later than it was noted
        time.sleep(0.5)
        assert running.store.study(plan.id).state == "closed"
        clock.now = 14_400.0 + 7200 + 3600
        assert comes_to("deleted", 50)
    assert reports_of(plan, 50)[0].tobytes() not in everything_in(tmp_path)


def test_secrets_are_made_once_for_the_owner_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("COTERIE_OPERATOR_TOKEN", raising=False)
    token, key = tmp_path / "d" / "operator-token", tmp_path / "d" / "signing-key"
    assert operator_token(token) == operator_token(token)
    assert signing_key(key) == signing_key(key)
    assert len(operator_token(token)) >= 32
    assert {path.stat().st_mode & 0o777 for path in (token, key)} == {0o600}
    monkeypatch.setenv("COTERIE_OPERATOR_TOKEN", "short")
    with pytest.raises(ValueError, match="16 or more"):
        operator_token(token)
    key.write_text("00")
    with pytest.raises(ValueError, match="64 hex digits"):
        signing_key(key)


def test_the_token_is_compared_in_constant_time(monkeypatch):
    compared = []

    def watched(a, b):
        compared.append((len(a), len(b)))
        return a == b

    monkeypatch.setattr("coterie.service.keys.hmac.compare_digest", watched)
    for given in ("", "x", TOKEN[:-1], TOKEN, TOKEN * 50):
        assert is_operator(TOKEN, f"Bearer {given}") == (given == TOKEN)
    assert compared == [(32, 32)] * 5  # digests: of one length, whatever was given
    assert KEY


@pytest.mark.parametrize(
    "header", [TOKEN, f" {TOKEN}", f"Basic {TOKEN}", f"Bearer: {TOKEN}", f"Digest {TOKEN}"]
)
def test_the_token_is_taken_under_its_own_scheme_only(header):
    """What a proxy or a browser sends under another scheme was not meant for the operator's routes."""
    assert not is_operator(TOKEN, header)
    assert is_operator(TOKEN, f"bearer  {TOKEN} ")
