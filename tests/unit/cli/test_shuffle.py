"""The path of the shuffle model by commands."""

import json

import numpy as np
import pytest

from coterie.plan import Plan
from coterie.wire.report_file import ReportFile, write_reports
from tests.plans import needs


def make(terminal, *options, users=400):
    np.save("points.npy", np.random.default_rng(0).normal(0, 0.3, (users, 2)))
    terminal.run(
        "plan", "--dimension", 2, "--clusters", 2, "--epsilon", 2, "--users", users, "--model", "shuffle",
        "--delta", 1e-6, "--out", "plan.json", *options,
    )  # fmt: skip
    terminal.run("encode", "--plan", "plan.json", "points.npy", "--out", "r.coterie")


@pytest.mark.slow
def test_from_points_to_centers_through_the_shuffler(terminal):
    make(terminal)
    refused = terminal.fails("aggregate", "--plan", "plan.json", "r.coterie", "--out", "table")
    assert "a shuffled file (coterie shuffle writes one from report files)" in refused
    mixed = terminal.json("shuffle", "--plan", "plan.json", "r.coterie", "--out", "s.coterie")
    assert (mixed["people"], mixed["messages"], mixed["fresh"]) == (400, 400, True)
    assert mixed["epsilon"] < 2 < mixed["local_epsilon"]
    record = f"studies/{mixed['plan_id']}/{mixed['batch']}.released"
    assert (terminal.folder / "state/coterie/released" / record).is_file()
    again = terminal.run("shuffle", "--plan", "plan.json", "r.coterie", "--out", "s2.coterie").stderr
    assert "released before" in again
    assert (terminal.folder / "s.coterie").read_bytes() == (terminal.folder / "s2.coterie").read_bytes()
    assert "given twice" in terminal.fails(
        "aggregate", "--plan", "plan.json", "s.coterie", "s2.coterie", "--out", "table"
    )
    added = terminal.json("aggregate", "--plan", "plan.json", "s.coterie", "--out", "table")
    assert added["count"] == 400
    found = terminal.json("decode", "--plan", "plan.json", "table", "--out", "centers.json")
    assert (found["model"], found["delta"]) == ("shuffle", 1e-6)
    assert json.loads(terminal.run("inspect", "s.coterie", "--json").stdout)["kind"] == "shuffled"
    words = terminal.run("inspect", "s.coterie", "--plan", "plan.json").stdout
    assert "400 mixed messages" in words
    assert "If the mixing fails" in words


def test_shares_go_the_same_way(terminal):
    make(terminal, "--protocol", "vector-sums", "--layout", "column", "--minimum-batch", 1000, users=1000)
    mixed = terminal.json("shuffle", "--plan", "plan.json", "r.coterie", "--out", "s.coterie")
    assert mixed["messages"] % 1000 == 0
    assert mixed["local_epsilon"] is None
    assert terminal.json("aggregate", "--plan", "plan.json", "s.coterie", "--out", "table")["count"] == 1000


@needs("net-tree-sums")
def test_sums_over_the_net_tree_go_the_same_way(terminal):
    make(
        terminal, "--protocol", "net-tree-sums", "--minimum-batch", 400,
        "--option", "levels=2", "--option", "buckets=24",
    )  # fmt: skip
    mixed = terminal.json("shuffle", "--plan", "plan.json", "r.coterie", "--out", "s.coterie")
    assert mixed["messages"] % (400 * 2 * 24 * 3) == 0
    assert terminal.json("aggregate", "--plan", "plan.json", "s.coterie", "--out", "table")["count"] == 400
    found = terminal.json("decode", "--plan", "plan.json", "table", "--out", "centers.json")
    assert np.array(found["centers"]).shape == (2, 2)
    assert found["model"] == "shuffle"
    assert "messages, " in terminal.run("inspect", "plan.json").stdout


def test_options_of_a_protocol_are_read_and_checked(terminal):
    def refused(*options):
        return terminal.fails(
            "plan", "--dimension", 2, "--clusters", 2, "--epsilon", 1, "--users", 1000, "--out", "p.json",
            "--protocol", "net-tree", *options,
        )  # fmt: skip

    assert "has no option 'flavour'; known: randomizer, constants, alpha" in refused(
        "--option", "flavour=sweet"
    )
    assert "written name=value" in refused("--option", "levels")
    assert "given twice" in refused("--option", "levels=2", "--option", "levels=3")
    assert "levels must be an integer" in refused("--option", "levels=2.5")


def test_a_small_batch_leaves_no_file(terminal):
    make(terminal)
    np.save("points.npy", np.zeros((10, 2)))
    terminal.run("encode", "--plan", "plan.json", "points.npy", "--out", "few.coterie")
    error = terminal.fails("shuffle", "--plan", "plan.json", "few.coterie", "--out", "s.coterie")
    assert "10 people and the plan's minimum is 360" in error
    assert not (terminal.folder / "s.coterie").exists()


def test_people_in_two_batches_count_once(terminal):
    """2,700 people in one batch, and the same with one more in another's, are 2,701 people."""
    make(terminal, users=2701)
    plan = Plan.load("plan.json")
    write_reports("fewer.coterie", plan, [ReportFile.open("r.coterie", plan).read_all()[:2700]])
    for reports, out in (("fewer.coterie", "first"), ("r.coterie", "second")):  # two shufflers, two memories
        terminal.run("shuffle", "--plan", "plan.json", reports, "--out", out, "--released", f"memory-{out}")
    found = terminal.json("aggregate", "--plan", "plan.json", "first", "second", "--out", "table")
    assert (found["count"], found["repeats"]) == (2701, 2700)
    said = terminal.run("aggregate", "--plan", "plan.json", "first", "second", "--out", "table2").stderr
    assert "2,700 ids left out that another batch has" in said
