"""`coterie plan` with --opens, --closes, --minimum, --retention and --time-precision."""

import json

from coterie.plan import Plan
from coterie.plan.collection import Collection

FACTS = ["plan", "--dimension", "3", "--clusters", "2", "--epsilon", "1", "--users", "1000", "--out"]


def test_the_command_writes_how_the_plan_is_collected(terminal, tmp_path):
    how = ["--opens", "2027-01-01", "--closes", "2027-02-01T00:00Z", "--minimum", "500", "--retention", "90d"]
    done = terminal.run(*FACTS, tmp_path / "plan.json", *how, "--time-precision", "1d", "--json")
    collection = Collection(
        opens=1798761600, closes=1801440000, minimum=500, retention=7_776_000, time_precision=86_400
    )
    assert Plan.load(tmp_path / "plan.json").collection == collection
    assert json.loads(done.stdout)["collection"] == collection.to_dict()
    shown = terminal.run("inspect", tmp_path / "plan.json")
    assert "from 2027-01-01T00:00Z until 2027-02-01T00:00Z" in shown.stdout.replace("\n", " ")


def test_nothing_said_is_nothing_in_the_plan(terminal, tmp_path):
    terminal.run(*FACTS, tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json").collection is None


def test_a_wrong_time_is_one_line(terminal, tmp_path):
    done = terminal.run(*FACTS, tmp_path / "plan.json", "--opens", "soon", code=1)
    assert "a time is written like 2027-01-31" in done.stderr
    done = terminal.run(*FACTS, tmp_path / "plan.json", "--option", "minimum=3", code=1)
    assert "given as --opens" in done.stderr
