"""Try mutants: fork, import the mutated package, run the tests that execute the changed line, fastest first.

Other people's packages are loaded once, before the fork; the package itself is loaded by every child from
its own temporary copy, which child processes of tests see, too (PYTHONPATH). A child that outlives its time
on the processor (thrice what its tests took, and 10 s) is killed with all its children, and the mutant counts
as noticed: the suite would never have ended.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import math
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tools.mutants.named import Named
from tools.mutants.operators import Mutant
from tools.mutants.tree import ENVIRONMENT, PACKAGE, WRAPPING, digest

_OPTIONS = (
    *WRAPPING,
    *("-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # hypothesis is loaded before the fork
)
# pytest's exit codes; 2: a test file cannot be imported; 4: conftest.py cannot.
_PASSED, _FAILED, _NO_TEST_FILE, _NO_CONFTEST = 0, 1, 2, 4
WAITING = 30  # seconds on the clock for each of the processor: the machine may be busy with other things
FIRST = 3.0  # seconds of tests in the first round: most mutants are noticed there
FIRST_FILES = 3  # and of so many files: to import a file of tests often takes longer than to run one of them


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: "killed", "slow" (timed out), "survived", "cut" (budget spent) or "unseen"."""

    state: str
    by: str  # the test that noticed it
    tests: int
    seconds: float

    @property
    def noticed(self) -> bool:
        """Whether a test failed or never ended."""
        return self.state in ("killed", "slow")


class Map:
    """Which tests execute which lines."""

    def __init__(self, path: Path) -> None:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        self.tests: list[str] = content["tests"]
        self.seconds: list[float] = content["seconds"]
        self.modules: list[str] = content["modules"]
        self._files: dict[str, Any] = content["files"]

    @cached_property
    def _cost(self) -> dict[str, float]:
        return dict(zip(self.tests, self.seconds, strict=True))

    def cost(self, test: str) -> float:
        """Return how many seconds a test took."""
        return self._cost[test]

    def covering(self, file: str, source: str, line: int) -> list[str]:
        """Return the tests to try a change of this line against, cheapest first.

        The tests of the line; where the file changed since the map was made, or the line runs at import only,
        those of the whole function or module.
        """
        seen = self._files.get(file)
        if seen is None:
            return []
        lines: dict[int, list[int]] = {int(k): v for k, v in seen["lines"].items()}
        found: set[int] = set()
        if seen["digest"] == digest(source):
            for first, last in _spans(source, line):
                for at in range(first, last + 1):
                    found.update(lines.get(at, ()))
                if found:
                    break
        if not found:
            found = set().union(*lines.values())
        own = Path(file).stem.split("_")[0]
        chosen = [self.tests[i] for i in found]
        return sorted(chosen, key=lambda test: self._cost[test] * (0.2 if own in test.split("::")[0] else 1))


