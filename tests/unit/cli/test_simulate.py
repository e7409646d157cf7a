"""A study of many people by commands, before anybody is asked."""

import json

import numpy as np
import pytest


@pytest.fixture
def study(terminal):
    np.save("points.npy", np.repeat([[0.6, 0.0], [-0.6, 0.1]], 50, axis=0))
    terminal.run(
        "plan", "--dimension", 2, "--clusters", 2, "--epsilon", 1, "--users", 10**8, "--out", "plan.json"
    )  # fmt: skip
    return ("simulate", "--plan", "plan.json", "points.npy", "--out", "table")


@pytest.mark.slow
def test_a_hundred_million_people_are_simulated_and_decoded(terminal, study):
    made = terminal.json(*study, "--people", "1e8")
    assert (made["count"], made["points"], made["by"], made["private"]) == (10**8, 100, "law", False)
    found = terminal.json("decode", "table", "--out", "centers.json")
    centers = np.array(json.loads((terminal.folder / "centers.json").read_text())["centers"])
    assert np.abs(np.sort(centers[:, 0]) - [-0.6, 0.6]).max() < 0.02
    assert found["count"] == 10**8


def test_by_reports_everybody_is_encoded(terminal, study):
    words = terminal.run(*study, "--people", "300", "--by", "reports", "--seed", 3).stderr
    assert "not private" in words
    assert "table of 300 people like 100 points" in words
    assert "exists" in terminal.fails(*study, "--people", "300")


def test_wrong_wishes_are_refused(terminal, study):
    assert "whole number of people" in terminal.run(*study, "--people", "2.5", code=2).stderr
    assert "by must be law or reports" in terminal.fails(*study, "--people", "5", "--by", "magic")
    assert "people must be" in terminal.fails(*study, "--people", "-1")


@pytest.mark.parametrize("by", ["law", "reports"])
@pytest.mark.parametrize(
    ("place", "said"), [(np.nan, "NaN or infinite"), (np.inf, "NaN or infinite"), ("left", "real numbers")]
)
def test_people_are_like_no_text_and_no_nan(terminal, study, place, said, by):
    np.save("points.npy", np.array([[0.6, 0.0]] * 1000 + [[place, 0.0]]))
    assert said in terminal.fails(*study, "--people", "3", "--by", by)
