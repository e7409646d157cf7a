"""The audit passes for the package's own clients and fails for broken ones, by its own word."""

import dataclasses
import html
import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie import Client
from coterie.audit import audit, canaries
from coterie.audit.amplification import shuffled_response_delta
from coterie.audit.bounds import CHECKS_PER_AUDIT
from coterie.audit.canaries import FRESH, NAMED, UNSEEN, check_canary, every_canary
from coterie.audit.command import CommandClient
from coterie.audit.empirical import check_client
from coterie.audit.laws import check_laws, largest_ratio, law_of
from coterie.audit.samples import reports_of
from coterie.cli.app import app
from coterie.errors import SettingError
from coterie.privacy.amplification import amplified_delta
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.show.pages import render
from coterie.wire.tokens import token_id
from tests.plans import plans_of

SHUFFLED = {"model": "shuffle", "delta": 1e-6}
SUMS = {"protocol": "vector-sums", "delta": 1e-6, "cells": 4}
PLANS = plans_of(
    {
        "codeword": (3, 2, 2.0, 1000, {}),
        "token": (3, 2, 2.0, 1000, {"ids": "token"}),
        "net-tree": (3, 2, 2.0, 1000, {"protocol": "net-tree", "levels": 3}),
        "lsh-tree": (3, 2, 2.0, 1000, {"protocol": "lsh-tree", "split": "budget"}),
        "privunit": (3, 2, 2.0, 1000, {"protocol": "lsh-tree", "randomizer": "privunit"}),
        "amplified": (3, 2, 1.0, 1000, {**SHUFFLED, "center": [1, 2, 3], "radius": 2.0}),
        "shares": (3, 2, 1.0, 200, {**SUMS, **SHUFFLED}),
        "column": (3, 2, 1.0, 2000, {**SUMS, **SHUFFLED, "layout": "column"}),
        "central": (3, 2, 1.0, 200, {**SUMS, "model": "central"}),
    }
)
SLOW = {name for name, reports in canaries._NEEDED.items() if reports >= canaries.SOME}


@pytest.fixture
def few(monkeypatch):
    """Look at fewer reports than a quick audit does: enough for what passes; what must be caught has more."""
    monkeypatch.setattr("coterie.audit.run._QUICK_REPORTS", 8000)
    monkeypatch.setattr("coterie.audit.replay.TURNS", 4)
    monkeypatch.setattr("coterie.audit.replay.ROUNDS", 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_every_protocol_passes_a_quick_audit(name, few):
    found = audit(PLANS[name], quick=True, with_canaries=False)
    assert found.passed, found.failures
    assert len(found.checks) <= CHECKS_PER_AUDIT
    parts = {check.part for check in found.checks}
    assert parts == ({"exact", "environment"} if name == "central" else {"exact", "empirical", "environment"})
    page = render("audit.html", found=found)
    assert 'Audit: <span class="yes">passed</span>' in page
    assert page.count("<h2>") == len(parts) + 2
    assert all(check.name in html.unescape(page) for check in found.checks)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PLANS)
def test_every_protocol_passes_the_whole_audit(name):
    found = audit(PLANS[name], with_canaries=False)
    assert found.passed, found.failures
    assert found.seconds < 600
    power = next((check.figures for check in found.checks if check.name == "power"), {})
    if name in ("codeword", "token", "amplified"):
        assert power["epsilon_excess"] < 0.02
        assert power["bad_share"] < 1 / 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in every_canary() if name not in SLOW])
def test_every_canary_is_caught(name):
    caught = check_canary(name)
    assert caught.passed, caught
    assert "caught: " in caught.found
    assert "somebody got none" not in caught.found


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(SLOW))
def test_every_slow_canary_is_caught(name):
    caught = check_canary(name)
    assert caught.passed
    assert "somebody got none" not in caught.found


@pytest.mark.slow
def test_a_canary_that_no_audit_can_see_is_named_as_such():
    assert len(FRESH) == len(NAMED) == 7
    assert set(UNSEEN) < set(FRESH)
    assert len(UNSEEN) <= 2
    for name in UNSEEN:
        assert all(check.passed for check in check_client(canaries._usual(), FRESH[name](), reports=40_000))
    assert any("one secret point" in limit for limit in audit(PLANS["central"], with_canaries=False).limits)


@pytest.mark.parametrize("name", [*NAMED, *FRESH])
def test_a_canary_sends_what_looks_like_reports(name):
    client = {**NAMED, **FRESH}[name]()
    records = name == "no coins where a value is missing"
    people = [{"age": 3}, {"member": True}] * 2 if records else np.zeros((4, 3))
    sent = client(people)
    assert sent.shape == (4, 13)
    assert len(np.unique(sent[:, :12], axis=0)) == 4


def test_the_law_is_proved_in_rationals_and_fails_by_one_unit():
    plan = PLANS["codeword"]
    encode = CodewordEncoder(plan, kernels="numpy").encode
    assert check_laws(plan, encode, 2.0, ids=1).passed
    spent = plan.guarantee.spent
    assert check_laws(plan, encode, spent, ids=1).passed
    assert not check_laws(plan, encode, float(np.nextafter(spent, 0)), ids=1).passed


