"""`coterie plan`: the same follow-up as Python and the collector make, and directions of one's own."""

import numpy as np
import pytest

from coterie import Plan, decode, simulate
from coterie.datasets import gaussian_mixture
from coterie.service.following import next_plan
from coterie.service.manifest import decoding_seed


def played(dimension, people=10_000, inside=0.5, **options):
    """The table of a first wave of a mixture, by its law."""
    points, _, _ = gaussian_mixture(people, dimension, 4, separation=3.0, random_state=0)
    radius = options.pop("radius", 1.0)
    plan = Plan.design(dimension, 4, 1.0, people, radius=radius, **options)
    return simulate(plan, points * radius * inside, people, random_state=0)


@pytest.mark.parametrize(
    ("dimension", "others", "asks"),
    [(40, 90_000, "same"), (40, 10_000, "directions"), (2, 90_000, "ball")],
)
@pytest.mark.slow
def test_the_command_python_and_the_collector_make_the_same_plan(terminal, dimension, others, asks):
    """Of the result: of its population alone 90,000 others would be asked for directions, and lose by it."""
    table = played(dimension, inside=1.0 if dimension > 2 else 0.5, radius=10.0, seed=3)
    table.save("first.table")
    seed = decoding_seed(table.plan)
    facts = terminal.json(
        *("plan", "--after", "first.table", "--users", others, "--out", "next.json", "--random-state", seed)
    )
    made = Plan.load("next.json")
    result = decode(table, random_state=seed)
    assert made == table.plan.follow_up(result, others) == next_plan([table], {"expected_users": others})
    assert made != table.plan.follow_up(result.population, others)
    told = table.plan.next_question(result, others)
    assert (facts["asks"], facts["why"]) == (told.asks, told.why) == (asks, told.why)
    assert made.seed == 3
    terminal.run(*("plan", "--after", "first.table", "--users", others, "--seed", 4, "--out", "own.json"))
    assert Plan.load("own.json").seed == 4


def test_what_is_asked_next_is_said_with_its_reason(terminal):
    played(2, 5000).save("first.table")
    done = terminal.run("plan", "--after", "first.table", "--users", 900, "--out", "next.json")
    assert "Asked about is a better ball: a ball that suits people has a radius of" in done.stderr
    assert '"why"' not in (terminal.folder / "next.json").read_text()
    done = terminal.run("plan", "--after", "first.table", "--users", 900, "--radius", 1, "--out", "own.json")
    assert "Asked is what was given: radius" in done.stderr


DESIGN = ("plan", "--dimension", 3, "--clusters", 2, "--epsilon", 1, "--users", 1000, "--out", "plan.json")


@pytest.mark.parametrize("kind", ["float32", ">i2", "float64"])
def test_directions_of_ones_own(terminal, kind):
    np.save("own.npy", np.asfortranarray(np.array([[3, 4, 0], [1, 1, 0]]).astype(kind)))
    terminal.run(*DESIGN, "--directions", "own.npy")
    plan = Plan.load("plan.json")
    assert plan == Plan.design(3, 2, 1.0, 1000, directions=[[3.0, 4.0, 0.0], [1.0, 1.0, 0.0]])
    assert "2 directions alone" in terminal.run("inspect", "plan.json").stdout


def test_directions_of_ones_own_are_asked_about_after_a_first_wave(terminal):
    table = played(3, 5000)
    table.save("first.table")
    np.save("own.npy", np.eye(3)[:2])
    after = (
        "plan",
        "--after",
        "first.table",
        "--users",
        900,
        "--directions",
        "own.npy",
        "--out",
        "next.json",
    )
    assert terminal.json(*after)["asks"] == "given"
    assert Plan.load("next.json").coordinates == 2
    assert "asks about whole points" in terminal.fails(*after, "--confirm", "--force")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            np.ones(3),
            "own.npy: directions must be real numbers of shape (m, d), at most (64, 3000), got shape (3,)",
        ),
        (np.ones((65, 3)), "got shape (65, 3)"),
        (np.ones((1, 3001)), "got shape (1, 3001)"),
        (np.ones((1, 3), dtype=complex), "of complex128"),
        (np.array([["a", "b", "c"]]), "of <U1"),
        (np.array([[None, 1, 2]]), "of plain numbers"),
        (np.ones((0, 3)), "a direction a row"),
        (np.ones((2, 3)), "must not depend on each other"),
        (np.full((1, 3), np.nan), "finite numbers"),
        (np.ones((1, 2)), "directions[0] must have 3 coordinates"),
    ],
)
def test_directions_that_are_refused(terminal, array, message):
    np.save("own.npy", array)
    assert message in terminal.fails(*DESIGN, "--directions", "own.npy")


def test_a_file_that_is_no_array_is_no_directions(terminal):
    np.savez("own.npy", np.eye(3))
    (terminal.folder / "own.npy.npz").rename(terminal.folder / "own.npy")
    assert "archive of several" in terminal.fails(*DESIGN, "--directions", "own.npy")
    (terminal.folder / "text.npy").write_text("1,0,0")
    assert "something else" in terminal.fails(*DESIGN, "--directions", "text.npy")
    assert "No such file" in terminal.fails(*DESIGN, "--directions", "none.npy")
