import math
import re

import pytest

from coterie.encode import Client
from coterie.plan import Plan
from coterie.privacy import Policy

POINT = [0.1, 0.2]


@pytest.fixture
def ledger(terminal, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 20000.5 * 86400)
    path = terminal.folder / "answers"
    for epsilon in (1.0, 0.1):
        Client(Plan.design(2, 2, epsilon, 100), path).encode(POINT)
    monkeypatch.setattr("time.time", lambda: 20010.5 * 86400)
    mixed = Plan.design(2, 2, 1.0, 2000, model="shuffle", delta=1e-6)
    Client(mixed, path, policy=Policy(max_local_epsilon=math.inf, shufflers=["5e1f" * 16])).encode(POINT)
    return path


def test_the_owner_sees_what_was_spent(terminal, ledger):
    words = terminal.run("ledger", ledger).stdout
    assert "3 plans answered in all: epsilon 2.10001, delta 0.00000100000, local epsilon" in words
    assert re.search(r"that is epsilon [4-9]\.\d+ in all, not epsilon 2\.10001: what they promise by", words)
    assert "2024-10-04" in words
    recent = terminal.json("ledger", ledger, "--days", 5)
    assert len(recent["answers"]) == 1
    assert recent["total"]["epsilon"] == "1"
    everything = terminal.json("ledger", ledger)
    assert everything["answers"][1]["epsilon"] == "3602879701896397/36028797018963968"  # the double 0.1


def test_what_is_no_ledger_is_said(terminal, ledger):
    assert "No such file" in terminal.fails("ledger", "nowhere")
    assert not (terminal.folder / "nowhere").exists()
    ledger.write_bytes(ledger.read_bytes()[:-1])
    assert "damaged" in terminal.fails("ledger", ledger)
