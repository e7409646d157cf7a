"""Theorems beside what is played: no promise is broken, and the lemmas' errors are near the measured ones."""

import json
import math

import numpy as np
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
        if line["protocol"] in ("default", "net-tree") and "ratio" in line:
            _, own = guarantees.promise(line["protocol"], line["d"], line["n"])
            assert math.isclose(own.ratio, line["ratio"])
            assert math.isclose(own.additive / line["n"], line["t/n"])


@pytest.mark.parametrize("name", ["net-tree", "codewords, shuffled"])
@pytest.mark.parametrize("people", [1000, 10**6])  # by reports, by law
def test_a_line_is_played(name, people):
    line = guarantees.played(name, 1, people, 2)
    assert (line["runs"], line["violated"], line["replaced"]) == (2, 0, 0)
    assert line["by"] == ("law" if people > 1000 else "reports")
    assert line["worst cost"] < 1 < line["t/n"]


def test_the_law_of_a_tree_is_what_reports_have(monkeypatch):
    found = {}
    for law in (False, True):
        monkeypatch.setattr(guarantees, "by_law", lambda name, people, law=law: law)
        lines = [guarantees.play_one("net-tree", 1, 4000, seed) for seed in range(60)]
        found[law] = np.array(lines)[:, [0, 2]].astype(float)  # cost, largest error of a count
    apart = found[True].mean(axis=0) - found[False].mean(axis=0)
    noise = np.sqrt(found[True].var(axis=0) / 60 + found[False].var(axis=0) / 60)
    assert (np.abs(apart) < 5.3 * noise).all()
    assert noise[1] < 0.1 * found[True][:, 1].mean()  # twice the noise would be seen
