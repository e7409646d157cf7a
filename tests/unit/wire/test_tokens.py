import hashlib

import pytest

from coterie.encode import Client
from coterie.errors import ReportError
from coterie.plan import Plan
from coterie.wire.tokens import token_id, token_mark

PLAN = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100, ids="token")
TOKEN = bytes(range(16))


def test_id_and_mark_follow_from_plan_and_token():
    assert (
        token_id(PLAN, TOKEN) == hashlib.sha256(b"coterie/1/token-id" + PLAN.id_bytes + TOKEN).digest()[:12]
    )
    assert (
        token_mark(PLAN, TOKEN) == hashlib.sha256(b"coterie/1/token-spent" + PLAN.id_bytes + TOKEN).digest()
    )


def test_a_client_sends_token_and_report_and_its_ledger_keeps_both(tmp_path):
    client = Client(PLAN, tmp_path / "ledger")
    sent = client.encode([0.1, 0.2], token=TOKEN)
    assert len(sent) == PLAN.upload_width == 29
    assert sent[:28] == TOKEN + token_id(PLAN, TOKEN)
    assert client.encode([0.3, 0.2], token=bytes(16)) == client.encode([0.3, 0.2]) == sent


@pytest.mark.parametrize("token", [None, b"", bytes(15), bytes(17), "0" * 16])
def test_a_token_plan_needs_its_token(token, tmp_path):
    with pytest.raises(ReportError, match="token"):
        Client(PLAN, tmp_path / "ledger").encode([0.1, 0.2], token=token)
    assert not (tmp_path / "ledger").exists()


def test_a_random_plan_takes_no_token():
    plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    assert plan.upload_width == plan.report_width == 13
    with pytest.raises(ReportError, match="takes no token"):
        Client(plan).encode([0.1, 0.2], token=TOKEN)


def test_the_guarantee_says_who_can_tell_whose_report_it_is():
    assert "whoever issued it can tell whose report it is" in str(PLAN.guarantee)
    assert "fresh 12-byte id" not in str(PLAN.guarantee)
