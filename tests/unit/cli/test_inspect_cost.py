"""`coterie inspect`: what is proved of the centers, and whether it says anything."""

import pytest

from coterie import Plan
from coterie.cli.describe import cost_facts, cost_words

NOTHING = "No guarantee of the cost is proved for this plan."
THEORY = {"protocol": "net-tree", "constants": "theory"}
SUMS = {"protocol": "net-tree-sums", "constants": "theory", "model": "shuffle", "delta": 1e-6}


@pytest.mark.parametrize(
    ("dimension", "people", "options", "words"),
    [
        (
            1,
            10**4,
            {},
            "t = 2,312 squared radii per person: that says nothing at this number of people, and would",
        ),
        (1, 10**4, {"radius": 7.0}, "t = 2,312 squared radii per person"),
        (
            1,
            10**10,
            {},
            "The centers cost at most 42.6·OPT + t with probability 90%, t = 0.65 squared radii per",
        ),
        (2, 10**6, {}, "says nothing at this number of people, nor would it at any."),
        (1, 10**6, THEORY, "Decoded with constants=theory, the centers cost at most 37.5·OPT + t"),
        (1, 10**6, SUMS, "t = 0.07 squared radii per person: that says something."),
        (13, 10**6, {}, NOTHING),
        (1, 10**6, {"protocol": "lsh-tree"}, NOTHING),
        (1, 10**6, {**SUMS, "constants": "practical"}, NOTHING),
    ],
)
def test_what_is_proved_is_said_with_what_it_comes_to(dimension, people, options, words):
    assert words in cost_words(cost_facts(Plan.design(dimension, 4, 1.0, people, **options)))


def test_the_number_from_which_on_it_says_something_is_the_first():
    plan = Plan.design(1, 4, 1.0, 10**4)
    found = cost_facts(plan)
    least = found["says_something_from"]
    assert not found["says_something"]
    assert plan.approximation(people=least).additive < least
    assert plan.approximation(people=least // 2).additive > least // 2
    assert cost_facts(Plan.design(1, 4, 1.0, least))["says_something"]


def test_the_command_says_it(terminal, tmp_path):
    plan = Plan.design(1, 4, 1.0, 10**4)
    plan.save(tmp_path / "plan.json")
    found = cost_facts(plan)
    shown = terminal.run("inspect", tmp_path / "plan.json").stdout
    assert " ".join(shown.split()).endswith(cost_words(found))
    assert terminal.json("inspect", tmp_path / "plan.json")["cost"] == found
    Plan.design(13, 4, 1.0, 10**4).save(tmp_path / "none.json")
    assert NOTHING in terminal.run("inspect", tmp_path / "none.json").stdout
    assert terminal.json("inspect", tmp_path / "none.json")["cost"] is None
