"""`coterie power`, and what `coterie plan` says of what to expect."""

import json

import pytest
from typer.testing import CliRunner

from coterie import Plan
from coterie.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], terminal_width=200)


def test_power_prints_a_table_and_both_inverse_answers():
    done = run("power", "--dimension", 20, "--clusters", 4, "--users", 50_000, "--target", 0.8)
    assert done.exit_code == 0, done.output
    assert "ε = 0.25" in done.stdout
    assert "500,000" in done.stdout
    assert "for 80% recovered at ε = 1: " in done.stderr
    assert "for 80% recovered from 50,000 people: ε = " in done.stderr
    assert "50,000 people, ε = 1, round groups, r = 8: objective" in done.stderr


def test_power_says_how_many_to_ask_in_which_wave():
    about = ("power", "--dimension", 20, "--clusters", 4, "--users", 200_000, "--waves")
    assert "ask 20% first: the fewest who find nearly what all 200,000 would" in run(*about).stderr
    told = json.loads(run(*about, "--json").stdout)
    assert told["first"] == 0.2
    recovered = [wave["found"]["recovered"] for wave in told["waves"]]
    widths = [wave["confirmed"]["mean"] for wave in told["waves"]]
    assert recovered == sorted(recovered)
    assert widths == sorted(widths)
    assert all(wave["found"]["people"] + wave["confirmed"]["people"] == 200_000 for wave in told["waves"])
    scarce = ("power", "--dimension", 100, "--clusters", 8, "--users", 100_000, "--waves", "--json")
    assert json.loads(run(*scarce).stdout)["first"] == 0.8  # nobody can be spared from finding


def test_power_says_which_change_labels_would_show():
    about = ("power", "--dimension", 11, "--clusters", 5, "--epsilon", 2, "--users", 100_000, "--compare")
    told = json.loads(run(*about, "--shift", 4, "--json").stdout)
    plan = Plan.design(11, 5, 2.0, 100_000)
    for kind, people in told["people_needed"].items():
        assert plan.comparison(people, kind=kind).seen <= 0.04 < plan.comparison(people - 1, kind=kind).seen
    assert told["people_needed"]["real"] > told["people_needed"]["separated"]
    assert "for 5 points, round groups, r = 8: " in run(*about).stderr
    for wrong in (("--shift", 0), ("--clusters", 1)):
        assert run(*about, *wrong).exit_code == 1
    assert run(*about[:-1], "--shift", 4).exit_code == 1


@pytest.mark.parametrize("kind", ["tight", "broad", "real"])
def test_power_for_programs(kind):
    done = run("power", "--dimension", 20, "--clusters", 4, "--users", 1_000_000, "--kind", kind, "--json")
    facts = json.loads(done.stdout)
    plan = Plan.design(20, 4, 1.0, 1_000_000)
    assert facts["expected"]["recovered"] == pytest.approx(plan.expected(kind=kind).recovered)
    assert facts["target"] == "90% recovered"
    assert plan.expected(facts["people_needed"], kind).recovered >= 0.9
    assert plan.expected(facts["people_needed"] - 1, kind).recovered < 0.9
    again = Plan.design(20, 4, facts["epsilon_needed"], 1_000_000).expected(kind=kind)
    assert again.recovered >= 0.9
    assert len(facts["table"]) == 25


@pytest.mark.slow
def test_power_of_other_designs_follows_the_design():
    done = run(
        "power",
        "--dimension",
        40,
        "--clusters",
        8,
        "--users",
        20_000,
        "--shape",
        "tight",
        "--kind",
        "tight",
        "--json",
    )
    facts = json.loads(done.stdout)
    own = Plan.design(40, 8, 1.0, 20_000, shape="tight").expected(kind="tight")
    assert facts["expected"]["objective"] == pytest.approx(own.objective)


def test_power_says_what_cannot_be_reached():
    done = run("power", "--dimension", 20, "--clusters", 4, "--kind", "broad", "--objective", 0.01)
    assert "for an objective of 0.01 at ε = 1: no number of people is enough" in done.stderr
    assert "no ε is enough" in done.stderr
    wrong = run("power", "--dimension", 20, "--clusters", 4, "--target", 0.5, "--objective", 0.1)
    assert wrong.exit_code == 1
    assert "give one target" in wrong.stderr
    assert run("power", "--dimension", 20, "--clusters", 4, "--kind", "nice").exit_code == 1


def test_plan_says_what_to_expect_and_what_is_hopeless(tmp_path):
    common = ("plan", "--out", tmp_path / "plan.json", "--force")
    fine = run(*common, "--dimension", 20, "--clusters", 4, "--epsilon", 1, "--users", 1_000_000)
    assert "of the gain on round groups, r = 8" in " ".join(fine.stdout.split())
    assert "hopeless" not in fine.output
    bad = run(*common, "--dimension", 3000, "--clusters", 100, "--epsilon", 0.1, "--users", 1000)
    assert bad.exit_code == 0
    assert "caution: hopeless: with 1,000 people at epsilon 0.1 noise hides the 100 groups" in bad.stderr
    facts = json.loads(
        run(*common, "--dimension", 20, "--clusters", 4, "--epsilon", 1, "--users", 10**6, "--json").stdout
    )
    assert [one["hopeless"] for one in facts["expected"]] == [False, False]
    other = run(
        *common, "--dimension", 2, "--clusters", 4, "--epsilon", 1, "--users", 1000, "--protocol", "net-tree"
    )
    assert "no forecast for this protocol" in other.stdout


def test_power_names_the_target_that_was_given():
    """Not the default one for 0, nor everything for nearly everything."""
    for target, said in ((0, "0%"), (0.905, "90.5%"), (0.999, "99.9%")):
        assert (
            f"for {said} recovered"
            in run("power", "--dimension", 5, "--clusters", 2, "--target", target).stderr
        )


def test_one_group_is_not_hopeless(tmp_path):
    asked = ("--dimension", 5, "--clusters", 1, "--epsilon", 2, "--users", 20_000)
    power = run("power", *asked)
    assert power.exit_code == 1
    assert "one group has everybody" in power.stderr
    assert "caution" not in run("plan", *asked, "--out", tmp_path / "plan.json").output
    assert "one group is everybody" in str(Plan.design(5, 1, 2.0, 20_000).expected())
