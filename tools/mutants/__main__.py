"""Small wrong changes of the source that tests must notice.

    python -m tools.mutants record         which test runs which line: once (the time of one suite, twice);
                                           with names of tests: these, too, the rest of the map stays
    python -m tools.mutants sample 40      so many of the rooms (--rooms) together, by a new seed (--seed)
    python -m tools.mutants sample 99999 --rooms privacy/odds.py     all of a file, or of a folder
    python -m tools.mutants named          promises that once no test held

A mutant lives in a temporary copy of the repository. The tests that run the changed line are tried first, the
cheapest before the others; what survives these meets all of `make test` (unless --no-whole). What survives
that is printed, unless `equivalents.txt` says why it changes nothing; the exit code is 1 where that is more
than --most. Outcomes are kept in .mutants/ and hold as long as the file does not change.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import coverage

from tools.mutants.named import NAMED, Named
from tools.mutants.operators import Mutant, mutants

ROOT = Path(__file__).parents[2]
PACKAGE = "src/coterie"
PREFIX = "coterie-mutants-"
KEPT = ROOT / ".mutants"
ROOMS = (
    *("privacy", "randomizers", "plan", "protocols", "encode", "collect", "store", "aggregate"),
    *("features", "service", "centers"),
)
SAMPLED = ("privacy", "encode", "protocols/codeword", "store", "service", "features", "centers")
EQUIVALENTS = Path(__file__).parent / "equivalents.txt"
# Numpy's kernels, and compiled ones as Python: numba would compile for every mutant anew, and hide lines.
ENVIRONMENT = {
    **{"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    **{"COTERIE_KERNELS": "numpy", "NUMBA_DISABLE_JIT": "1"},
}
PYTEST = (
    *(sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-W", "ignore:overflow encountered in scalar:RuntimeWarning"),  # compiled kernels count modulo 2^64
)
FIRST = 5.0  # CPU seconds of tests in the first round: most mutants are noticed there
SUITE = 1200.0  # and of all tests
CLOCK = 20  # seconds on the clock for each of the processor: the machine may be busy


def all_mutants(rooms: Iterable[str]) -> list[Mutant]:
    """Return the mutants of rooms as their files are now."""
    base = ROOT / PACKAGE
    files = base.rglob("*.py")
    paths = sorted(path for path in files if any(path.is_relative_to(base / room) for room in rooms))
    texts = {path.relative_to(base).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return [mutant for file, text in texts.items() for mutant in mutants(file, text)]


def equivalents() -> dict[str, str]:
    """Return accepted mutants with their reasons: names in a row, then the reason they share, indented."""
    accepted: dict[str, str] = {}
    for block in EQUIVALENTS.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        reason = " ".join(line.strip() for line in lines if line.startswith(" "))
        accepted.update({line: reason for line in lines if not line.startswith(" ")})
    return accepted


class Recorded:
    """Which tests run which lines, and what a test costs: coverage's contexts, and `tools.cpu_times`."""

    DATA, COSTS = KEPT / "coverage", KEPT / "costs.json"

    @classmethod
    def record(cls, tests: list[str]) -> int:
        """Run the suite, or some tests of it to add to the map; return pytest's exit code."""
        KEPT.mkdir(exist_ok=True)
        settings, costs = KEPT / "coverage.ini", KEPT / "new-costs.json"
        settings.write_text(
            f"[run]\ndata_file = {cls.DATA}\nsource = {PACKAGE}\nrelative_files = true\n"
            "dynamic_context = test_function\n"
        )
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}"]
        command += [*(["--append"] if tests else []), *PYTEST[1:], "-p", "tools.cpu_times", *tests]
        variables = {"COTERIE_CPU_TIMES": str(costs), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **ENVIRONMENT, **variables})  # noqa: S603
        known = json.loads(cls.COSTS.read_text(encoding="utf-8")) if tests and cls.COSTS.exists() else {}
        new = json.loads(costs.read_text(encoding="utf-8"))
        cls.COSTS.write_text(json.dumps(known | new), encoding="utf-8")
        return done.returncode

    @cached_property
    def costs(self) -> Counter[str]:
        """CPU seconds of each test function."""
        found: Counter[str] = Counter()
        for test, seconds in json.loads(self.COSTS.read_text(encoding="utf-8")).items():
            found[test.split("[")[0]] += seconds
        return found

    @cached_property
    def _data(self) -> coverage.CoverageData:
        data = coverage.CoverageData(str(self.DATA))
        data.read()
        return data

    def covering(self, mutant: Mutant, text: str) -> list[str]:
        """Return the tests that run the line, cheapest first; else those of ever more around it."""
        name = next((n for n in self._data.measured_files() if n.endswith(f"{PACKAGE}/{mutant.file}")), None)
        lines = self._data.contexts_by_lineno(name) if name else {}
        found: set[str] = set()
        for first, last in (*_spans(text, mutant.line), (0, 1 << 30)):
            found = {one for at, tests in lines.items() if first <= at <= last for one in tests if one}
            if found:
                break
        places = (context.rpartition(".") for context in found)
        tests = {f"{module.replace('.', '/')}.py::{function}" for module, _, function in places}
        own = Path(mutant.file).stem
        known = [test for test in tests if test in self.costs]
        return sorted(known, key=lambda test: self.costs[test] * (0.1 if own in test.split("::")[0] else 1))


