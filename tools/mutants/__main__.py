"""Commands: `record` the map of tests, `run` mutants, `named` ones, `report` what is known.

python -m tools.mutants record                       once, and after large changes (the time of one suite)
python -m tools.mutants record --add --tests FILE …  these tests, too; the rest of the map stays
python -m tools.mutants run --room privacy           all of a room; what is known already is not run again
python -m tools.mutants run --sample 60 --seed 1     so many of each room
python -m tools.mutants run --survivors --budget 300 once more those that nobody noticed
python -m tools.mutants report                       shares, and survivors without a reason; exit code 1
                                                     where privacy, randomizers or encode has any, or
                                                     another room 5 % or more
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.mutants.named import NAMED
from tools.mutants.operators import Mutant
from tools.mutants.results import Results, all_mutants, equivalents, report
from tools.mutants.tree import ROOMS, ROOT, WRAPPING, copy_of_repository, environment
from tools.mutants.trial import Map, Outcome, Trial, joined, load

MAP = ROOT / ".mutants" / "map.json"


def record(tests: Sequence[str] = (), *, add: bool = False) -> int:
    """Run the suite, or these tests of it, once and write the map, or add them to the one there is."""
    MAP.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="coterie-mutants-") as folder:
        tree, made = copy_of_repository(Path(folder) / "tree"), Path(folder) / "map.json"
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "tools.mutants.recorder"),
            *("-p", "no:cacheprovider", "-p", "no:xdist", *WRAPPING, *tests),
        ]
        variables = environment(tree) | {"MUTANTS_MAP": str(made)}
        variables["PYTHONPATH"] += os.pathsep + str(tree)
        code = subprocess.run(command, cwd=tree, env=variables, check=False).returncode  # noqa: S603
        content = json.loads(made.read_text(encoding="utf-8"))
        if add and MAP.exists():
            content = joined(json.loads(MAP.read_text(encoding="utf-8")), content)
        MAP.write_text(json.dumps(content), encoding="utf-8")
        return code


def try_all(todo: list[Mutant], *, budget: float, workers: int, results: Results) -> None:
    """Try mutants with several workers, each in its own copy, and print one line for each."""
    recorded = Map(MAP)
    load(recorded.modules)
    context = multiprocessing.get_context("fork")
    waiting: multiprocessing.Queue[int | None] = context.Queue()
    done: multiprocessing.Queue[tuple[int, Outcome]] = context.Queue()
    with tempfile.TemporaryDirectory(prefix="coterie-mutants-") as folder:
        for index in [*range(len(todo)), *[None] * workers]:
            waiting.put(index)

        def work(number: int) -> None:
            trial = Trial(copy_of_repository(Path(folder) / str(number)), recorded)
            signal.signal(signal.SIGTERM, lambda *_: trial.stop())
            if number == 0:
                trial.control({mutant.file for mutant in todo})
            while (index := waiting.get()) is not None:
                done.put((index, trial.of(todo[index], budget=budget)))

        processes = [context.Process(target=work, args=(number,)) for number in range(workers)]
        for process in processes:
            process.start()
        try:
            for count in range(1, len(todo) + 1):
                index, outcome = _next(done, processes)
                results.keep(todo[index], outcome)
                if count % 25 == 0:
                    results.save()
                print(
                    f"[{count}/{len(todo)}] {outcome.state:<8} {outcome.seconds:5.1f} s  "
                    f"{todo[index].name}  {outcome.by}",
                    flush=True,
                )
        finally:
            for process in processes:
                process.terminate()
                process.join()
            results.save()


def _next(done: multiprocessing.Queue[Any], processes: list[Any]) -> tuple[int, Outcome]:
    """Wait for an outcome; RuntimeError if a worker has died."""
    while True:
        try:
            found: tuple[int, Outcome] = done.get(timeout=5)
        except queue.Empty:
            if any(process.exitcode not in (None, 0) for process in processes):
                raise RuntimeError("a worker ended early; what it said is above") from None
        else:
            return found


def chosen(arguments: argparse.Namespace, results: Results) -> list[Mutant]:
    """Return the mutants that a run is asked for and that are not known yet."""
    todo = []
    accepted = equivalents()
    for room in arguments.room or ROOMS:
        made = all_mutants([room])
        if arguments.file:
            made = [mutant for mutant in made if arguments.file in mutant.file]
        if arguments.sample is not None:
            made = random.Random(arguments.seed).sample(made, min(arguments.sample, len(made)))  # noqa: S311
        for mutant in made:
            known = results.of(mutant)
            again = arguments.survivors and known is not None and not known.noticed
            if arguments.survivors and mutant.name in accepted:
                continue
            if again or (known is None and not arguments.survivors):
                todo.append(mutant)
    return todo


def named() -> int:
    """Try the named mutants, all of which must be noticed."""
    load([])
    missed = 0
    with tempfile.TemporaryDirectory(prefix="coterie-mutants-") as folder:
        trial = Trial(copy_of_repository(Path(folder)), None)
        for mutant in NAMED:
            outcome = trial.of_named(mutant)
            missed += not outcome.noticed
            print(f"{outcome.state:<9}{outcome.seconds:5.1f} s  {mutant.promise}  {outcome.by}", flush=True)
    print(f"{len(NAMED) - missed} of {len(NAMED)} named mutants noticed")
    return 1 if missed else 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("command", choices=("record", "run", "named", "report"))
    parser.add_argument("--room", action="append", choices=ROOMS, help="this room only; may be repeated")
    parser.add_argument("--file", help="files whose name contains this")
    parser.add_argument("--sample", type=int, help="so many mutants of each room")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--survivors", action="store_true", help="again those that nobody noticed")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for one mutant")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tests", nargs="*", default=[], help="record these only; all of them by default")
    parser.add_argument("--add", action="store_true", help="record into the map there is")
    arguments = parser.parse_args()
    for ending in (signal.SIGTERM, signal.SIGINT):  # copies are removed and results kept, however it ends
        signal.signal(ending, lambda number, _: sys.exit(128 + number))
    if arguments.command == "record":
        return record(arguments.tests, add=arguments.add)
    if arguments.command == "named":
        return named()
    if arguments.command == "run" and not MAP.exists() and (failed := record()):
        return failed
    results = Results()
    if arguments.command == "run":
        todo = chosen(arguments, results)
        try_all(todo, budget=arguments.budget, workers=arguments.workers, results=results)
    return 0 if report(results, arguments.room or ROOMS) else 1


if __name__ == "__main__":
    sys.exit(main())
