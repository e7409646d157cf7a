"""A shuffler and its collector over real HTTP: what goes through, and everything that is refused."""

import contextlib
import dataclasses
import hashlib
import io
import json
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.collect.shuffler import batch_bytes, mixed
from coterie.errors import ReportError, SettingError
from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.remote import CollectorError, RemoteCollector
from coterie.service import studies
from coterie.service.batches import checked_people
from coterie.service.problems import Problem
from coterie.service.settings import Settings
from coterie.service.shuffler import Shuffler
from coterie.store import StudyState, open_store
from coterie.wire.admission import ADMISSION_BYTES, ask_for, sign_admission
from coterie.wire.mixing import check_mixing, mixing_statement
from coterie.wire.report_file import ReportWriter
from coterie.wire.rows import Rows
from coterie.wire.shuffled_file import MEDIA_TYPE, ShuffledFile, batch_authorization, is_put_by
from coterie.wire.signing import new_key, public_key
from coterie.wire.stream import PublicStream
from tests.service.conftest import (
    KEY,
    OPERATOR,
    TOKEN,
    Clock,
    ask,
    failures,
    finished,
    post,
    problem,
    serving,
    small_plan,
)
from tests.service.conftest import reports_of as local_reports
from tests.service.shuffled import AMPLIFIED, COLUMN, SHARES, reports_of, table_from_files

NOWHERE = "http://127.0.0.1:9"
EVERY = pytest.mark.parametrize("plan", [AMPLIFIED, SHARES, COLUMN], ids=["codeword", "cells", "column"])


@contextlib.contextmanager
def collecting(folder, plan=None, **options):
    """A collector that knows the shuffler of KEY."""
    with (
        serving(folder / "collector", shufflers=[public_key(KEY)], **options) as running,
        RemoteCollector(running.url, token=TOKEN, attempts=1) as running.operator,
    ):
        if plan is not None:
            running.operator.put_plan(plan)
        yield running


@contextlib.contextmanager
def shuffling(folder, plan=None, deliver_to=NOWHERE, **options):
    """A shuffler with KEY."""
    with (
        serving(folder / "shuffler", kind=Shuffler, deliver_to=deliver_to, **options) as running,
        RemoteCollector(running.url, token=TOKEN, attempts=1) as running.operator,
    ):
        running.releases = running.collector.releases
        if plan is not None:
            running.operator.put_plan(plan)
        yield running


def eventually(true, seconds=60):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def in_order(reports):
    """Reports sorted by id."""
    return reports[np.lexsort(reports[:, 11::-1].T)]


def people_of(plan):
    return 400 if plan is COLUMN else 60


# ---------------------------------------------------------------- what goes through


@EVERY
def test_the_batch_and_the_table_are_those_from_files(tmp_path, plan):
    reports = reports_of(plan, people_of(plan))
    order = np.random.default_rng(1).permutation(len(reports))
    table, mixed_file = table_from_files(tmp_path, plan, reports)
    with collecting(tmp_path, plan) as collector, shuffling(tmp_path, plan, collector.url) as shuffler:
        for piece in np.array_split(reports[np.concatenate([order, order[:9]])], 3):
            assert shuffler.operator.send(plan, piece).failures == ()
        shuffler.operator.release(plan.id)
        eventually(lambda: shuffler.operator.release_state(plan.id)["waiting"] is None)
        (batch,) = collector.store.batches(plan.id)
        assert batch.data == mixed_file
        assert collector.operator.status(plan.id)["reports"] == people_of(plan)
        collector.operator.close(plan.id)
        if plan is not COLUMN:  # which has the same table as the other sums
            assert collector.operator.decode(plan.id)["count"] == people_of(plan)
            assert collector.operator.table(plan.id) == table
        counts = shuffler.store.study(plan.id).counts
        assert (counts.counted, counts.released, counts.batches) == (0, people_of(plan), 0)


