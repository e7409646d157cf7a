"""Every bad input ends in exit code 1 and one line that says what to do; nothing is written or lost."""

import os

import numpy as np
import pytest

from coterie import Plan
from coterie.wire.report_file import writing_reports

PLAN = {"--dimension": 3, "--clusters": 2, "--epsilon": 1, "--users": 100, "--out": "p.json"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--epsilon": 0}, r"epsilon must be in \(0, 16\]"),
        ({"--epsilon": -1}, "epsilon must be in"),
        ({"--epsilon": 1e9}, "epsilon must be in"),
        ({"--epsilon": "nan"}, "epsilon must be a number, got nan"),
        ({"--clusters": 0}, "clusters must be in"),
        ({"--clusters": 101}, r"clusters \(101\) must not exceed expected_users \(100\)"),
        ({"--dimension": 0}, "dimension must be in"),
        ({"--users": 0}, "expected_users must be in"),
        ({"--radius": 0}, "radius must be in"),
        ({"--center": "1,2"}, "center must have 3 coordinates"),
        ({"--center": "a,b,c"}, "center must be numbers"),
        ({"--protocol": "telepathy"}, "protocol must be one of"),
        ({"--model": "central"}, "does not run in the central model"),
        ({"--seed": -1}, "seed must be in"),
        ({"--out": "no/such/p.json"}, "no/such is no folder"),
        ({"--out": "."}, "is a folder"),
        (
            {"--minimum-batch": 5},
            r"no option 'minimum_batch'; known: .*Leave it out, or choose .*codeword \(shuffle\)",
        ),
        ({"--local-cap": 3}, r"no option 'local_cap'; .*have it: codeword \(shuffle\), net-tree"),
        ({"--layout": "cells"}, r"no option 'layout'; .*vector-sums \(shuffle\), vector-sums \(central\)$"),
        ({"--delta": 1e-6}, "delta must be 0 in the local model, got 1e-06; leave it out or choose"),
        ({"--option": "minimum_batch=word"}, "is given as --minimum-batch"),
        ({"--option": "expected_users=9"}, "the number of people is given as --users"),
        ({"--option": "cls=9"}, "there is none of this name"),
        ({"--option": "study=9"}, "given as --study, or is that of --after"),
    ],
)
def test_plans_that_cannot_be(terminal, change, message):
    line = terminal.fails("plan", *(part for pair in {**PLAN, **change}.items() for part in pair))
    assert_matches(line, message)
    assert list(terminal.folder.iterdir()) == []


def assert_matches(line, message):
    with pytest.raises(ValueError, match=message):
        raise ValueError(line)


SECRET = 0.123456789


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.array([[0.1, np.nan, SECRET]]), "NaN or infinite"),
        (np.array([[0.1, np.inf, SECRET]]), "NaN or infinite"),
        (np.zeros((4, 2)), r"must have shape \(n, 3\)"),
        (np.zeros(3), r"must have shape \(n, 3\)"),
        (np.zeros((4, 3), dtype=complex), "must be real numbers"),
        (np.array([["a", "b", "c"]]), "must be real numbers"),
        (np.zeros((0, 3)), "found no rows"),
    ],
)
def test_arrays_that_are_no_points(study, points, message):
    np.save("bad.npy", points)
    line = study.fails("encode", "--plan", "plan.json", "bad.npy", "--out", "r")
    assert_matches(line, message)
    assert str(SECRET) not in line
    assert "bad.npy" in line
    assert not [path for path in study.folder.iterdir() if path.name not in FILES]


FILES = {"plan.json", "points.npy", "bad.npy"}


def test_a_bad_row_far_down_leaves_nothing_behind(study):
    points = np.zeros((40_000, 3))
    points[-1] = np.nan
    np.save("bad.npy", points)
    study.fails("encode", "--plan", "plan.json", "bad.npy", "--out", "r")
    assert not [path for path in study.folder.iterdir() if path.name not in FILES]