def _spans(text: str, line: int) -> Iterator[tuple[int, int]]:
    """Yield ever larger stretches around a line: itself, its statement, its function."""
    around = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    yield from [(line, line), *sorted(around, key=lambda span: span[1] - span[0])]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: "killed", "slow" (out of time: the suite would never end) or "survived"."""

    state: str
    by: str = ""


class Tree:
    """A copy of the repository, in which one mutant at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)

    def tried(self, changed: dict[Path, str], rounds: Iterable[tuple[list[str], float]]) -> Outcome:
        """Write changed files (relative to the package), run rounds of tests until one fails, put back."""
        places = {self.folder / PACKAGE / path: text for path, text in changed.items()}
        original = {place: place.read_text(encoding="utf-8") for place in places}
        try:
            for place, text in places.items():
                place.write_text(text, encoding="utf-8")
            for tests, seconds in rounds:
                outcome = self._run(tests, seconds)
                if outcome.state != "survived":
                    return outcome
        finally:
            for place, text in original.items():
                place.write_text(text, encoding="utf-8")
        return Outcome("survived")

    def _run(self, tests: list[str], seconds: float) -> Outcome:
        limit = int(30 + 4 * seconds)
        environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(self.folder / "src")}
        command = ["sh", "-c", f'ulimit -t {limit}; exec "$@"', "sh", *PYTEST, "-x", *tests]
        process = subprocess.Popen(  # noqa: S603
            command, cwd=self.folder, env=environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            said, _ = process.communicate(timeout=CLOCK * limit)
        except subprocess.TimeoutExpired:
            return Outcome("slow")
        finally:
            if process.poll() is None:  # out of time, or interrupted
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode == 0:
            return Outcome("survived")
        if process.returncode < 0:
            return Outcome("slow")
        failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return Outcome("killed", failed[0].split(" - ")[0] if failed else said[-200:].strip())


def rounds_of(mutant: Mutant, recorded: Recorded, *, whole: bool) -> Iterator[tuple[list[str], float]]:
    """Yield tests with their CPU seconds: the cheapest that run the line, the others, all there are."""
    tests = recorded.covering(mutant, (ROOT / PACKAGE / mutant.file).read_text(encoding="utf-8"))
    first, spent = [], 0.0
    while tests and (not first or spent + recorded.costs[tests[0]] < FIRST):
        spent += recorded.costs[tests[0]]
        first.append(tests.pop(0))
    for part in (first, tests):
        if part:
            yield part, sum(recorded.costs[test] for test in part)
    if whole:
        yield [], SUITE


def sample(count: int, rooms: list[str], seed: int, workers: int, most: int, *, whole: bool) -> int:
    """Try mutants chosen at random; return 1 if more than `most` survive that nobody has explained."""
    recorded, accepted, every = Recorded(), equivalents(), all_mutants(rooms)
    chosen = random.Random(seed).sample(every, min(count, len(every)))  # noqa: S311
    kept = Kept()
    left = []
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX) as folder,
        ThreadPoolExecutor(workers) as pool,
    ):
        trees: queue.Queue[Tree] = queue.Queue()
        for number in range(workers):
            trees.put(Tree(Path(folder) / str(number)))

        def work(mutant: Mutant) -> Outcome:
            if (known := kept.of(mutant)) is not None:
                return known
            tree = trees.get()
            try:
                return tree.tried(
                    {Path(mutant.file): mutant.source}, rounds_of(mutant, recorded, whole=whole)
                )
            finally:
                trees.put(tree)

        waiting = {pool.submit(work, mutant): mutant for mutant in chosen}
        for number, done in enumerate(as_completed(waiting), 1):
            mutant, outcome = waiting[done], done.result()
            kept.keep(mutant, outcome)
            explained = mutant.name in accepted
            if outcome.state == "survived" and not explained:
                left.append(mutant)
            state = "accepted" if explained and outcome.state == "survived" else outcome.state
            print(
                f"[{number}/{len(chosen)}] {state:<9}{mutant.name} (line {mutant.line})  {outcome.by}",
                flush=True,
            )
    print(f"seed {seed}: {len(left)} of {len(chosen)} mutants of {', '.join(rooms)} survive")
    return len(left) > most


