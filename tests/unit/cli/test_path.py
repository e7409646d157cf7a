"""The whole path by commands: plan, encode, aggregate, decode, inspect."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from coterie import Aggregate, Client, Plan, Population, __version__, decode
from coterie.wire.report_file import ReportFile, writing_reports


@pytest.mark.slow
def test_from_points_to_centers(study):
    encoded = study.json("encode", "--plan", "plan.json", "points.npy", "--out", "r.coterie")
    assert (encoded["reports"], encoded["report_bytes"], encoded["clipped_not_private"]) == (5000, 13, 0)
    added = study.json("aggregate", "--plan", "plan.json", "r.coterie", "--out", "table")
    assert (added["count"], added["duplicates"], added["conflicting"]) == (5000, 0, 0)
    found = study.json("decode", "--plan", "plan.json", "table", "--out", "centers.json", "--random-state", 0)
    plan = Plan.load("plan.json")
    expected = decode(Aggregate.load("table", plan), random_state=0)
    assert found["centers"] == expected.centers.tolist()
    assert json.loads((study.folder / "centers.json").read_text()) == found
    assert found["plan_id"] == added["plan_id"] == encoded["plan_id"] == plan.id


@pytest.mark.slow
def test_words_for_people(study):
    shown = study.run("encode", "--plan", "plan.json", "points.npy", "--out", "r.coterie").stderr
    assert "wrote 5,000 reports of 13 bytes" in shown
    assert "Without a ledger epsilon 4 holds for each call" in shown
    assert "not private: keep it on this side" in shown
    shown = study.run("aggregate", "--plan", "plan.json", "r.coterie", "r.coterie", "--out", "table").stderr
    assert "added 5,000 reports from 2 files; 5,000 repeats left out" in shown
    shown = study.run("decode", "--plan", "plan.json", "table", "--out", "centers.json").stdout
    assert "share of people" in shown
    assert "90% radius of the mean" in shown
    assert re.search(r"│ A +│ \d+% \(\d+ to \d+\) +│", shown)
    assert re.search(r"The groups explain \d+% \(\d+ to \d+\) of how people differ\.", shown)


@pytest.mark.slow
def test_where_nothing_can_be_told_apart_one_group_is_shown(study):
    plan = Plan.design(dimension=2, clusters=2, epsilon=0.1, expected_users=200)
    table = Aggregate(plan)
    table.add(Client(plan).encode_many(np.zeros((200, 2))))
    table.save("few")
    done = study.run("decode", "few")
    assert re.search(r"│ A +│ 100% \(100 to 100\), not clear", done.stdout)
    assert "│ B" not in done.stdout
    assert "explain" not in done.stdout
    assert "one group: everybody; " in done.stderr
    assert "The reports tell no groups apart" in done.stderr
    assert study.json("decode", "few")["supported"] == 0


def test_what_no_rate_is_stated_of_is_null_for_programs(study):
    plan = Plan.design(2, 2, 4.0, 500, protocol="net-tree", levels=2)
    table = Aggregate(plan)
    table.add(Client(plan).encode_many(np.tile([[0.5, 0.5], [-0.5, 0.0]], (250, 1))))
    table.save("tree")
    found = study.json("decode", "tree")
    assert found["coverage"] is None
    assert found["groups"][0]["low"] is None
    assert found["groups"][0]["estimates"][0]["low"] is None
    assert "noise" in study.run("decode", "tree").stdout


def test_conflicting_reports_are_said(study):
    plan = Plan.load("plan.json")
    with writing_reports("r.coterie", plan) as writer:
        writer.append(bytes([1] * 12 + [7]) + bytes([1] * 12 + [9]) + bytes([2] * 13))
    shown = study.run("aggregate", "--plan", "plan.json", "r.coterie", "--out", "table").stderr
    assert "1 report shared an id with different contents" in shown
    assert Aggregate.load("table").count == 2


def test_encoding_twice_gives_fresh_reports(study):
    for name in ("a", "b"):
        study.run("encode", "--plan", "plan.json", "points.npy", "--out", name)
    first, second = (ReportFile.open(name).read_all() for name in ("a", "b"))
    assert not (first[:, :12] == second[:, :12]).all(axis=1).any()


@pytest.mark.slow
def test_inspect_explains_every_kind_of_file(study):
    study.run("encode", "--plan", "plan.json", "points.npy", "--out", "r.coterie")
    study.run("aggregate", "--plan", "plan.json", "r.coterie", "--out", "table")
    plan = Plan.load("plan.json")
    promise = str(plan.guarantee)
    shown = study.run("inspect", "plan.json").stdout
    assert "a plan, the public contract" in shown
    assert promise in shown
    shown = study.run("inspect", "table").stdout
    assert "a table of 5,000 reports added up" in shown
    assert promise in shown
    shown = study.run("inspect", "r.coterie").stdout
    assert "5,000 private reports of 13 bytes" in shown
    assert plan.id in shown
    assert promise in study.run("inspect", "r.coterie", "--plan", "plan.json").stdout
    for name, kind in (("plan.json", "plan"), ("table", "table"), ("r.coterie", "reports")):
        facts = study.json("inspect", name)
        assert facts["kind"] == kind
        assert facts["plan_id"] == plan.id
    assert study.json("inspect", "r.coterie", "--plan", "plan.json")["promise"] == promise


def test_plan_takes_a_ball(terminal):
    facts = terminal.json(
        *("plan", "--dimension", 2, "--clusters", 3, "--epsilon", 0.5, "--users", 1000, "--seed", 7),
        *("--radius", 10, "--center", "1,-2.5", "--out", "plan.json"),
    )
    plan = Plan.load("plan.json")
    assert (plan.center, plan.radius, plan.seed) == ((1.0, -2.5), 10.0, 7)
    assert facts["plan_id"] == plan.id
    assert "radius 10 around (1, -2.5)" in terminal.run("inspect", "plan.json").stdout


@pytest.mark.slow
def test_a_real_process_has_the_exit_codes(tmp_path):
    def exits(*arguments):
        command = [sys.executable, "-m", "coterie", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = exits("--version")
    assert (done.returncode, done.stdout) == (0, f"coterie {__version__}\n")
    done = exits("inspect", "nothing-there")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: nothing-there: No such file or directory\n"
    done = exits("plan", "--dimension", "two")
    assert done.returncode == 2
    assert "Usage" in done.stderr


INTERRUPTED_WHILE_LOADING = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from coterie.cli import main
assert "typer" not in sys.modules and "numpy" not in sys.modules
sys.argv = ["coterie", "inspect", "nothing-there"]
main()
"""


