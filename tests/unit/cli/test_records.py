"""Records by commands: a declaration of features, tables with columns by name, groups in words."""

import pyarrow
import pytest
from pyarrow import parquet

from coterie.cli.records import cell, open_records
from coterie.errors import FileError, PointError
from coterie.features import Category, Cycle, Embedding, Flag, Number, Ordinal, Schema

FEATURES = """
[[features]]
kind = "number"
name = "age"
low = 0
high = 100
unit = "years"

[[features]]
kind = "category"
name = "plan"
values = ["free", "paid", 3]

[[features]]
kind = "flag"
name = "member"
"""
TABLE = "name,member,plan,age\n" + "Ann,true,free,20\nBob,0,paid,80\n" * 3000 + 'Eve,,,\n"Zed, Jr.",x,3,1e3\n'


@pytest.fixture
def people(terminal):
    (terminal.folder / "features.toml").write_text(FEATURES)
    (terminal.folder / "people.csv").write_text(TABLE)
    terminal.run(
        *("plan", "--features", "features.toml", "--clusters", 2, "--epsilon", 4, "--users", 6000),
        *("--out", "plan.json"),
    )
    return terminal


def test_people_like_those_in_records_are_simulated(people):
    made = people.json("simulate", "people.csv", "--plan", "plan.json", "--people", 100, "--out", "table")
    assert (made["points"], made["count"]) == (6002, 100)


@pytest.mark.slow
def test_from_a_table_to_groups_in_words(people):
    encoded = people.json("encode", "--plan", "plan.json", "people.csv", "--out", "r.coterie")
    assert (encoded["reports"], encoded["clipped_not_private"]) == (6002, 0)
    people.run("aggregate", "--plan", "plan.json", "r.coterie", "--out", "table")
    told = people.run("decode", "--plan", "plan.json", "table", "--random-state", 0).stdout
    assert "of people, set apart by" in told
    assert "years" in told
    found = people.json("decode", "--plan", "plan.json", "table", "--random-state", 0)
    assert {row["feature"] for row in found["groups"][0]["estimates"]} == {"age", "plan", "member"}


def test_a_plan_says_which_features_it_asks_for(people):
    words = " ".join(people.run("inspect", "plan.json").stdout.split())  # however wide the screen is
    assert "age (number, weight 1), plan (category, weight 1), member (flag, weight 1)" in words
    assert "declared without looking" in words
    assert people.json("inspect", "plan.json")["features"]["features"][0]["unit"] == "years"


def test_both_kinds_of_table_give_the_same_points(tmp_path):
    schema = Schema([Number("age", 0, 100), Category("plan", ("free", "paid", 3)), Flag("member")])
    (tmp_path / "p.csv").write_text(TABLE)
    columns = {
        "age": [20.0, 80.0] * 3000 + [None, 1e3],
        "plan": ["free", "paid"] * 3000 + [None, "3"],
        "member": [True, False] * 3000 + [None, None],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "p.parquet")
    csv, table = (
        [row for rows, _ in open_records(tmp_path / name, schema).chunks() for row in rows.tolist()]
        for name in ("p.csv", "p.parquet")
    )
    assert csv[:-1] == table[:-1] == schema.points(columns).tolist()[:-1]
    assert csv[-1] == schema.point({"age": 1e3, "plan": 3}).tolist()  # a cell that is a declared number


@pytest.mark.parametrize(
    ("feature", "text", "value"),
    [
        (Number("x", 0, 1), "0.5", 0.5), (Number("x", 0, 1), "", None), (Number("x", 0, 1), "1_0", None),
        (Number("x", 0, 1), "nan", None), (Cycle("x", 24), "-3", -3.0), (Flag("x"), " TRUE", True),
        (Flag("x"), "0", False), (Flag("x"), "yes", None), (Category("x", ("1", 2)), "1", "1"),
        (Category("x", ("1", 2)), "2.0", 2.0), (Category("x", ("1", 2)), "3", "3"),
        (Ordinal("x", ("a", 2)), "2", 2.0), (Embedding("x", 2, 1), "[1, 2]", [1, 2]),
        (Embedding("x", 2, 1), "1 2", None), (Embedding("x", 2, 1), "[" * 9999, None),
    ],
)  # fmt: skip
def test_what_a_cell_stands_for(feature, text, value):
    assert cell(feature, text) == value


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("p.csv", b"", PointError, "names the columns, found no line"),
        ("p.csv", b"age\n34\n", PointError, "one column named 'member' in the first line, found 0"),
        (
            "p.csv",
            b"age,member,age\n34,1,34\n",
            PointError,
            "one column named 'age' in the first line, found 2",
        ),
        (
            "p.csv",
            b"age,member\n34,1\n4711\n",
            PointError,
            "line 3: expected 2 cells, as in the first line, found 1",
        ),
        ("p.csv", b"age,member\n\xff,1\n", FileError, "UTF-8"),
        ("p.csv", b'age,member\n"34"4711,1\n', FileError, "whole quotes"),
        ("p.csv", b"age,member\n" + b"4" * (1 << 21) + b",1\n", FileError, "bounded length"),
        ("p.parquet", b"PAR1", FileError, "a whole Parquet file"),
        ("p.npy", b"", PointError, "by column name"),
    ],
)
def test_what_is_no_table_of_records(tmp_path, name, content, error, message):
    (tmp_path / name).write_bytes(content)
    schema = Schema([Number("age", 0, 100), Flag("member")])
    with pytest.raises(error, match=message) as caught:
        list(open_records(tmp_path / name, schema).chunks())
    assert "4711" not in str(caught.value)


def test_records_need_names(people):
    line = people.fails("encode", "--plan", "plan.json", "people.csv", "--no-header", "--out", "r")
    assert "names the columns" in line


def test_a_bad_declaration_is_one_line(terminal):
    (terminal.folder / "f.toml").write_text(
        "[[features]]\nkind = 'number'\nname = 'age'\nlow = 3\nhigh = 2\n"
    )
    line = terminal.fails(
        "plan", "--features", "f.toml", "--clusters", 2, "--epsilon", 1, "--users", 100, "--out", "plan.json"
    )
    assert "features[0]: number 'age': high must be above low" in line