def test_a_report_that_only_one_point_can_send_is_seen():
    plan = PLANS["codeword"]
    law = law_of(plan, CodewordEncoder(plan).encode, np.zeros(3), bytes(12))
    (weights,) = law
    assert sum(weights.values()) == plan.parameters.randomizer.total
    other = [{value + 1: weight for value, weight in weights.items()}]
    assert largest_ratio(law, other) == np.inf


def test_shuffled_responses_stay_below_the_bound_for_all_randomizers():
    for people, local in ((100, 1.0), (1000, 3.0), (20_000, 5.0)):
        for epsilon in (0.2, 0.5, 1.0):
            exact = shuffled_response_delta(epsilon, local, people)
            assert exact <= amplified_delta(epsilon, local, people) + 1e-15


def test_a_client_that_refuses_somebody_fails():
    calls = []

    def careful(points):
        calls.append(len(points))
        if len(calls) > 1 and np.abs(points).max() > 1e100:  # one that refuses at once is no client
            raise ValueError("too far")
        return canaries.sender(PLANS["codeword"])(points)

    (form,) = check_client(PLANS["codeword"], careful, reports=5000)
    assert not form.passed
    assert "too far" in form.found


@pytest.mark.parametrize("skip", [0, 16])
def test_reports_come_one_by_one_or_back_to_back_with_their_tokens_or_without(skip):
    plan, token = PLANS["token"], bytes(range(16))
    expected = [token_id(plan, token) + bytes([number]) for number in range(3)]
    uploads = [token[:skip] + each for each in expected]
    assert reports_of(uploads, plan) == reports_of(b"".join(uploads), plan) == expected


def test_ids_that_do_not_follow_from_their_tokens_are_no_reports():
    plan = PLANS["token"]

    def send(points):
        return [bytes(16) + row.tobytes() for row in canaries.sender(plan)(points)]

    (form,) = check_client(plan, send, reports=5000)
    assert not form.passed
    assert "does not follow from its token" in form.found


CLIENT = """
import json, sys

points = [json.loads(line) for line in sys.stdin]
rows = bytes(13 * len(points))
if "--honest" in sys.argv:
    import numpy as np
    from coterie.encode import Client
    from coterie.plan import Plan
    rows = Client(Plan.load(sys.argv[-1])).encode_many(np.array(points))
for start in range(0, len(rows), 13):
    print(rows[start : start + 13].hex())
"""


@pytest.mark.slow
def test_a_client_in_python_is_a_function(few):
    client = Client(PLANS["codeword"])
    honest = audit(PLANS["codeword"], client.encode_many, quick=True, with_canaries=False)
    assert honest.passed, honest.failures
    assert {check.part for check in honest.checks} == {"empirical"}
    assert honest.client == "Client.encode_many"
    broken = audit(
        PLANS["codeword"], lambda points: [bytes(13)] * len(points), quick=True, with_canaries=False
    )
    assert {"law of places", "ids", "replay"} <= {check.name for check in broken.failures}


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PLANS["codeword"].save("plan.json")
    (tmp_path / "client.py").write_text(CLIENT)
    return tmp_path


def run(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["audit", "--plan", "plan.json", *arguments])


@pytest.mark.slow
def test_a_client_in_another_language_is_audited_by_its_bytes(study, monkeypatch):
    monkeypatch.setattr("coterie.audit.run._QUICK_REPORTS", 2000)
    monkeypatch.setenv("COTERIE_KERNELS", "numpy")  # nothing to compile each time the command is started
    command = f"{sys.executable} client.py"
    done = run("--quick", "--no-canaries", "--json", "--client", f"{command} --honest", "--page", "page.html")
    assert done.exit_code == 0, done.stdout
    found = json.loads(done.stdout)
    assert found["verdict"] == "passed"
    assert {check["part"] for check in found["checks"]} == {"empirical"}
    assert found["cannot_show"]
    assert "client.py --honest" in (study / "page.html").read_text()
    broken = run("--quick", "--no-canaries", "--client", command)
    assert broken.exit_code == 1
    assert "FAILED empirical: ids" in broken.stdout


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "must name a program"),
        ("/no/such/program", "could not be run"),
        (f"{sys.executable} -c 'import sys; sys.exit(3)'", "ended with code 3"),
        (f"{sys.executable} -c 'print(12)'", "1 reports for 2 people"),
        (f'{sys.executable} -c \'print("xy", "zz")\'', "in hex"),
    ],
)
def test_a_command_that_is_no_client_is_said(command, message):
    with pytest.raises(SettingError, match=message):
        CommandClient(command, PLANS["codeword"])(np.zeros((2, 3)))


@pytest.mark.slow
def test_the_verdict_is_the_exit_code(study, monkeypatch):
    monkeypatch.setattr("coterie.audit.answers.AnswerReading.exact", lambda plan: [])
    monkeypatch.setattr("coterie.audit.run._QUICK_REPORTS", 5000)
    assert run("--quick", "--no-canaries").exit_code == 0
    broken = dataclasses.replace(
        PLANS["codeword"], parameters=dataclasses.replace(PLANS["codeword"].parameters)
    )
    object.__setattr__(broken.parameters, "cap", 200)
    monkeypatch.setattr("coterie.audit.run._bulk", lambda plan: canaries.sender(broken))
    done = run("--quick", "--no-canaries")
    assert done.exit_code == 1
    assert "FAILED in" in done.stdout