def test_a_window_that_closes_releases_by_itself_and_the_collector_waits_for_it(tmp_path):
    clock = Clock()
    opens = int(clock.now) - 100
    window = Collection(opens=opens, closes=opens + 200, time_precision=1, minimum=54, retention=50)
    plan = dataclasses.replace(AMPLIFIED, collection=window)
    with (
        collecting(tmp_path, plan, clock=clock, upkeep_seconds=0.02) as collector,
        shuffling(tmp_path, plan, collector.url, clock=clock, upkeep_seconds=0.02) as shuffler,
    ):
        reports = reports_of(plan)
        shuffler.operator.send(plan, reports)
        shuffler.operator.withdraw(plan, reports[:2])
        clock.now += 200
        assert shuffler.operator.send(plan, reports_of(plan)).reasons == {"closed": 60}
        eventually(lambda: collector.store.study(plan.id).counts.batches == 1)
        assert collector.operator.status(plan.id)["state"] == "open"
        assert collector.operator.status(plan.id)["collection"]["closes"] == opens + 200
        (batch,) = collector.store.batches(plan.id)
        sent = {row.tobytes() for row in ShuffledFile.rows_of(batch.data, plan, "batch")}
        assert sent == {row.tobytes() for row in reports[2:]}
        clock.now += 1000
        eventually(lambda: shuffler.store.study(plan.id).state is StudyState.DELETED)


def test_what_was_not_released_yet_is_not_deleted_however_late_it_is(tmp_path):
    """A shuffler that was down when the study closed, and for longer than the retention."""
    clock = Clock()
    plan = dataclasses.replace(AMPLIFIED, collection=Collection(time_precision=1, minimum=54, retention=0))
    folder = tmp_path / "shuffler" / "store"
    reports = reports_of(plan)
    with open_store(folder) as store:
        store.put_plan(plan)
        store.append([(plan.id, reports)])
        shuffler = Shuffler(store, token=TOKEN, key=KEY, deliver_to=NOWHERE, clock=clock)
        finished(shuffler.studies.find(plan.id))
        shuffler.ending.close(shuffler.studies.get(plan.id))
        clock.now += 1000
        for _ in range(2):
            finished(shuffler.upkeep.look())
            assert store.study(plan.id).state is StudyState.CLOSED
        batch = store.staged_batch(plan.id)
        assert len(ShuffledFile.rows_of(batch.data, plan, "batch")) == 60
        store.acknowledge_batch(plan.id, batch.digest)
        finished(shuffler.upkeep.look())
        assert store.study(plan.id).state is StudyState.DELETED
        shuffler.upkeep.stop()
        shuffler.threads.shutdown()


@pytest.mark.parametrize("plan", [AMPLIFIED, SHARES], ids=["codeword", "shares"])
def test_once_a_batch_is_acknowledged_ids_are_all_that_is_left(tmp_path, plan):
    reports = reports_of(plan)
    with collecting(tmp_path, plan) as collector, shuffling(tmp_path, plan, collector.url) as shuffler:
        shuffler.operator.send(plan, reports)
        held = contents(tmp_path / "shuffler")
        assert all(report.tobytes() in held for report in reports)
        shuffler.operator.release(plan.id)
        eventually(lambda: shuffler.operator.release_state(plan.id)["waiting"] is None)
        held = contents(tmp_path / "shuffler")
    assert all(report[:12].tobytes() in held for report in reports)
    # After an id stands another one, whose first byte is a report's last by chance once in 256.
    assert sum(report.tobytes() in held for report in reports) < len(reports) / 4
    if plan is SHARES:
        assert not any(report[12:24].tobytes() in held for report in reports)


