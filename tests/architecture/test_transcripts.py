"""Every transcript of docs/cli.md is what the command prints, and the page names every command.

The commands of the page run in order, sections that follow on each other in one folder. Secret coins are
seeded here, or no two transcripts would be alike; everything else is the real command. A line "…" stands for
any lines, "↩" at an end says that the line goes on in the next, and what a clock said is not compared.
Figures in tables come out of fits, whose last digits are a machine's own: they have to agree to 5 % or 0.02.
"""

import json
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie import Aggregate, Client, Plan, decode, write_reports
from coterie.centers import population, repeats
from coterie.cli import screen
from coterie.cli.app import app
from coterie.coins import SimulationCoins, SystemCoins
from coterie.datasets import gaussian_mixture
from coterie.encode import client
from coterie.service.decoder import result_document
from coterie.service.manifest import decoding_seed, make_manifest
from tests.service.conftest import KEY, TOKEN, serving

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
NUMBERS = {
    12: "twelve",
    13: "thirteen",
    14: "fourteen",
    15: "fifteen",
    16: "sixteen",
    17: "seventeen",
    18: "eighteen",
    19: "nineteen",
    20: "twenty",
    21: "twenty-one",
    22: "twenty-two",
    23: "twenty-three",
}
SERVED = "http://127.0.0.1:8787"  # a collector, on the page
ATOMS, REPEATS = population.ATOMS, repeats.REPEATS  # as they are; the tests' own are smaller
ANSWERED = datetime(2024, 10, 4, 12, tzinfo=UTC)
STUDY = ("plan", "power", "encode", "aggregate", "decode", "inspect", "store")  # in one folder
ALONE = ("ledger", "shuffle", "simulate", "demo", "audit")
SERVICE = ("serve", "send", "withdraw", "invite", "verify")  # with a collector
BOXES = ("│", "┃", "┏", "┡", "└", "The groups explain")
ROWS = ("│", "The groups explain")


def sections():
    """Return the page's commands with what they print: {command of the heading: [(line, lines), …]}."""
    found = {}
    page = re.sub(r" (?:↩|\\)\n +", " ", PAGE.read_text(encoding="utf-8"))
    for part in re.split(r"^## (?=`coterie )", page, flags=re.MULTILINE)[1:]:
        names = re.findall(r"`coterie (\w+)`", part.partition("\n")[0])
        transcript = [
            (lines[0], lines[1:])
            for block in re.findall(r"^```console\n(.*?)^```", part, flags=re.MULTILINE | re.DOTALL)
            for lines in (each.splitlines() for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
        ]
        found.update(dict.fromkeys(names, transcript))
    return found


def without_figures(line):
    return re.sub(r"\d[\d,.]*(e-\d+)?", "#", line)


def settled(line):
    """Return a line without what a clock or the last digit of a fit decides."""
    if line.startswith("seconds "):
        return without_figures(line)
    if line.startswith(BOXES):
        return re.sub(r" +", " ", re.sub(r"[━─]+", "━", re.sub(r"-?#", "#", without_figures(line))))
    return re.sub(r"\d+(\.\d+)? s\b", "# s", line).rstrip()


def figures(lines):
    """Return all figures in rows of tables, and of what groups explain."""
    rows = [line for line in lines if line.startswith(ROWS)]
    return [float(each) for row in rows for each in re.findall(r"-?\d+\.?\d*", row.replace(",", " "))]


def agrees(shown, printed):
    """Tell whether lines are those shown, where "…" stands for any number of lines."""
    shown, printed = list(shown), list(printed)
    lines = [r"(?:.*\n)*?" if line == "…" else re.escape(settled(line)) + r"\n" for line in shown]
    if not re.fullmatch("".join(lines), "".join(settled(line) + "\n" for line in printed)):
        return False
    return "…" in shown or figures(printed) == pytest.approx(figures(shown), rel=0.05, abs=0.02)


@pytest.fixture
def terminal(tmp_path, monkeypatch):
    """Run a command line in a folder of its own and return the lines that it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(population, "ATOMS", ATOMS)
    monkeypatch.setattr(repeats, "REPEATS", REPEATS)
    monkeypatch.setattr(client, "SystemCoins", lambda: SimulationCoins(7))
    for console in (screen.out, screen.err):  # they take their width from where they were first loaded
        monkeypatch.setattr(console, "_width", 120)
    runner = CliRunner(env={"COLUMNS": "120", "TERM": "dumb"})

    def run(line):
        program, *arguments = shlex.split(line)
        assert program == "coterie"
        done = runner.invoke(app, arguments)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.output.splitlines()

    return run


def follow(terminal, name):
    """Run a section's commands and compare."""
    transcript = sections()[name]
    assert transcript
    for line, shown in transcript:
        printed = terminal(line)
        assert agrees(shown, printed), "\n".join(["$ " + line, *printed])


def points(people, clusters):
    np.save("points.npy", gaussian_mixture(people, 20, clusters, separation=8, random_state=1)[0])


def test_the_page_has_every_command_and_each_transcript_is_run():
    commands = [command.name for command in app.registered_commands]
    assert sorted(sections()) == sorted(commands)
    assert {name for name, transcript in sections().items() if transcript} == {*STUDY, *ALONE, *SERVICE}
    assert f"`coterie` has {NUMBERS[len(commands)]} commands." in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_study_from_plan_to_centers(terminal):
    points(50_000, 4)
    for name in STUDY:
        if name == "inspect":
            Path("cut.coterie").write_bytes(Path("reports.coterie").read_bytes()[:-20])
        follow(terminal, name)


def test_a_ledger(terminal, monkeypatch):
    plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=1000)
    with monkeypatch.context() as then:
        then.setattr("coterie.encode.ledger.time.time", ANSWERED.timestamp)
        Client(plan, ledger="answers").encode([0.1, 0.2])
    follow(terminal, "ledger")