class Kept:
    """Outcomes of earlier runs, a line of JSON each."""

    def __init__(self) -> None:
        self.path = KEPT / "outcomes.jsonl"
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self._rows: dict[str, list[str]] = {row[0]: row for row in map(json.loads, lines)}

    def of(self, mutant: Mutant) -> Outcome | None:
        """Return the outcome of a mutant if it was tried on the file as it is; survivors are tried again."""
        row = self._rows.get(mutant.name)
        return Outcome(*row[2:]) if row and row[1] == _digest(mutant) and row[2] != "survived" else None

    def keep(self, mutant: Mutant, outcome: Outcome) -> None:
        """Take an outcome down."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([mutant.name, _digest(mutant), outcome.state, outcome.by]) + "\n")


def _digest(mutant: Mutant) -> str:
    return hashlib.sha256(mutant.source.encode()).hexdigest()[:16]


def named(tried: Sequence[Named] = NAMED) -> int:
    """Try the named mutants, all of which must be noticed."""
    missed = 0
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        tree = Tree(Path(folder))
        for mutant in tried:
            outcome = tree.tried(mutant.changed(ROOT / PACKAGE), [(list(mutant.tests), 200)])
            missed += outcome.state == "survived"
            print(f"{outcome.state:<9}{mutant.promise}  {outcome.by}", flush=True)
    print(f"{missed} of {len(tried)} named mutants survive")
    return int(missed > 0)


def main() -> int:
    """Read the command line."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m tools.mutants", description=__doc__, formatter_class=plain)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("tests", nargs="*")
    commands.add_parser("named")
    some = commands.add_parser("sample")
    some.add_argument("count", type=int)
    some.add_argument("--rooms", nargs="+", default=list(SAMPLED), help="folders or files of the package")
    some.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 20))
    some.add_argument("--workers", type=int, default=2)
    some.add_argument("--most", type=int, default=2, help="survivors that pass")
    some.add_argument("--no-whole", action="store_true", help="only tests that are known to run the line")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # copies and tests go, however it ends
    if asked.command == "record":
        return Recorded.record(asked.tests)
    if asked.command == "named":
        return named()
    whole = not asked.no_whole
    return sample(asked.count, asked.rooms, asked.seed, asked.workers, asked.most, whole=whole)


if __name__ == "__main__":
    sys.exit(main())