def contents(folder):
    """Every byte below a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_nothing_is_released_because_so_many_have_come(tmp_path):
    with (
        collecting(tmp_path, AMPLIFIED) as collector,
        shuffling(tmp_path, AMPLIFIED, collector.url) as shuffler,
    ):
        for _ in range(3):
            shuffler.operator.send(AMPLIFIED, reports_of(AMPLIFIED))
            finished(shuffler.collector.upkeep.look())
        counts = shuffler.store.study(AMPLIFIED.id).counts
        assert (counts.received, counts.released) == (180, 0)
        assert shuffler.store.staged_batch(AMPLIFIED.id) is None
        assert collector.store.study(AMPLIFIED.id).counts.batches == 0


def test_a_full_batch_takes_nothing_more_and_repetitions_do_not_fill_it(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "MOST_BATCH", 13 * 60)
    with shuffling(tmp_path, AMPLIFIED, upkeep_seconds=0.01) as shuffler:
        first, more = reports_of(AMPLIFIED), reports_of(AMPLIFIED)
        assert shuffler.operator.send(AMPLIFIED, first[:55]).taken == 55
        assert shuffler.operator.send(AMPLIFIED, first[:5]).taken == 5
        eventually(lambda: shuffler.operator.send(AMPLIFIED, first[55:]).taken == 5)
        assert shuffler.operator.send(AMPLIFIED, more[:1]).reasons == {"full": 1}
        assert shuffler.store.staged_batch(AMPLIFIED.id) is None


# ---------------------------------------------------------------- what a shuffler refuses


def test_a_batch_below_the_minimum_is_not_released_and_may_grow(tmp_path):
    reports = reports_of(AMPLIFIED)
    with shuffling(tmp_path, AMPLIFIED) as shuffler:
        shuffler.operator.send(AMPLIFIED, reports[:53])
        refused = ask(shuffler.url, "POST", f"/plans/{AMPLIFIED.id}/release", headers=OPERATOR)
        assert "53 people and the plan's minimum is 54" in problem(refused, 409, "too-few")["detail"]
        assert shuffler.operator.release_state(AMPLIFIED.id)["waiting"] is None
        shuffler.operator.send(AMPLIFIED, reports[:1])  # the same person again makes no 54th
        with pytest.raises(CollectorError, match="53 people"):
            shuffler.operator.release(AMPLIFIED.id)
        shuffler.operator.send(AMPLIFIED, reports[53:54])
        assert shuffler.operator.release(AMPLIFIED.id)["released"] == 54
        shuffler.operator.send(AMPLIFIED, reports[:54])  # who was released makes no second batch
        shuffler.operator.send(AMPLIFIED, reports_of(AMPLIFIED)[:53])
        (staged,) = [shuffler.store.staged_batch(AMPLIFIED.id)]
        shuffler.store.acknowledge_batch(AMPLIFIED.id, staged.digest)
        with pytest.raises(CollectorError, match="53 people"):
            shuffler.operator.release(AMPLIFIED.id)


def test_a_row_with_too_few_people_is_not_released(tmp_path):
    reports = reports_of(COLUMN, 800)
    rows, _ = PublicStream(COLUMN.randomness_key()).choices(reports[:, :12], Rows.of(COLUMN.parameters))
    with shuffling(tmp_path, COLUMN) as shuffler:
        shuffler.operator.send(COLUMN, reports[rows != 0])
        with pytest.raises(CollectorError, match="a row of this batch has 0 people"):
            shuffler.operator.release(COLUMN.id)
        shuffler.operator.send(COLUMN, reports[rows == 0])
        assert shuffler.operator.release(COLUMN.id)["released"] == 800


def test_a_batch_is_made_of_reports_in_the_order_of_their_ids():
    reports = in_order(reports_of(AMPLIFIED))
    assert (
        ShuffledFile.rows_of(batch_bytes(AMPLIFIED, reports), AMPLIFIED, "batch").tolist() == reports.tolist()
    )
    for wrong in (reports[::-1], reports[[0, *range(60)]]):
        with pytest.raises(ReportError, match="order of their ids, each once"):
            batch_bytes(AMPLIFIED, wrong)


def test_a_shuffler_takes_shuffle_plans_only_and_decodes_nothing(tmp_path):
    local = small_plan()
    with shuffling(tmp_path, AMPLIFIED) as shuffler:
        problem(ask(shuffler.url, "PUT", f"/plans/{local.id}", local.to_json(), OPERATOR), 422, "unfit-plan")
        huge = Plan.design(2, 2, 2.0, 1 << 28, model="shuffle", delta=1e-12)
        problem(ask(shuffler.url, "PUT", f"/plans/{huge.id}", huge.to_json(), OPERATOR), 422, "unfit-plan")
        for method, path in (
            ("POST", "decode"),
            ("GET", "table"),
            ("GET", "result"),
            ("GET", "manifest"),
            ("POST", "invitations"),
            ("PUT", "batches/" + "0" * 64),
        ):
            answer = ask(shuffler.url, method, f"/plans/{AMPLIFIED.id}/{path}", headers=OPERATOR)
            problem(answer, 404, "not-found")


def test_releasing_is_the_operators(tmp_path):
    with shuffling(tmp_path, AMPLIFIED) as shuffler:
        shuffler.operator.send(AMPLIFIED, reports_of(AMPLIFIED))
        for method in ("POST", "GET", "DELETE"):
            answer = ask(shuffler.url, method, f"/plans/{AMPLIFIED.id}/release")
            problem(answer, 401, "not-authorized")
        assert shuffler.store.staged_batch(AMPLIFIED.id) is None


def test_a_batch_is_kept_until_it_is_acknowledged_and_given_up_only_if_refused(tmp_path):
    reports = reports_of(AMPLIFIED)
    with collecting(tmp_path) as collector, shuffling(tmp_path, AMPLIFIED, collector.url) as shuffler:
        shuffler.operator.send(AMPLIFIED, reports)
        first = shuffler.operator.release(AMPLIFIED.id)["waiting"]
        eventually(lambda: shuffler.operator.release_state(AMPLIFIED.id)["refusal"])  # it has no such plan
        assert "no plan of this id" in shuffler.operator.release_state(AMPLIFIED.id)["refusal"]
        shuffler.operator.close(AMPLIFIED.id)
        answer = ask(shuffler.url, "DELETE", f"/plans/{AMPLIFIED.id}/reports", headers=OPERATOR)
        problem(answer, 409, "undelivered")
        assert shuffler.operator.status(AMPLIFIED.id)["decoded"] is False  # here nothing ever is
        shuffler.operator.give_up_batch(AMPLIFIED.id)
        assert shuffler.operator.release_state(AMPLIFIED.id) == {
            "waiting": None,
            "bytes": 0,
            "refusal": None,
            "released": 60,
        }
        assert first is not None
        shuffler.operator.delete_reports(AMPLIFIED.id)
        answer = ask(shuffler.url, "POST", f"/plans/{AMPLIFIED.id}/release", headers=OPERATOR)
        problem(answer, 410, "deleted")


def test_a_batch_on_its_way_is_not_given_up(tmp_path):
    with open_store(tmp_path / "shuffler" / "store") as store:
        store.put_plan(AMPLIFIED)
        store.append([(AMPLIFIED.id, reports_of(AMPLIFIED))])
        shuffler = Shuffler(store, token=TOKEN, key=KEY, deliver_to=NOWHERE)
        shuffler.releases.release(AMPLIFIED)
        with pytest.raises(Exception, match="only one that is refused"):
            shuffler.releases.give_up(AMPLIFIED)
        assert store.staged_batch(AMPLIFIED.id) is not None
        assert not shuffler.releases.deliver(AMPLIFIED.id)
        shuffler.releases.give_up(AMPLIFIED)
        assert store.staged_batch(AMPLIFIED.id) is None


def test_nobody_is_told_to_have_arrived_while_the_batch_waits(tmp_path, monkeypatch):
    """A batch that is made while the state is being read."""
    with open_store(tmp_path / "store") as store:
        store.put_plan(AMPLIFIED)
        store.append([(AMPLIFIED.id, reports_of(AMPLIFIED))])
        releases = Shuffler(store, token=TOKEN, key=KEY, deliver_to=NOWHERE).releases
        look = store.staged_batch

        def look_then_release(plan_id):
            found = look(plan_id)
            monkeypatch.undo()
            releases.release(AMPLIFIED)
            return found

        monkeypatch.setattr(store, "staged_batch", look_then_release)
        state = releases.state(AMPLIFIED)
        assert (state["waiting"], state["released"]) == (None, 0)
        state = releases.state(AMPLIFIED)
        assert (state["waiting"] is None, state["released"]) == (False, 60)


# ---------------------------------------------------------------- whom devices trust, and who is let in


def test_reports_go_only_where_a_trusted_key_says_that_it_mixes(tmp_path):
    reports = reports_of(AMPLIFIED)
    trusted = public_key(KEY).hex()

    def sent(url, key=trusted):
        with RemoteCollector(url, attempts=1, shufflers=[key]) as remote:
            return remote.send(AMPLIFIED, reports).taken

    with shuffling(tmp_path / "a", AMPLIFIED) as shuffler, collecting(tmp_path, AMPLIFIED) as collector:
        with pytest.raises(CollectorError, match="does not say its address"):
            sent(shuffler.url)
        shuffler.collector._address = "https://elsewhere.example"
        with pytest.raises(ReportError, match="mixes this plan elsewhere"):
            sent(shuffler.url)
        shuffler.collector._address = shuffler.url
        with pytest.raises(ReportError, match="not the key of a shuffler that is trusted"):
            sent(shuffler.url, public_key(new_key()).hex())
        with pytest.raises(CollectorError):  # the analyst's own service
            sent(collector.url)
        assert shuffler.store.study(AMPLIFIED.id).counts.received == 0
        assert sent(shuffler.url) == sent(shuffler.url, trusted.upper()) == 60


@pytest.mark.parametrize("field", ["address", "issuers", "plan_id", "public_key", "signature"])
def test_a_shufflers_statement_is_signed_whole(field):
    said = json.loads(mixing_statement(KEY, AMPLIFIED.id, NOWHERE))
    trusted = [said["public_key"]]
    check_mixing(json.dumps(said).encode(), trusted, AMPLIFIED.id, NOWHERE)
    changed = {"address": "http://x", "issuers": ["00" * 32], "plan_id": "0" * 64, "public_key": "0" * 64}
    for wrong in (changed.get(field, "0" * 128), "\ud800", None, 1):
        for wanted in ((AMPLIFIED.id, NOWHERE), ("0" * 64, "http://x")):
            with pytest.raises(ReportError, match="nothing was sent"):
                check_mixing(json.dumps({**said, field: wrong}).encode(), trusted, *wanted)


def admissions_of(plan, reports, key):
    return np.frombuffer(
        b"".join(
            asked.admission(sign_admission(key, plan, asked.commitment))
            for asked in (ask_for(plan, row.tobytes()) for row in reports)
        ),
        dtype=np.uint8,
    ).reshape(len(reports), ADMISSION_BYTES)


def test_a_shuffler_with_issuers_lets_in_whom_they_admit_and_nobody_else(tmp_path):
    issuer = new_key()
    reports = reports_of(AMPLIFIED, 8)
    admissions = admissions_of(AMPLIFIED, reports, issuer)
    other = dataclasses.replace(AMPLIFIED, seed=99)
    with shuffling(tmp_path, AMPLIFIED, issuers=(public_key(issuer),)) as shuffler:
        counts = shuffler.collector.store.study

        def outcome(admissions, reports, where="send"):
            done = getattr(shuffler.operator, where)(AMPLIFIED, reports, admissions=admissions)
            return done.taken, done.reasons

        refused = (0, {"token": 4})
        assert outcome(admissions[:4], reports[4:]) == refused  # somebody else's
        assert outcome(admissions_of(AMPLIFIED, reports[:4], new_key()), reports[:4]) == refused
        assert outcome(admissions_of(other, reports[:4], issuer), reports[:4]) == refused
        blinds = admissions[:4].copy()
        blinds[:, -1] ^= 1
        assert outcome(blinds, reports[:4]) == refused
        assert outcome(blinds, reports[:4], "withdraw") == refused
        problem(post(shuffler.url, AMPLIFIED, reports[:4].tobytes()), 400, "malformed-request")
        assert counts(AMPLIFIED.id).counts.received == 0
        assert outcome(admissions, reports) == outcome(admissions, reports) == (8, {})  # sent again
        changed = reports.copy()
        changed[:, -1] ^= 1  # one admission, two answers: one counts
        assert outcome(admissions, changed)[0] == 8
        assert shuffler.store.compact(AMPLIFIED.id).counted == 8
        assert outcome(admissions[:2], reports[:2], "withdraw") == (2, {})
        assert shuffler.store.compact(AMPLIFIED.id).counted == 6


def test_what_an_issuer_signs_does_not_tell_the_id():
    """The same report asked for twice gives two commitments: nobody can try ids."""
    report = reports_of(AMPLIFIED, 1)[0].tobytes()
    assert len({ask_for(AMPLIFIED, report).commitment for _ in range(100)}) == 100
    asked = ask_for(AMPLIFIED, report)
    assert report[:12] not in asked.commitment
    for wrong in (b"", bytes(63), bytes(65)):
        with pytest.raises(ReportError, match="64 bytes"):
            asked.admission(wrong)
        with pytest.raises(ReportError, match="32 bytes"):
            sign_admission(KEY, AMPLIFIED, wrong)


# ---------------------------------------------------------------- what a collector refuses


def put(url, plan, data, *, key=KEY, digest=None, signed=None, kind=MEDIA_TYPE):
    digest = hashlib.sha256(data).hexdigest() if digest is None else digest
    header = batch_authorization(key, *(signed or (plan.id, digest)))
    headers = {"authorization": header, "content-type": kind}
    return ask(url, "PUT", f"/plans/{plan.id}/batches/{digest}", data, headers)


def file_of(plan, rows):
    """A shuffled file of any messages, with good checksums."""
    file = io.BytesIO()
    writer = ReportWriter(file, plan, ShuffledFile)
    writer.append(np.ascontiguousarray(rows))
    writer.finish()
    return file.getvalue()


def test_a_collector_takes_no_report_of_a_shuffle_plan(tmp_path):
    with collecting(tmp_path, AMPLIFIED) as collector:
        body = reports_of(AMPLIFIED).tobytes()
        for where in ("reports", "withdrawals"):
            problem(post(collector.url, AMPLIFIED, body, where), 403, "direct-report")
        assert collector.store.study(AMPLIFIED.id).counts.received == 0


def test_a_collector_without_shufflers_takes_no_shuffle_plan(tmp_path):
    with serving(tmp_path) as running:
        answer = ask(running.url, "PUT", f"/plans/{AMPLIFIED.id}", AMPLIFIED.to_json(), OPERATOR)
        assert "public key" in problem(answer, 422, "unfit-plan")["detail"]
        running.store.put_plan(AMPLIFIED)  # by a server that knew one
        data = batch_bytes(AMPLIFIED, in_order(reports_of(AMPLIFIED)))
        problem(put(running.url, AMPLIFIED, data), 403, "not-a-shuffler")


@EVERY
def test_a_batch_is_put_by_a_known_shuffler_whole_and_once(tmp_path, plan):
    data = batch_bytes(plan, in_order(reports_of(plan, people_of(plan))))
    digest = hashlib.sha256(data).hexdigest()
    with collecting(tmp_path, plan) as collector:
        url, store = collector.url, collector.store
        other = dataclasses.replace(plan, radius=2.0)
        collector.operator.put_plan(other)
        bare = {"content-type": MEDIA_TYPE}
        path = f"/plans/{plan.id}/batches/{digest}"
        for headers in (bare, {**bare, **OPERATOR}, {**bare, "authorization": "Ed25519 " + "0" * 128}):
            problem(ask(url, "PUT", path, data, headers), 403, "not-a-shuffler")
        problem(put(url, plan, data, key=new_key()), 403, "not-a-shuffler")
        problem(put(url, plan, data, signed=(other.id, digest)), 403, "not-a-shuffler")
        problem(put(url, plan, data, signed=(plan.id, "0" * 64)), 403, "not-a-shuffler")
        problem(put(url, plan, data, digest="x", signed=(plan.id, digest)), 403, "not-a-shuffler")
        problem(put(url, plan, data, kind="text/plain"), 415, "wrong-type")
        problem(put(url, plan, data, digest="0" * 64), 400, "malformed-batch")
        problem(put(url, other, data), 400, "malformed-batch")
        assert store.study(plan.id).counts.batches == 0
        assert [put(url, plan, data)[0] for _ in range(3)] == [201, 200, 200]
        assert store.study(plan.id).counts.batches == 1
        collector.operator.close(plan.id)
        assert put(url, plan, data)[0] == 200  # it is here: a lost answer is made good
        more = batch_bytes(plan, in_order(reports_of(plan, people_of(plan))))
        problem(put(url, plan, more), 409, "closed")


@EVERY
def test_a_batch_that_is_none_is_refused(tmp_path, plan):
    reports = in_order(reports_of(plan, people_of(plan)))
    data = batch_bytes(plan, reports)
    messages = ShuffledFile.rows_of(data, plan, "batch")
    foreign = np.concatenate([messages[:-1], np.full((1, plan.message_width), 255, dtype=np.uint8)])
    few = np.concatenate([*mixed(plan, [reports])]) if plan is AMPLIFIED else messages
    with collecting(tmp_path, plan) as collector:
        for wrong in (
            b"",
            data[:-1],
            data[:70] + bytes([data[70] ^ 1]) + data[71:],
            reports.tobytes(),
            file_of(plan, messages[::-1]),
            file_of(plan, np.concatenate([messages[1:], messages[:1]])),
            *([] if plan is AMPLIFIED else [file_of(plan, foreign), file_of(plan, messages[1:])]),
        ):
            problem(put(collector.url, plan, wrong), 400, "malformed-batch")
        for wrong in (messages[:0], few[:53] if plan is AMPLIFIED else messages[:0]):
            problem(put(collector.url, plan, file_of(plan, wrong)), 409, "too-few")
        assert collector.store.study(plan.id).counts.batches == 0


def test_people_of_two_batches_count_once_and_hide_nobody(tmp_path):
    people = in_order(reports_of(AMPLIFIED, 200))
    everybody, one_more, others = people[:100], people[:101], people[60:180]
    with collecting(tmp_path, AMPLIFIED) as collector:
        url = collector.url

        def counted():
            return collector.collector.study(AMPLIFIED.id).counts.counted

        assert put(url, AMPLIFIED, batch_bytes(AMPLIFIED, everybody))[0] == 201
        assert counted() == 100
        # Two batches that differ in one person would show what that one sent.
        problem(put(url, AMPLIFIED, batch_bytes(AMPLIFIED, one_more)), 409, "too-few")
        problem(put(url, AMPLIFIED, batch_bytes(AMPLIFIED, people[47:147])), 409, "too-few")  # 47 new, of 54
        assert put(url, AMPLIFIED, batch_bytes(AMPLIFIED, others))[0] == 201  # 80 are new
        assert put(url, AMPLIFIED, batch_bytes(AMPLIFIED, everybody))[0] == 200
        assert counted() == 180
        collector.operator.close(AMPLIFIED.id)
        assert sum(len(rows) for rows in collector.store.messages(AMPLIFIED.id)) == 180


def test_a_batch_with_an_id_twice_is_refused(tmp_path):
    messages = in_order(reports_of(AMPLIFIED, 60))
    twice = messages[[0, *range(60)]].copy()
    twice[0, -1], twice[1, -1] = 1, 2  # the same id, other contents
    with collecting(tmp_path, AMPLIFIED) as collector:
        for wrong in (twice, messages[[0, *range(60)]]):
            problem(put(collector.url, AMPLIFIED, file_of(AMPLIFIED, wrong)), 400, "malformed-batch")


def test_a_batch_with_too_few_people_is_refused_even_if_signed(tmp_path):
    shares = np.concatenate([*mixed(SHARES, [in_order(reports_of(SHARES))[:53]])])
    columns = ShuffledFile.rows_of(batch_bytes(COLUMN, in_order(reports_of(COLUMN, 800))), COLUMN, "batch")
    addresses, _ = COLUMN.parameters.sums().read(columns)
    row = addresses // COLUMN.parameters.coordinates
    with collecting(tmp_path, SHARES) as collector:
        problem(put(collector.url, SHARES, file_of(SHARES, shares)), 409, "too-few")
        collector.operator.put_plan(COLUMN)
        problem(put(collector.url, COLUMN, file_of(COLUMN, columns[row != 0])), 409, "too-few")  # 0 in a row


def test_a_plan_of_the_local_model_has_no_batches(tmp_path):
    plan = small_plan()
    with collecting(tmp_path, plan) as collector:
        problem(put(collector.url, plan, file_of(plan, local_reports(plan, 60))), 422, "unfit-plan")
        assert failures(post(collector.url, plan, local_reports(plan, 3).tobytes())) == []


# ---------------------------------------------------------------- the commands


def test_the_commands_run_a_shuffler_and_release(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_OPERATOR_TOKEN", TOKEN)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (tmp_path / "shuffler").mkdir()
    (tmp_path / "shuffler" / "signing-key").write_text(KEY.hex())
    url, reports = f"http://127.0.0.1:{port}", reports_of(AMPLIFIED)
    with collecting(tmp_path, AMPLIFIED) as collector:
        command = [
            sys.executable,
            "-c",
            "from coterie.cli import main; main()",
            "serve",
            "--role",
            "shuffler",
        ]
        command += ["--data", str(tmp_path / "shuffler"), "--port", str(port), "--deliver-to", collector.url]
        with (
            subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
            RemoteCollector(url, token=TOKEN, attempts=200, sleep=lambda pause: time.sleep(0.1)) as operator,
        ):
            try:
                operator.put_plan(AMPLIFIED)
                operator.send(AMPLIFIED, reports[:53])
                run = CliRunner().invoke
                refused = run(app, ["release", AMPLIFIED.id, "--url", url])
                assert (refused.exit_code, "the plan's minimum is 54" in refused.stderr) == (1, True)
                operator.send(AMPLIFIED, reports[53:])
                for _ in range(2):  # twice is once
                    done = run(app, ["release", AMPLIFIED.id, "--url", url, "--json"])
                    assert done.exit_code == 0, done.stderr
                    assert json.loads(done.stdout)["released"] == 60
                assert collector.operator.status(AMPLIFIED.id)["reports"] == 60
            finally:
                process.terminate()
                told = process.stderr.read()
        assert public_key(KEY).hex() in told
        assert KEY.hex() not in told


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"role": "mixer"}, "there is no role 'mixer'; known: collector, shuffler"),
        ({"role": "shuffler"}, "needs --deliver-to"),
        ({"deliver_to": NOWHERE}, "only a shuffler"),
        ({"role": "shuffler", "deliver_to": NOWHERE, "shufflers": "00" * 32}, "for a collector"),
        ({"address": NOWHERE}, "for a shuffler"),
        ({"issuers": "00" * 32}, "for a shuffler"),
        ({"role": "shuffler", "deliver_to": NOWHERE, "issuers": "zz"}, "64 hex digits"),
        ({"shufflers": "00" * 31}, "64 hex digits"),
        ({"shufflers": "zz"}, "64 hex digits"),
    ],
)
def test_settings_that_do_not_fit_a_role(tmp_path, chosen, words):
    with pytest.raises(SettingError, match=words):
        Settings(data=tmp_path, **chosen)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.binary(max_size=300), st.integers(0, 200), st.text(max_size=40), st.text(max_size=70))
def test_any_bytes_and_headers_are_refused_in_words(data, place, header, digest):
    whole = BATCH[:place] + data + BATCH[place + len(data) :]
    if whole != BATCH:
        with pytest.raises(Problem):
            checked_people(AMPLIFIED, hashlib.sha256(whole).hexdigest(), whole)
    assert not is_put_by([public_key(KEY)], header, AMPLIFIED.id, digest)


BATCH = batch_bytes(AMPLIFIED, in_order(reports_of(AMPLIFIED)))