@pytest.mark.parametrize("name", ["coterie.cli.app", "typer", "numpy", "coterie.plan"])
def test_an_interrupt_while_the_commands_load_is_quiet(tmp_path, name):
    command = [sys.executable, "-c", INTERRUPTED_WHILE_LOADING.format(name=name)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_help_says_what_exit_codes_mean(terminal):
    assert "Exit codes: 0 done, 1 an error" in terminal.run("--help").stdout
    for command in ("demo", "plan", "encode", "aggregate", "decode", "inspect"):
        assert "Usage" in terminal.run(command, "--help").stdout


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, ">f8"])
def test_any_real_type_is_encoded(study, dtype):
    np.save(study.folder / "typed.npy", np.asfortranarray(np.zeros((40, 3))).astype(dtype))
    assert study.json("encode", "--plan", "plan.json", "typed.npy", "--out", "r")["reports"] == 40


def test_a_plan_has_an_entry_for_a_register_of_deployments(study):
    entry = json.loads(study.run("inspect", "plan.json", "--registry").stdout)
    told = entry["deployment"]
    assert told["privacy_loss"]["privacy_parameters"] == {"epsilon": 4}
    assert told["privacy_loss"]["privacy_unit"] == "one person's single report"
    assert told["deployment_model"]["model_name"] == "Local"
    plan_id = json.loads(study.run("inspect", "plan.json", "--json").stdout)["plan_id"]
    assert plan_id in told["administrative"]["notes"]
    assert "for a plan by itself" in study.fails("inspect", "plan.json", "--registry", "--plan", "plan.json")


@pytest.fixture
def table(study):
    study.run("encode", "--plan", "plan.json", "points.npy", "--out", "r.coterie")
    study.run("aggregate", "--plan", "plan.json", "r.coterie", "--out", "table")
    return study


@pytest.mark.slow
def test_decode_needs_no_plan_because_the_table_holds_it(table):
    told = table.json("decode", "--plan", "plan.json", "table", "--random-state", 0)
    assert table.json("decode", "table", "--random-state", 0) == told


def test_tables_are_merged_on_the_word_that_they_are_disjoint(table):
    table.run("encode", "--plan", "plan.json", "points.npy", "--out", "more.coterie")
    table.run("aggregate", "--plan", "plan.json", "more.coterie", "--out", "table2")
    both = table.json("aggregate", "table", "table2", "--disjoint", "--out", "both")
    assert (both["count"], both["tables"]) == (10_000, 2)
    assert both["plan_id"] == Plan.load("plan.json").id
    expected = Aggregate.load("table")
    expected.merge(Aggregate.load("table2"))
    assert Aggregate.load("both") == expected
    done = table.run("aggregate", "table", "table2", "--disjoint", "--out", "both", "--force")
    assert "was taken on your word: tables hold no ids" in done.stderr
    assert "merged 2 tables of 10,000 reports in all" in done.stderr


def test_merges_that_cannot_be(table):
    def refused(*arguments):
        return table.fails("aggregate", *arguments, "--out", "both")

    Aggregate(Plan.design(3, 2, 2.0, 5000)).save("other")
    assert "cannot be checked: add up the report files instead" in refused("table", "table")
    assert "the same table is given twice" in refused("table", "table", "--disjoint")
    assert "expected plan" in refused("table", "other", "--disjoint")
    assert "cannot be added up together" in refused("table", "r.coterie", "--disjoint")
    assert "--disjoint is for tables" in refused("r.coterie", "--plan", "plan.json", "--disjoint")
    done = table.run("aggregate", "r.coterie", "--out", "both", code=2)
    assert "report files only name their plan" in done.stderr
    assert not (table.folder / "both").exists()


