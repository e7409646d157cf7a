"""Invitations: one token is one report, and only marks of tokens are kept."""

import numpy as np
import pytest

from coterie.encode import Client
from coterie.remote import CollectorError, Receipt, RemoteCollector
from coterie.wire.tokens import token_id
from tests.service.conftest import OPERATOR, TOKEN, ask, failures, post, problem, serving, small_plan

PLAN = small_plan(ids="token")


@pytest.fixture
def operator(tmp_path):
    with serving(tmp_path) as running, RemoteCollector(running.url, token=TOKEN) as collector:
        collector.put_plan(PLAN)
        collector.store, collector.folder = running.store, tmp_path
        yield collector


def upload(token, point=(0.1, 0.2, 0.3)):
    """What a client sends: its token, then the report with the token's id."""
    return Client(PLAN).encode(list(point), token=token)


def test_one_invitation_is_one_report(operator):
    tokens = operator.invite(PLAN.id, 3)
    assert len(set(tokens)) == 3
    assert {len(token) for token in tokens} == {16}
    uploads = [upload(token) for token in tokens]
    assert operator.send(PLAN, uploads).taken == 3
    again = [upload(token, (-0.5, 0, 0)) for token in tokens]  # the same ids, other answers
    assert operator.send(PLAN, again).taken == 3
    kept = np.concatenate(list(operator.store.reports(PLAN.id)))
    assert len(kept) == 3
    wanted = sorted(min(a, b)[16:] for a, b in zip(uploads, again, strict=True))
    assert sorted(row.tobytes() for row in kept) == wanted


def test_reports_without_an_invitation(operator):
    token, other = operator.invite(PLAN.id, 2)
    good = upload(token)
    stranger = upload(bytes(16))
    swapped = other + good[16:]  # an id that is another token's
    ground = token + bytes(12) + good[28:]  # an id that was chosen
    found = failures(post(operator.url, PLAN, stranger + good + swapped + ground))
    assert found == [
        (token_id(PLAN, bytes(16)).hex(), "token"),
        (token_id(PLAN, token).hex(), "token"),
        ("00" * 12, "token"),
    ]
    assert operator.store.compact(PLAN.id).counted == 1


def test_the_tokens_are_not_kept(operator):
    tokens = operator.invite(PLAN.id, 5)
    operator.send(PLAN, [upload(token) for token in tokens])
    operator.store.compact(PLAN.id)
    kept = b"".join(path.read_bytes() for path in operator.folder.rglob("*") if path.is_file())
    for token in tokens:
        assert token not in kept
        assert token.hex().encode() not in kept


def test_withdrawing_with_a_receipt(operator):
    token, other = operator.invite(PLAN.id, 2)
    operator.send(PLAN, upload(token))
    receipt = Receipt.of(PLAN, upload(token))
    assert receipt.upload.startswith(token)
    assert operator.withdraw_by([Receipt.read(str(receipt))]).taken == 1
    assert operator.withdraw(PLAN, upload(bytes(16))).reasons == {"token": 1}
    assert operator.send(PLAN, upload(token)).taken == 1
    assert operator.send(PLAN, upload(other)).taken == 1
    assert operator.store.compact(PLAN.id).counted == 1


def test_invitations_that_are_refused(operator):
    path = f"/plans/{PLAN.id}/invitations"
    for body in (
        b"",
        b"[]",
        b"{}",
        b'{"count":0}',
        b'{"count":100001}',
        b'{"count":"3"}',
        b'{"count":1,"x":2}',
    ):
        problem(ask(operator.url, "POST", path, body, OPERATOR), 400, "malformed-request")
    plain = small_plan()
    operator.put_plan(plain)
    with pytest.raises(CollectorError, match="takes no invitations"):
        operator.invite(plain.id, 1)


def test_receipts_that_are_none():
    for text in ("", "coterie-receipt-1..", "coterie-receipt-1." + "0" * 64 + ".00", "x" * 100):
        with pytest.raises(ValueError, match="this is no receipt"):
            Receipt.read(text)
    with pytest.raises(ValueError, match="has 29 bytes"):
        Receipt.of(PLAN, bytes(13))
