"""Benchmarks of service, audit and hostile plans leave a file of what they print, and of the machine."""

import itertools
import json
import sys
from types import SimpleNamespace

import pytest

from benchmarks import audit_time, hostile_plans, processors, service_attack

ATTACKED = {"rate": 400.0, "p50": 1.0, "p99": 2.0, "again": 0.0, "mib": 100.0, "log_lines": 0.0}


@pytest.fixture
def stored(monkeypatch, tmp_path):
    """Run a benchmark's command; return what it said of broken promises, and its file."""

    def run(module, *arguments):
        out = tmp_path / "figures.json"
        monkeypatch.setattr(sys, "argv", ["benchmark", "--out", str(out), *arguments])
        try:
            broken = module.main()
        except SystemExit as ended:
            broken = ended.code
        found = json.loads(out.read_text(encoding="utf-8"))
        assert {"processor", "cores"} <= found["machine"].keys()
        return broken, found

    return run


def test_what_attackers_take(stored, monkeypatch):
    monkeypatch.setattr(service_attack, "measure", lambda names, seconds: ATTACKED)
    broken, found = stored(service_attack, "--seconds", "1")
    assert (broken, found["promised"]["broken"], len(found["attacks"])) == (0, 0, 9)
    assert found["attacks"][-1] == {"attackers": "all of it", "kept": 1.0, **ATTACKED}


def test_what_hostile_plans_cost(stored, monkeypatch):
    monkeypatch.setattr(hostile_plans, "PLANS", {"dear": lambda: None})
    figures = {"seconds": 6.0, "mib": 1, "refused": "", "size": 1, "bytes": 1}
    monkeypatch.setattr(hostile_plans, "measure", lambda plan: figures)
    broken, found = stored(hostile_plans)
    assert (broken, found["promised"]["broken"]) == (1, 1)
    assert found["plans"] == [{"plan": "dear", **figures}]


def test_what_other_processors_find(stored, monkeypatch):
    monkeypatch.setattr(processors.subprocess, "run", lambda *_, **__: None)
    broken, found = stored(processors, "--tables", "0")
    assert not broken
    assert (found["honest"], found["refused"], found["accepted"]) == (0, [], [])
    assert found["cores"] == list(processors.CORES)


@pytest.mark.parametrize(("seconds", "late"), [(290.0, 0), (570.0, 1)])
def test_ten_minutes_of_an_audit_are_those_of_the_clock(stored, monkeypatch, seconds, late):
    """An audit and its broken clients that take 19 minutes on one core are late, whatever two would take."""
    clock, processor = itertools.count(0.0, seconds), itertools.count(0.0, seconds)
    monkeypatch.setattr(audit_time.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(audit_time.time, "process_time", lambda: next(processor))
    passed = SimpleNamespace(passed=True, checks=(), failures=())
    monkeypatch.setattr(audit_time, "audit", lambda plan, **_: passed)
    monkeypatch.setattr(audit_time, "CANARIES", ())
    monkeypatch.setattr(audit_time, "PLANS", {"one": {"users": 100, "epsilon": 1.0}})
    broken, found = stored(audit_time, "--quick")
    assert (broken, found["failed"], found["longest s"]) == (late, 0, 2 * seconds)
    assert found["audits"][0]["processor s"] == seconds