@pytest.mark.slow
def test_decode_takes_another_number_of_clusters_or_chooses_it(table):
    decode_it = ("decode", "--plan", "plan.json", "table", "--random-state", 0)
    assert len(table.json(*decode_it, "--clusters", 3)["centers"]) == 3
    chosen = decode(Aggregate.load("table", Plan.load("plan.json")), clusters="auto", random_state=0)
    assert table.json(*decode_it, "--clusters", "auto")["centers"] == chosen.centers.tolist()
    assert "must be a number or auto" in table.fails(*decode_it, "--clusters", "many")
    assert "from 1 to 4096" in table.fails(*decode_it, "--clusters", 0)


@pytest.mark.slow
def test_decode_writes_the_population(table):
    decode_it = ("decode", "--plan", "plan.json", "table", "--random-state", 0)
    shown = table.run(*decode_it, "--population", "seen.npz").stderr
    assert "wrote seen.npz" in shown
    seen = Population.load("seen.npz")
    plan = Plan.load("plan.json")
    assert seen.plan_ids == (plan.id,)
    np.testing.assert_array_equal(
        seen.points, decode(Aggregate.load("table", plan), random_state=0).population.points
    )
    assert "exists already" in table.fails(*decode_it, "--population", "seen.npz")
    assert "is an input" in table.fails(*decode_it, "--population", "table", "--force")
    both = ("--out", "same", "--population", "same")
    assert "is an input of the same command" in table.fails(*decode_it, *both)


@pytest.mark.slow
def test_a_study_goes_on_with_other_people(table):
    table.run("decode", "--plan", "plan.json", "table", "--population", "seen.npz", "--random-state", 0)
    facts = table.json(
        *("plan", "--after", "table", "--users", 900, "--out", "next.json", "--random-state", 0)
    )
    first, following = Plan.load("plan.json"), Plan.load("next.json")
    assert facts["plan_id"] == following.id
    assert (following.study_id, following.after) == (first.id, (first.id,))
    assert (following.dimension, following.clusters, following.epsilon) == (3, 2, 4.0)
    assert following.center is not None
    assert following.expected_users == 900
    told = table.run(
        *("plan", "--after", "seen.npz", "--clusters", 2, "--epsilon", 4, "--users", 900),
        *("--out", "same.json"),
    )
    assert "a population tells neither how many people" in told.stderr
    assert Plan.load("same.json").after == following.after
    table.run("plan", "--after", "table", "--users", 900, "--clusters", 5, "--radius", 3, "--out", "own.json")
    own = Plan.load("own.json")
    assert (own.clusters, own.radius, own.center, own.after) == (5, 3.0, None, (first.id,))

    np.save(table.folder / "others.npy", np.load(table.folder / "points.npy")[:900])
    table.run("encode", "--plan", "next.json", "others.npy", "--out", "r2.coterie")
    table.run("aggregate", "--plan", "next.json", "r2.coterie", "--out", "table2")
    found = table.json("decode", "--plan", "next.json", "table", "table2")
    assert found["count"] == 5900
    assert found["plan_ids"] == [first.id, following.id]
    assert found["study_id"] == first.id


@pytest.mark.slow
def test_other_people_confirm_what_was_found(table):
    about = ("plan", "--after", "table", "--confirm", "--users", 900, "--random-state", 0)
    facts = table.json(*about, "--out", "confirm.json")
    first, plan = Plan.load("plan.json"), Plan.load("confirm.json")
    assert plan.confirms
    assert (plan.study_id, plan.after, plan.clusters) == (first.id, (first.id,), 2)
    assert facts["published"] == plan.published.tolist()
    assert "2 published groups" in table.run("inspect", "confirm.json").stdout
    np.save(table.folder / "others.npy", np.load(table.folder / "points.npy")[:900])
    table.run("encode", "--plan", "confirm.json", "others.npy", "--out", "r3.coterie")
    table.run("aggregate", "--plan", "confirm.json", "r3.coterie", "--out", "table3")
    found = table.json("decode", "table", "table3", "--random-state", 0)
    assert (found["count"], found["confirmed"]["people"]) == (5900, 900)
    assert "900 other people were asked about 2 published centers" in table.run("decode", "table3").stdout
    table.run("decode", "table", "--population", "seen.npz")
    for wrong in ((), ("--after", "seen.npz")):
        lacks = table.fails("plan", *wrong, "--confirm", "--users", 900, "--out", "o.json")
        assert "give a first study's table as --after" in lacks


def test_a_plan_says_what_it_lacks(study):
    done = study.run("plan", "--dimension", 3, "--users", 900, "--out", "other.json", code=2)
    assert "--clusters and --epsilon" in done.stderr
    assert "expected a population" in study.fails("plan", "--after", "points.npy", "--users", 9, "--out", "o")
