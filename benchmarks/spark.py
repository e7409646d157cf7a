"""Spark against `inline`: the same bits from a cluster of processes, one of which is killed in the middle.

    python -m benchmarks spark                     10^7 reports, 5 % of them duplicates, d = 100
    python -m benchmarks spark --reports 1000000 --executors 3 --kill-after 0
    python -m tools.postgres bash -c 'python -m benchmarks spark --store $COTERIE_POSTGRES'

A local cluster: this machine plays master and executors, each executor a process of its own (a JVM, and
Python beside it). When a part of the tasks has ended, one executor is killed (SIGKILL) with everything it
had; Spark starts another and does its work again. With --store the reports are put into a collector's store,
an empty one, and read from there. Printed, as JSON, and written: times, the executors' CPU
seconds (JVM and Python, start and compilation included), and whether tables and counts are those of `inline`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from coterie.aggregate import Aggregate
from coterie.collect.intake import IntakeCounts
from coterie.engines import engine
from coterie.engines.base import Engine
from coterie.engines.spark import Spark
from coterie.plan import Plan
from coterie.store import open_store
from coterie.store.base import Counts
from coterie.wire.forms import report_form
from coterie.wire.report_file import ReportFile, writing_reports

RESULT = Path(__file__).parent / "results" / "spark.json"
_BACKEND = b"CoarseGrainedExecutorBackend"


def cluster(executors: int, memory_mb: int = 1024, **environment: str) -> tuple[str, dict[str, str]]:
    """Return master and settings of a cluster of processes on this machine, one core each."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.executor.memory": f"{memory_mb}m",
        "spark.shuffle.io.maxRetries": "1",  # a process that was killed does not come back
        "spark.shuffle.io.retryWait": "1s",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "spark.executorEnv.OMP_NUM_THREADS": "1",
    }
    settings |= {f"spark.executorEnv.{name}": value for name, value in environment.items()}
    return f"local-cluster[{executors},1,{memory_mb}]", settings


def executor_processes() -> list[int]:
    """Return the executors among the processes that this one has started, by their ids."""
    return sorted({above for _, above, _ in _executor_tree()})


