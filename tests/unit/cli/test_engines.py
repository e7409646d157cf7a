"""`coterie aggregate` by any engine, and into a table that grows; `coterie decode` of such a folder."""

import builtins
import shutil

import pytest

ENCODE = ("encode", "--plan", "plan.json", "points.npy", "--out")
AGGREGATE = ("aggregate", "--plan", "plan.json")


@pytest.fixture
def days(study):
    study.run(*ENCODE, "monday")
    study.run(*ENCODE, "tuesday")
    return study


def test_engines_of_one_machine_give_the_same_table_and_facts(days):
    facts = []
    for number, words in enumerate(([], ["--engine", "inline"], ["--engine", "parallel"])):
        facts.append(days.json(*AGGREGATE, "monday", "tuesday", "monday", "--out", f"table{number}", *words))
        del facts[-1]["out"]
    assert facts[0] == facts[1] == facts[2]
    assert (facts[0]["count"], facts[0]["duplicates"]) == (10000, 5000)
    tables = {(days.folder / f"table{number}").read_bytes() for number in range(3)}
    assert len(tables) == 1


@pytest.mark.slow
def test_a_table_grows_by_days_and_is_decoded_where_it_is(days):
    first = days.run(*AGGREGATE, "monday", "--into", "grown").stderr
    assert "added 5,000 reports from 1 file; 0 repeats left out, 0 counted before" in first
    assert "grown holds 5,000 reports" in first
    second = days.json("aggregate", "monday", "tuesday", "tuesday", "--into", "grown")
    assert (second["counted_before"], second["duplicates"], second["count"]) == (5000, 5000, 10000)
    assert (second["into"], second["files"], second["read"]) == ("grown", 3, 15000)
    days.run(*AGGREGATE, "monday", "tuesday", "--out", "table")
    (table,) = (days.folder / "grown").rglob("batches/*")  # the one that waits
    assert table.read_bytes() == (days.folder / "table").read_bytes()
    grown = days.json("decode", "grown", "--plan", "plan.json", "--random-state", 0)
    assert grown == days.json("decode", "table", "--random-state", 0)


def test_wrong_calls_say_what_to_do(days, monkeypatch):
    both = days.run(*AGGREGATE, "monday", "--out", "table", "--into", "grown", code=2)
    neither = days.run(*AGGREGATE, "monday", code=2)
    for done in (both, neither):
        assert "give a file for the table, or --into a folder" in done.stderr
    into = (*AGGREGATE, "monday", "--into", "grown")
    for words in (("--engine", "inline"), ("--master", "local[2]")):
        assert "adds them on all cores of this machine" in days.fails(*into, *words)
    out = (*AGGREGATE, "monday", "--out", "table")
    assert "known: inline, parallel, spark" in days.fails(*out, "--engine", "abacus")
    refused = days.fails(*out, "--engine", "parallel", "--master", "yarn")
    assert "a master is the cluster's: the engine parallel has none" in refused
    assert "the first addition needs the plan" in days.fails("aggregate", "monday", "--into", "grown")

    real = builtins.__import__

    def without_pyspark(name, *rest):
        if name.partition(".")[0] == "pyspark":
            raise ImportError(name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pyspark)
    assert 'pip install "coterie[spark]" brings it' in days.fails(*out, "--engine", "spark")
    monkeypatch.undo()
    assert not (days.folder / "table").exists()
    assert not (days.folder / "grown").exists()


def test_without_java_the_engine_says_what_to_install(days, monkeypatch):
    pytest.importorskip("pyspark")
    which = shutil.which
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name, *rest: None if name == "java" else which(name, *rest))
    refused = days.fails(*AGGREGATE, "monday", "--out", "table", "--engine", "spark")
    assert "Spark needs Java 17 or newer" in refused
    assert "openjdk-17-jre-headless" in refused
