"""Processor seconds of tests, which a busy machine does not stretch: `pytest -p tools.cpu_times`.

Children that a test has waited for count, other servers do not. At the end: seconds by folder, and the tests
that take most; the file that COTERIE_CPU_TIMES names gets all of them, as JSON. Half of all is what two idle
cores need, beside some ten seconds to start and collect.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

MOST = 40


def _seconds() -> float:
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


class _Start:
    at = 0.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note in each report (setup, call, teardown) what was spent since the last one."""
    report = yield
    now = _seconds()
    report.user_properties = [("cpu", now - _Start.at)]
    _Start.at = now
    return report


def pytest_collection_finish() -> None:
    """Begin to count."""
    _Start.at = _seconds()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what folders and tests took."""
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "cpu":
                    tests[report.nodeid] += value
    folders: Counter[str] = Counter()
    for test, seconds in tests.items():
        folders["/".join(test.split("::")[0].split("/")[:-1])] += seconds
    for title, table in (("folder", folders), ("test", tests)):
        terminalreporter.section(f"CPU seconds by {title}")
        for name, seconds in table.most_common(MOST):
            terminalreporter.line(f"{seconds:8.1f}  {name}")
    terminalreporter.line(f"{sum(tests.values()):8.1f}  all")
    if out := os.environ.get("COTERIE_CPU_TIMES"):
        Path(out).write_text(json.dumps(tests), encoding="utf-8")
