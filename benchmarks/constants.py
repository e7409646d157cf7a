"""What holds each constant of the decoder: whether halving and doubling it is noticed.

    python -m benchmarks constants [--only NAME …] [--workers N]

Each number that a module of `coterie.centers` names in capitals, and that a decode loads, is halved and
doubled in a copy of the package, and the quick tests of that room run against the copy until one fails
(results/constants.csv: who noticed). A constant that no test notices fails the run: it needs a test, or goes.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.decoder_size import SOURCE, constants, size_of
from coterie.plain.files import replacing

ROOM = "tests/unit/centers"
FIRST = f"{ROOM}/test_thresholds.py"  # most constants have a test there: seconds instead of the whole room
TESTS = ((FIRST,), (ROOM, f"--ignore={FIRST}"))
OPTIONS = ("-m", "not slow", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")
LIMIT = 300  # seconds; either part takes less than 20 where nothing is changed
FACTORS = (0.5, 2.0)
OUT = harness.RESULTS / "constants.csv"
ROOT = Path(__file__).parents[1]


def numbers(source: Path = SOURCE) -> dict[str, Any]:
    """Return the decoder's constants that are numbers, or tuples of them, by module.NAME."""
    found = {}
    for module, _, count in size_of(source).by_module:
        if not count or module == "__init__":
            continue
        text = (source / "coterie" / "centers" / f"{module}.py").read_text(encoding="utf-8")
        loaded = importlib.import_module(f"coterie.centers.{module}")
        for name in constants(text):
            if scaled(getattr(loaded, name), 2.0) is not None:
                found[f"{module}.{name}"] = getattr(loaded, name)
    return found


def scaled(value: Any, factor: float) -> Any:
    """Return a number, or a tuple of numbers, times a factor; None for anything else.

    Examples
    --------
    >>> scaled(3, 0.5), scaled((0.4, 0.2), 2.0), scaled("means", 2.0)
    (1, (0.8, 0.4), None)
    """
    if isinstance(value, tuple) and value:
        parts = tuple(scaled(each, factor) for each in value)
        return None if None in parts else parts
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value * factor) if isinstance(value, int) else value * factor


def noticed_by(name: str, factor: float) -> str:
    """Return the test that fails when a constant is scaled, or that none ended; nothing if all pass."""
    module, _, constant = name.partition(".")
    value = scaled(getattr(importlib.import_module(f"coterie.centers.{module}"), constant), factor)
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "coterie"
        shutil.copytree(SOURCE / "coterie", package, ignore=shutil.ignore_patterns("__pycache__"))
        path = package / "centers" / f"{module}.py"
        path.write_text(_with(path.read_text(encoding="utf-8"), constant, value), encoding="utf-8")
        return next(filter(None, (_failed(tests, folder) for tests in TESTS)), "")


def _failed(tests: Sequence[str], folder: str) -> str:
    """Return the first of these tests that fails with the package in a folder."""
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "pytest", *tests, *OPTIONS],
            cwd=ROOT,
            env=os.environ | single | {"PYTHONPATH": folder},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {LIMIT} s"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if done.returncode and not failed:
        raise RuntimeError(done.stdout[-2000:])
    return failed[0].split()[1].rpartition("/")[2] if failed else ""


def _with(text: str, name: str, value: Any) -> str:
    """Return a module's text with another value of one constant."""
    for statement in ast.parse(text).body:
        target = statement.target if isinstance(statement, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == name:
            lines = text.splitlines(keepends=True)
            first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
            return "".join([*lines[:first], f"{name}: Final = {value!r}\n", *lines[last:]])
    raise ValueError(f"no constant {name}")


def read() -> dict[tuple[str, float], str]:
    """Return who noticed, by name and factor, as the file has it."""
    if not OUT.exists():
        return {}
    rows = (line.split(",", 2) for line in OUT.read_text(encoding="utf-8").splitlines()[1:])
    return {(name, float(factor)): test for name, factor, test in rows}


def main() -> None:
    """Run what the file does not hold; exit code 1 if nothing notices some constant."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    known, names = read(), list(numbers())
    known = {key: test for key, test in known.items() if key[0] in names}
    jobs = [
        (name, factor)
        for name in names
        for factor in FACTORS
        if (name, factor) not in known and (not options.only or name in options.only)
    ]

    if jobs and (failed := noticed_by(names[0], 1.0)):
        raise SystemExit(f"{failed} fails as things are: what notices nothing cannot be told")

    def run(job: tuple[str, float]) -> None:
        known[job] = noticed_by(*job)
        print(f"{job[0]} x {job[1]:g}: {known[job] or 'not noticed'}", flush=True)
        with replacing(OUT) as file:
            lines = ["constant,factor,noticed by", *(f"{n},{f:g},{t}" for (n, f), t in sorted(known.items()))]
            file.write(("\n".join(lines) + "\n").encode())

    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(run, jobs))
    rows = [[name, *(known.get((name, factor), "") or "**nothing**" for factor in FACTORS)] for name in names]
    print(harness.table(["constant", *(f"x {factor:g}" for factor in FACTORS)], rows))
    raise SystemExit(any("**nothing**" in row for row in rows))