@pytest.mark.slow
def test_a_shuffled_study(terminal):
    points(20_000, 3)
    follow(terminal, "shuffle")


@pytest.mark.slow
def test_a_hundred_million_people(terminal):
    points(50_000, 4)
    follow(terminal, "simulate")


@pytest.mark.nightly
def test_the_demo(terminal):
    follow(terminal, "demo")


@pytest.mark.nightly
def test_an_audit(terminal, monkeypatch):
    monkeypatch.setattr(client, "SystemCoins", SystemCoins)  # what it measures: its figures vary
    terminal("coterie plan --dimension 20 --clusters 4 --epsilon 1 --users 50000 --out plan.json")
    ((line, shown),) = sections()["audit"]
    printed = terminal(line)
    assert agrees(map(without_figures, shown), map(without_figures, printed)), "\n".join(printed)


@pytest.mark.slow
def test_a_collector(terminal, tmp_path, monkeypatch):
    facts = {"dimension": 20, "clusters": 4, "epsilon": 1.0, "expected_users": 50_000}
    plan, invited = Plan.design(**facts), Plan.design(**facts, ids="token")
    people = gaussian_mixture(2000, 20, 4, separation=8, random_state=1)[0]
    write_reports("reports.coterie", plan, Client(plan).encode_many(people))
    monkeypatch.setenv("COTERIE_OPERATOR_TOKEN", TOKEN)
    with serving(tmp_path / "data") as running:
        for each in (plan, invited):
            running.store.put_plan(each)

        def told(line):
            return [each.replace(running.url, SERVED) for each in terminal(line.replace(SERVED, running.url))]

        for name in SERVICE[:-1]:
            follow(told, name)
        kept = list(running.store.reports(plan.id))
    tables = {"table": Aggregate(plan), "other": Aggregate(plan)}
    for chunk in kept:
        tables["table"].add(chunk)
    for name, table in tables.items():
        table.save(name)
    data = tables["table"].to_bytes()
    result = result_document(decode(tables["table"], random_state=decoding_seed(plan)))
    Path("result").write_bytes(result)
    Path("manifest").write_bytes(make_manifest(plan, data, result, {"counted": 2000}, 0, KEY))
    doctored = json.loads(result)
    doctored["notes"] = []
    wrong = json.dumps(doctored).encode()
    Path("doctored").write_bytes(make_manifest(plan, data, wrong, {"counted": 2000}, 0, KEY))
    follow(terminal, SERVICE[-1])


def test_the_comparison_sees_what_differs():
    assert agrees(["a 3.1 s", "…", "c"], ["a 4.5 s", "b", "b", "c"])
    assert not agrees(["a", "c"], ["a", "b", "c"])
    assert not agrees(["added 5 reports"], ["added 6 reports"])
    assert not agrees(["a", "…"], ["b"])
    assert agrees(["│ 0 │ 24.9% │ (0.101, …) │"], ["│ 0 │ 25.1%  │ (0.11, …)  │"])
    assert not agrees(["│ 0 │ 24.9% │ (0.101, …) │"], ["│ 0 │ 24.9% │ (0.201, …) │"])
    assert not agrees(["│ 0 │ a │"], ["│ 0 │ b │"])
    assert agrees(["The groups explain 96% (87 to 100) of"], ["The groups explain 95% (86 to 100) of"])
    assert not agrees(["The groups explain 96% (87 to 100) of"], ["The groups explain 86% (77 to 95) of"])
