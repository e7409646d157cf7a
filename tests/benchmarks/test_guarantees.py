"""Theorems beside what is played: no promise is broken, and the lemmas' errors are near the measured ones."""

import json
import math

import pytest

from benchmarks import guarantees

LINES = json.loads(guarantees.RESULTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "line", LINES["played"], ids=lambda line: f"{line['protocol']}-{line['d']}-{line['n']}"
)
def test_no_stored_run_breaks_its_promise_and_errors_are_within_twice_the_measured(line):
    assert line["violated"] == 0
    assert line["worst cost"] <= line["ratio"] * line["its optimum"] + line["t/n"]
    assert 1 <= line["eta over measured"] <= 2


def test_stored_theorems_are_those_of_today():
    for line in LINES["theorems"]:
        if line["protocol"].startswith("default") and "ratio" in line:
            _, own, _ = guarantees.promise(line["protocol"], line["d"], line["n"])
            assert math.isclose(own.ratio, line["ratio"])
            assert math.isclose(own.additive / line["n"], line["t/n"])


@pytest.mark.parametrize("name", ["net-tree", "codewords, shuffled"])
def test_a_line_is_played(name):
    line = guarantees.played(name, 1, 1000, 2)
    assert (line["runs"], line["violated"], line["replaced"]) == (2, 0, 0)
    assert line["worst cost"] < 1 < line["t/n"]
