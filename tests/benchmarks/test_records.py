"""The benchmark of records: columns joined, groups compared figure by figure."""

import numpy as np
import pytest

from benchmarks import real_data
from benchmarks.records import SCHEMA, compared

PEOPLE = np.repeat(
    SCHEMA.points(
        [
            {"age": 30, "sex": "Male", "race": "White", "over-50k": False},
            {"age": 60, "sex": "Female", "race": "Black", "over-50k": True},
        ]
    ),
    [85, 15],
    axis=0,
)
MEANS, SHARES = PEOPLE[[0, -1]], np.array([0.85, 0.15])


def test_groups_that_are_described_as_they_are_do_not_differ(result_of):
    found = compared(result_of(MEANS[::-1], SHARES[::-1], 0.1, SCHEMA), PEOPLE)
    assert found["shares_differ"] == pytest.approx(0.0, abs=1e-12)
    assert found["numbers_differ"] == pytest.approx(0.0, abs=1e-12)
    assert found["large"] == 1
    assert found["inside"] == found["intervals"]
    assert found["intervals"] == 2 * found["large_intervals"]


def test_a_group_that_is_off_differs_by_as_much_and_is_not_covered(result_of):
    off = MEANS.copy()
    off[0, 0] += 0.2  # a fifth of the range of ages, one of four numbers
    found = compared(result_of(off, SHARES, 0.1, SCHEMA), PEOPLE)
    assert found["numbers_differ"] == pytest.approx(0.05)
    assert found["large_inside"] == found["large_intervals"] - 1


def test_a_group_is_compared_with_the_people_nearest_to_it(result_of):
    both = np.stack([PEOPLE.mean(axis=0), MEANS[1] + 10])  # nobody is near the second
    found = compared(result_of(both, np.array([1.0, 0.0]), 0.01, SCHEMA), PEOPLE)
    assert found["numbers_differ"] == pytest.approx(0.0, abs=1e-12)
    assert found["inside"] == found["intervals"] == found["large_intervals"]


def test_small_groups_and_those_of_nobody_are_left_out(result_of):
    off = MEANS.copy()
    off[1, 0] += 0.2
    assert compared(result_of(off, SHARES, 0.1, SCHEMA), PEOPLE)["numbers_differ"] == pytest.approx(0.0)
    alone = result_of(
        np.tile(PEOPLE.mean(axis=0), (2, 1)), np.array([1.0, 0.0]), 0.1, SCHEMA, clear=np.zeros(2, dtype=bool)
    )
    found = compared(alone, PEOPLE)
    assert found["numbers_differ"] == pytest.approx(0.0, abs=1e-12)
    assert found["intervals"] == found["large_intervals"] == found["inside"]


def test_indicators_are_joined_to_their_category(tmp_path, monkeypatch):
    monkeypatch.setattr(real_data, "ADULT_ROWS", 2)
    (tmp_path / "adult.csv").write_text("age,sex_Female,sex_Male,salary_>50K\n37,0,1,1\n28,1,0,0\n")
    assert real_data.adult(tmp_path) == {
        "age": ["37", "28"],
        "sex": ["Male", "Female"],
        "salary": [">50K", ""],
    }


def test_a_file_that_is_not_whole_or_not_there_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="is not there"):
        real_data.adult(tmp_path)
    (tmp_path / "adult.csv").write_text("age\n3\n")
    with pytest.raises(SystemExit, match="1 rows, expected 45222"):
        real_data.adult(tmp_path)