def _executor_tree() -> list[tuple[int, int, float]]:
    """Return every process of an executor: its id, the executor's, and the CPU seconds it has used."""
    parents, used, executors = {}, {}, set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
            used[int(folder.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if any(word.endswith(_BACKEND) for word in words):
                executors.add(int(folder.name))
    found = []
    for process, seconds in used.items():
        above, executor = process, 0
        while above > 1 and above != os.getpid():
            executor = above if above in executors else executor
            above = parents.get(above, 0)
        if executor and above == os.getpid():
            found.append((process, executor, seconds))
    return found


@contextlib.contextmanager
def cpu_seconds() -> Iterator[dict[int, float]]:
    """Watch what executors use while the block lasts, by process."""
    used: dict[int, float] = {}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.25):
            used.update({process: seconds for process, _, seconds in _executor_tree()})

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield used
    finally:
        over.set()
        watcher.join()


class Killed:
    """What was killed, and when."""

    process: int | None = None
    after_tasks: int = 0


@contextlib.contextmanager
def killing(after_tasks: int) -> Iterator[Killed]:
    """Kill one executor once so many tasks of the running job have ended."""
    from pyspark import SparkContext

    done, over = Killed(), threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            context = SparkContext._active_spark_context
            if context is None:
                continue
            with contextlib.suppress(Exception):  # the context may end at any moment
                tracker = context.statusTracker()
                ended = 0
                for job in tracker.getActiveJobsIds():
                    info = tracker.getJobInfo(job)
                    stages = [] if info is None else [tracker.getStageInfo(each) for each in info.stageIds]
                    ended += sum(stage.numCompletedTasks for stage in stages if stage is not None)
                if ended >= after_tasks and (found := executor_processes()):
                    os.kill(found[0], signal.SIGKILL)
                    done.process, done.after_tasks = found[0], ended
                    return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield done
    finally:
        over.set()
        watcher.join()


def write_files(
    folder: Path, plan: Plan, reports: int, files: int, duplicates: float, seed: int
) -> list[Path]:
    """Write report files of random reports, a share of them repeated from another file, a few conflicting."""
    rng = np.random.default_rng(seed)
    each = reports // files
    form = report_form(plan)
    paths, before = [], None
    for number in range(files):
        rows = rng.integers(0, 256, (each, plan.report_width), dtype=np.uint8)
        while (wrong := form.foreign(rows)).any():
            rows[wrong] = rng.integers(0, 256, (int(wrong.sum()), plan.report_width), dtype=np.uint8)
        again = int(each * duplicates * files / max(1, files - 1)) if before is not None else 0
        if again and before is not None:
            rows[:again] = before[-again:]
            rows[: max(1, again // 1000), -1] = 0  # the same ids with other contents
            rows = rng.permutation(rows)
        before = rows
        path = folder / f"reports-{number}.coterie"
        with writing_reports(path, plan) as writer:
            writer.append(rows)
        paths.append(path)
    return paths


def put_into_store(address: str, plan: Plan, paths: Sequence[Path]) -> None:
    """Put all reports into a store as a collector would, a batch at a time."""
    with open_store(address) as store:
        store.put_plan(plan)
        for path in paths:
            for rows in ReportFile.open(path, plan).chunks(100_000):
                for problem in store.append([(plan.id, rows)]):
                    assert problem is None, problem


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--reports", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--executors", type=int, default=2)
    parser.add_argument("--memory", type=int, default=1024, help="MiB of each executor's JVM")
    parser.add_argument(
        "--kill-after", type=int, help="tasks that end before one is killed (12, of a store 1); 0: none"
    )
    parser.add_argument("--out", type=Path, help=f"({RESULT}; of a store spark_store.json beside it)")
    parser.add_argument("--dimension", type=int, default=100)
    parser.add_argument("--store", help="a folder or postgresql://…: read from this collector's store")
    given = parser.parse_args()
    if given.kill_after is None:
        given.kill_after = 1 if given.store else 12
    out = given.out or (RESULT.with_name("spark_store.json") if given.store else RESULT)
    plan = Plan.design(given.dimension, 10, 1.0, given.reports)
    with tempfile.TemporaryDirectory(prefix="coterie-") as folder:
        paths = write_files(Path(folder), plan, given.reports, given.files, 0.05, seed=0)
        stored_s = 0.0
        if given.store:
            started = time.perf_counter()
            put_into_store(given.store, plan, paths)
            stored_s = time.perf_counter() - started

        def counted(by: Engine) -> tuple[Aggregate, IntakeCounts | Counts]:
            if given.store:
                table, study = by.count_store(given.store, plan.id)
                return table, study.counts
            return by.count(plan, paths)

        started = time.perf_counter()
        expected, their_counts = counted(engine("inline"))
        inline_s = time.perf_counter() - started
        master, settings = cluster(given.executors, given.memory)
        started = time.perf_counter()
        with cpu_seconds() as used, killing(given.kill_after or 1 << 30) as killed:
            found, counts = counted(Spark(master, settings=settings))
        spark_s = time.perf_counter() - started
    same = found.to_bytes() == expected.to_bytes()
    facts = {
        "reports": counts.received if isinstance(counts, Counts) else counts.read,
        "files": given.files,
        "duplicates": counts.duplicates,
        "conflicting": counts.conflicting,
        "counted": found.count,
        "source": ("PostgreSQL" if "://" in given.store else "folder") if given.store else "files",
        "stored_s": round(stored_s, 1),
        "executors": given.executors,
        "killed_after_tasks": killed.after_tasks if killed.process else None,
        "table_bytes": len(found.to_bytes()),
        "inline_s": round(inline_s, 1),
        "spark_s": round(spark_s, 1),
        "executors_cpu_s": round(sum(used.values()), 1),
        "same_bits": same,
        "same_counts": counts == their_counts,
    }
    print(json.dumps(facts, indent=1))
    out.write_text(json.dumps(facts, indent=1) + "\n")
    assert same
    assert counts == their_counts
    assert (killed.process is not None) == (given.kill_after > 0)


if __name__ == "__main__":
    main()