def test_pickles_archives_and_torn_arrays_are_refused(study):
    np.save("bad.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "plain numbers" in study.fails("encode", "--plan", "plan.json", "bad.npy", "--out", "r")
    whole = (study.folder / "points.npy").read_bytes()
    for torn in (b"", whole[:5], whole[:-1]):
        (study.folder / "bad.npy").write_bytes(torn)
        assert "cut short" in study.fails("encode", "--plan", "plan.json", "bad.npy", "--out", "r")
    np.savez("bad.npz", a=np.zeros(3))
    (study.folder / "bad.npz").rename("bad.npy")
    assert "archive" in study.fails("encode", "--plan", "plan.json", "bad.npy", "--out", "r")


def test_unknown_suffixes_are_refused(study):
    (study.folder / "points.txt").write_text("1,2,3\n")
    assert ".npy, .csv, .parquet" in study.fails("encode", "--plan", "plan.json", "points.txt", "--out", "r")


def test_a_plan_edited_by_hand(study):
    path = study.folder / "plan.json"
    text = path.read_text()
    for edited, message in (
        (text.replace('"epsilon":4', '"epsilon":1'), "odds"),
        (text.replace('"clusters":2,', ""), "lacks the field 'clusters'"),
        (text.replace('"clusters":2', '"clusters":"2"'), "clusters must be an integer"),
        (text[:-5], "plan.json"),
        (text.replace('"version":1', '"version":2'), "a plan like this one is of version 1"),
    ):
        assert edited != text
        path.write_text(edited)
        for command in (
            ("encode", "--plan", "plan.json", "points.npy", "--out", "r"),
            ("inspect", "plan.json"),
        ):
            assert message in study.fails(*command)


def test_outputs_are_not_overwritten(study):
    encode = ("encode", "--plan", "plan.json", "points.npy", "--out", "r.coterie")
    study.run(*encode)
    before = (study.folder / "r.coterie").read_bytes()
    assert "r.coterie exists already; --force replaces it" in study.fails(*encode)
    assert (study.folder / "r.coterie").read_bytes() == before
    study.run(*encode, "--force")
    assert (study.folder / "r.coterie").read_bytes() != before
    line = study.fails("encode", "--plan", "plan.json", "points.npy", "--out", "points.npy", "--force")
    assert "is an input of the same command" in line


def test_pipes_and_devices_stay_what_they_are(study):
    pipe = study.folder / "pipe"
    os.mkfifo(pipe)
    line = study.fails("encode", "--plan", "plan.json", "points.npy", "--out", "pipe", "--force")
    assert "pipe is no ordinary file; choose another name" in line
    assert pipe.is_fifo()


def test_an_unknown_kernel_in_the_environment(study, monkeypatch):
    monkeypatch.setenv("COTERIE_KERNELS", "cuda")
    line = study.fails("encode", "--plan", "plan.json", "points.npy", "--out", "r.coterie")
    assert "COTERIE_KERNELS) must be numpy, numba or auto" in line


def test_reports_that_must_not_count(study):
    study.run("encode", "--plan", "plan.json", "points.npy", "--out", "good")
    whole = (study.folder / "good").read_bytes()
    flipped = bytearray(whole)
    flipped[1000] ^= 1
    aggregate = ("aggregate", "--plan", "plan.json", "good", "bad", "--out", "table")
    for bad, message in (
        (whole[:-1], "cut short"),
        (whole[:40], "a header of 64 bytes"),
        (b"x" + whole[1:], "start of a report file"),
        (whole[:16] + b"\0\x09" + whole[18:], "expected version 1, found version 9"),
        (bytes(flipped), "the SHA-256 of everything before it"),
    ):
        (study.folder / "bad").write_bytes(bad)
        line = study.fails(*aggregate)
        assert message in line
        assert line.startswith("error: bad, byte ")
        assert not (study.folder / "table").exists()


def test_reports_of_another_plan(study):
    other = Plan.design(dimension=3, clusters=2, epsilon=4.0, expected_users=5000, seed=1)
    with writing_reports("other", other) as writer:
        writer.append(bytes(13))
    assert f"found plan {other.id}" in study.fails(
        "aggregate", "--plan", "plan.json", "other", "--out", "table"
    )
    assert "found plan" in study.fails("inspect", "other", "--plan", "plan.json")
    other.save("other.json")
    study.run("aggregate", "--plan", "other.json", "other", "--out", "table")
    assert f"found plan {other.id}" in study.fails("decode", "--plan", "plan.json", "table", "--out", "c")


def test_an_empty_table_is_not_decoded(study):
    with writing_reports("none", Plan.load("plan.json")):
        pass
    study.run("aggregate", "--plan", "plan.json", "none", "--out", "table")
    assert "empty" in study.fails("decode", "--plan", "plan.json", "table", "--out", "c")
    assert not (study.folder / "c").exists()


@pytest.mark.slow
def test_tables_that_were_changed(study):
    study.run("encode", "--plan", "plan.json", "points.npy", "--out", "r")
    study.run("aggregate", "--plan", "plan.json", "r", "--out", "table")
    whole = bytearray((study.folder / "table").read_bytes())
    whole[-100] ^= 1
    (study.folder / "table").write_bytes(whole)
    assert "SHA-256" in study.fails("decode", "--plan", "plan.json", "table", "--out", "c")
    assert "SHA-256" in study.fails("inspect", "table")


def test_files_that_are_nothing_of_ours(study):
    (study.folder / "noise").write_bytes(bytes(range(256)))
    assert "noise, byte 0: expected the start of a plan" in study.fails("inspect", "noise")
    (study.folder / "noise").write_bytes(b"{}")
    assert "this is no plan" in study.fails("inspect", "noise")
    (study.folder / "noise").write_bytes(b"")
    assert "byte 0" in study.fails("inspect", "noise")
    assert "No such file" in study.fails("aggregate", "--plan", "plan.json", "gone", "--out", "table")
    assert "directory" in study.fails("inspect", ".")
