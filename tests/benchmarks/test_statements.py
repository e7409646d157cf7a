"""The benchmark of statements: what a result says is compared with the people it speaks of."""

import numpy as np
import pytest

from benchmarks import statements
from benchmarks.harness import Study
from benchmarks.statements import floor_tables, judged, stable_tables, tables
from coterie import Plan
from coterie.centers.result import Interval

PLAN = Plan.design(2, 2, 1.0, 1000)
CORNERS = np.array([[0.6, 0.0], [-0.6, 0.0]])
PEOPLE = np.repeat(CORNERS, [700, 300], axis=0) + np.tile([[0.0, 0.1], [0.0, -0.1]], (500, 1))
SHARES = np.array([0.7, 0.3])
EXPLAINED = 1 - 0.01 / (0.01 + 0.7 * 0.3 * 1.2**2)  # of people's spread, by the two corners


def test_what_is_true_is_held(result_of):
    true = result_of(CORNERS, SHARES, 0.1, explained=Interval(EXPLAINED, EXPLAINED - 0.01, EXPLAINED + 0.01))
    found = judged(true, PEOPLE, PLAN, CORNERS)
    assert (found["groups"], found["held_means"], found["held_shares"]) == (2, 2, 2)
    assert (found["figures"], found["held_figures"]) == (4, 4)
    assert found["explained_true"] == pytest.approx(EXPLAINED)
    assert found["explained_held"] == 1
    assert found["recovered"] == pytest.approx(1.0)


def test_what_is_not_true_is_not_held(result_of):
    moved = CORNERS + np.array([[0.3, 0.0], [0.0, 0.0]])
    wrong = result_of(moved, np.array([0.72, 0.28]), 0.1, explained=Interval(0.5, 0.4, 0.6))
    found = judged(wrong, PEOPLE, PLAN, CORNERS)
    assert (found["held_means"], found["held_shares"], found["explained_held"]) == (1, 0, 0)
    assert (found["figures"], found["held_figures"]) == (4, 3)


def test_one_group_is_compared_with_everybody(result_of):
    mean = np.tile(PEOPLE.mean(axis=0) + 0.001, (2, 1))
    one = result_of(
        mean, np.array([1.0, 0.0]), 0.01, clear=np.zeros(2, dtype=bool), explained=Interval(0.0, 0.0, 0.0)
    )
    found = judged(one, PEOPLE, PLAN, CORNERS)
    assert (found["groups"], found["held_means"], found["held_shares"]) == (1, 1, 1)
    assert found["explained_held"] == 1


def test_errors_halved_are_held_less_often(result_of):
    # 200 groups far apart, each center off by normal noise, with radii and figures that hold 90 % of it.
    rng = np.random.default_rng(0)
    people = np.array([[x, y] for x in range(20) for y in range(10)], dtype=np.float64)
    centers = people + 0.1 * rng.standard_normal(people.shape)
    radius = 0.1 * np.sqrt(-2 * np.log(0.1))
    shares = np.full(200, 1 / 200)
    plan = Plan.design(2, 200, 1.0, 1000)
    right = judged(result_of(centers, shares, radius, profile=np.full(2, 0.1 / radius)), people, plan, people)
    half = judged(
        result_of(centers, shares, radius / 2, profile=np.full(2, 0.1 / radius)), people, plan, people
    )
    assert 0.84 <= right["held_means"] / 200 <= 0.96
    assert 0.84 <= right["held_figures"] / 400 <= 0.96
    assert half["held_means"] / 200 < 0.6  # a quarter of the area: 44 %
    assert half["held_figures"] / 400 < 0.7
    assert half["radius_over_true"] == pytest.approx(right["radius_over_true"] / 2)


STUDY = Study("line-1e4-eps-4", "mixture", 10_000, 2, 4.0, dimension=2, separation=20.0)


def test_a_study_is_played_and_the_tables_print(tmp_path, monkeypatch):
    monkeypatch.setattr(statements, "POINTS", 1000)
    figures = statements.play(STUDY, 1, tmp_path)
    assert figures["groups"] == 2
    assert figures["over_one"] < 1
    assert figures["missed"] == 0
    shown = tables([STUDY], {STUDY.name: [figures]})
    assert "| line | 1 |" in shown
    assert "| **all** | 1 |" in shown
    floor = statements.play_floor(STUDY, 1, tmp_path)
    assert floor["over_one"] < 1
    assert "0 of 1 runs above 1.02" in floor_tables([STUDY], {STUDY.name: [floor]})


def test_radii_that_vary_are_shown():
    first = {"left_out": 0, "centers": CORNERS.tolist(), "radii": [0.1, 0.2], "explained": 0.5}
    second = first | {"centers": CORNERS[::-1].tolist(), "radii": [0.4, 0.1], "explained": 0.6}
    assert "| 2 | 2.00 ✗ | 0.100 |" in stable_tables([STUDY], {STUDY.name: [first, second]})