def joined(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return one map of two: tests and files of the newer one stand for those of the older.

    What the older map says of a file that has changed since is left out.
    """
    again = set(new["tests"])
    kept = [i for i, test in enumerate(old["tests"]) if test not in again]
    number = {i: len(new["tests"]) + place for place, i in enumerate(kept)}
    files: dict[str, Any] = {}
    for name in sorted({*old["files"], *new["files"]}):
        was, now = old["files"].get(name), new["files"].get(name)
        if was is None or now is None or was["digest"] != now["digest"]:
            was, now = (was, {"digest": was["digest"], "lines": {}}) if now is None else (None, now)
        lines = {line: list(tests) for line, tests in now["lines"].items()}
        for line, tests in was["lines"].items() if was is not None else ():
            lines.setdefault(line, []).extend(number[i] for i in tests if i in number)
        files[name] = {"digest": now["digest"], "lines": lines}
    return {
        "tests": [*new["tests"], *(old["tests"][i] for i in kept)],
        "seconds": [*new["seconds"], *(old["seconds"][i] for i in kept)],
        "files": files,
        "modules": sorted({*old["modules"], *new["modules"]}),
    }


def _spans(source: str, line: int) -> Iterator[tuple[int, int]]:
    """Yield ever larger stretches around a line: itself, its statement, its function."""
    yield line, line
    around = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    yield from sorted(around, key=lambda span: span[1] - span[0])


class _Chosen:
    """A pytest plugin: run these tests in this order (None: all), and write down which one failed."""

    def __init__(self, tests: list[str] | None, note: Path) -> None:
        self.order = None if tests is None else {test: index for index, test in enumerate(tests)}
        self.note = note

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen ones; tests of one file stay together, for their fixtures."""
        if self.order is None:
            return
        kept = [item for item in items if item.nodeid in self.order]
        first: dict[Path, int] = {}
        for item in kept:
            first[item.path] = min(first.get(item.path, 1 << 30), self.order[item.nodeid])
        items[:] = sorted(kept, key=lambda item: (first[item.path], self.order[item.nodeid]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the failing test."""
        if report.failed:
            self.note.write_text(report.nodeid, encoding="utf-8")


def load(modules: list[str]) -> None:
    """Import other people's packages, so that children need not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    ours = [name for name in sys.modules if name.split(".")[0] == "coterie"]
    if ours:
        raise RuntimeError(f"the package is loaded already: {ours[0]}")


class Trial:
    """One mutant after another in one copy of the repository."""

    def __init__(self, tree: Path, recorded: Map | None) -> None:
        self.tree, self._map = tree, recorded
        self._running = 0  # the child, a process group of its own

    @property
    def map(self) -> Map:
        """The map of tests; named mutants need none."""
        if self._map is None:
            raise RuntimeError("no map of tests was given")
        return self._map

    def of(self, mutant: Mutant, *, budget: float) -> Outcome:
        """Try one mutant against at most `budget` seconds of tests (by their recorded time)."""
        started = time.monotonic()
        place = self.tree / PACKAGE / mutant.file
        original = place.read_text(encoding="utf-8")
        tests = self.map.covering(mutant.file, original, mutant.line)
        rounds, spent = _rounds(tests, self.map, budget)
        ran = 0
        place.write_text(mutant.source, encoding="utf-8")
        try:
            for chosen in rounds:
                limit = 10 + 3 * sum(map(self.map.cost, chosen))
                code, by = self._child(chosen, limit)
                ran += len(chosen)
                if code is None:
                    return Outcome("slow", "", ran, time.monotonic() - started)
                if code not in (_PASSED, _FAILED, _NO_TEST_FILE, _NO_CONFTEST) and code > 0:
                    log = (self.tree / ".log").read_text(encoding="utf-8", errors="replace")
                    raise RuntimeError(
                        f"pytest ended with {code} instead of a verdict on {mutant.name}:\n{log}"
                    )
                if code != _PASSED:
                    return Outcome("killed", by, ran, time.monotonic() - started)
        finally:
            place.write_text(original, encoding="utf-8")
        state = "unseen" if not tests else "survived" if spent else "cut"
        return Outcome(state, "", ran, time.monotonic() - started)

    def of_named(self, mutant: Named) -> Outcome:
        """Try a named mutant against its own tests."""
        started = time.monotonic()
        changed = mutant.changed(self.tree)
        original = {path: path.read_text(encoding="utf-8") for path in changed}
        try:
            for path, text in changed.items():
                path.write_text(text, encoding="utf-8")
            code, by = self._child(list(mutant.tests), 300, ordered=False)
        finally:
            for path, text in original.items():
                path.write_text(text, encoding="utf-8")
        state = {None: "slow", _PASSED: "survived", _FAILED: "killed"}.get(code, f"no verdict ({code})")
        return Outcome(state, by, 0, time.monotonic() - started)

    def control(self, files: set[str]) -> None:
        """Raise RuntimeError unless tests of these files pass without any change."""
        tests: dict[str, None] = {}
        for file in sorted(files):
            covering = self.map.covering(file, "", 0)
            tests.update(dict.fromkeys(covering[:: max(1, len(covering) // 20)]))
        chosen = [test for test in tests if self.map.cost(test) < 1]
        code, by = self._child(chosen, 60 + 3 * sum(map(self.map.cost, chosen)))
        if code != _PASSED:
            log = (self.tree / ".log").read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"without any change pytest ends with {code} at {by}:\n{log}")

    def stop(self) -> None:
        """End the process, and the tests that it is running."""
        if self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running, signal.SIGKILL)
        os._exit(0)

    def _child(self, tests: list[str], limit: float, *, ordered: bool = True) -> tuple[int | None, str]:
        """Run tests in a fork; return pytest's exit code (None: out of time) and who failed."""
        note = self.tree / ".failed"
        note.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit)))
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os._exit(self._inside(tests, note, ordered))
        self._running = child
        end = time.monotonic() + WAITING * limit
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                self._running = 0
                code = os.waitstatus_to_exitcode(status)
                if code in (-signal.SIGXCPU, -signal.SIGKILL):
                    return None, ""
                return code, note.read_text(encoding="utf-8") if note.exists() else "while importing"
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None, ""

    def _inside(self, tests: list[str], note: Path, ordered: bool) -> int:
        code = 70
        try:
            os.setsid()
            os.chdir(self.tree)
            os.environ.update(ENVIRONMENT, PYTHONPATH=str(self.tree / "src"))
            sys.path[:0] = [str(self.tree / "src"), str(self.tree)]
            sys.dont_write_bytecode = True
            log = os.open(self.tree / ".log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            files = list(dict.fromkeys(test.split("::")[0] for test in tests)) if ordered else tests
            code = int(
                pytest.main(
                    [*_OPTIONS, *files],
                    plugins=[_Chosen(tests if ordered else None, note)],
                )
            )
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        return code


def _rounds(tests: list[str], recorded: Map, budget: float) -> tuple[list[list[str]], bool]:
    """Split tests into a short first round of few files and the rest in the budget; tell if all are in."""
    first, rest, spent = [], [], 0.0
    files: set[str] = set()
    for test in tests:
        cost = recorded.cost(test) + 0.002
        if spent + cost > budget and (first or rest):
            continue
        spent += cost
        file = test.split("::")[0]
        early = spent <= FIRST and (file in files or len(files) < FIRST_FILES)
        if early or not first:
            files.add(file)
            first.append(test)
        else:
            rest.append(test)
    return [part for part in (first, rest) if part], len(first) + len(rest) == len(tests)
