"""The benchmark of records: columns joined, groups compared figure by figure."""

import numpy as np
import pytest

from benchmarks import real_data
from benchmarks.records import SCHEMA, compared
from coterie.centers.groups import groups_of

BEST = SCHEMA.points(
    [
        {"age": 30, "sex": "Male", "race": "White", "over-50k": False},
        {"age": 60, "sex": "Female", "race": "Black", "over-50k": True},
    ]
)
SHARES = np.array([0.85, 0.15])


def described(centers, error):
    return groups_of(centers, SHARES, np.full(2, error), 0.9, SCHEMA)


def test_the_same_groups_in_another_order_do_not_differ():
    found = compared(BEST[::-1], described(BEST[::-1], 0.1), BEST, SHARES)
    assert found["shares_differ"] == pytest.approx(0.0, abs=1e-12)
    assert found["numbers_differ"] == 0.0
    assert found["large"] == 1
    assert found["inside"] == found["intervals"]
    assert found["intervals"] == 2 * found["large_intervals"]


def test_a_group_that_is_off_differs_by_as_much_and_is_not_covered():
    off = BEST.copy()
    off[0, 0] += 0.2  # a fifth of the range of ages, one of four numbers
    found = compared(off, described(off, 0.1), BEST, SHARES)
    assert found["numbers_differ"] == pytest.approx(0.05)
    assert found["large_inside"] == found["large_intervals"] - 1


def test_small_groups_and_those_without_support_are_left_out():
    off = BEST.copy()
    off[1, 0] += 0.2
    assert compared(off, described(off, 0.1), BEST, SHARES)["numbers_differ"] == 0.0
    alone = groups_of(BEST, np.array([1.0, 0.0]), np.full(2, 0.1), 0.9, SCHEMA)
    found = compared(BEST, alone, BEST, SHARES)
    assert found["intervals"] == found["large_intervals"]


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
