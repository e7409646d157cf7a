"""A pytest plugin: which test executes which lines of the rooms, and how long each test takes.

`python -m tools.mutants record` runs the suite once with it. Tests in child processes are not seen, so a
line nobody executes in this process is tried against the tests of its module.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

from tools.mutants.tree import PACKAGE, ROOMS, digest


class Recorder:
    """Keeps one coverage context for each test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.measure = coverage.Coverage(
            data_file=None,
            config_file=False,
            include=[f"{root}/{PACKAGE}/{room}/*" for room in ROOMS],
        )
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.measure.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Name the context after the test."""
        self.measure.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.measure.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up setup, call and teardown; what fails now, or by the clock, cannot tell a mutant."""
        self.seconds[report.nodeid] += report.duration
        if report.outcome != "passed" or "test_timing" in report.nodeid:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the map."""
        self.measure.stop()
        data = self.measure.get_data()
        tests = sorted(set(self.seconds) - self.failed)
        number = {test: index for index, test in enumerate(tests)}
        lines: dict[str, Any] = {}
        for measured in sorted(data.measured_files()):
            source = Path(measured)
            lines[str(source.relative_to(self.root / PACKAGE))] = {
                "digest": digest(source.read_text(encoding="utf-8")),
                "lines": {
                    str(line): sorted(number[test] for test in contexts if test in number)
                    for line, contexts in data.contexts_by_lineno(measured).items()
                },
            }
        Path(os.environ["MUTANTS_MAP"]).write_text(
            json.dumps(
                {
                    "tests": tests,
                    "seconds": [round(self.seconds[test], 3) for test in tests],
                    "files": lines,
                    "modules": sorted(name for name in sys.modules if _foreign(name)),
                }
            ),
            encoding="utf-8",
        )


def _foreign(name: str) -> bool:
    """Tell whether a module can be loaded once for all mutants: it is neither ours nor pytest's."""
    ours = ("coterie", "tests", "tools", "benchmarks", "conftest", "test_", "__main__", "__mp_main__")
    return not name.startswith(ours) and not name.startswith(
        ("pytest", "_pytest", "_hypothesis", "xdist", "coverage")
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start before the tests are imported."""
    config.pluginmanager.register(Recorder(config.rootpath), "mutants-recorder")
