"""Play what is missing: many processes, one line of CSV a run, resumable at any moment.

`runs.csv` has one row a (setting, seed, method). Rows that it holds already are not played again, and a row
that was cut off by an interruption is dropped when the file is read. Every process is held to one core.
"""

from __future__ import annotations

import csv
import io
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from multiprocessing.synchronize import Lock
from pathlib import Path
from typing import Any, Final

from coterie.errors import FileError
from coterie.metrics import normalized_objective
from coterie.plain.files import replacing
from coterie.reproduction.methods import Played, method_of
from coterie.reproduction.studies import Setting

Job = tuple[Setting, int, tuple[str, ...]]  # setting, seed, methods


@dataclass(frozen=True, slots=True)
class Run:
    """What one method gave on one data set."""

    users: int
    dimension: int
    clusters: int
    epsilon: float
    separation: float
    seed: int
    method: str
    objective: float
    cpu_seconds: float

    @property
    def setting(self) -> Setting:
        """The public facts of the study."""
        return Setting(self.users, self.dimension, self.clusters, self.epsilon, self.separation)


COLUMNS: Final = tuple(item.name for item in fields(Run))


def read_runs(path: Path) -> list[Run]:
    """Read `runs.csv`; no file is no runs, and a last line that was cut off is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if not lines or lines[0].strip() != ",".join(COLUMNS):
        raise FileError(path, 0, f"the columns {','.join(COLUMNS)}")
    whole = [line for line in lines[1:] if line.endswith("\n")]
    return [_run_of_row(row) for row in csv.DictReader(whole, fieldnames=COLUMNS)]


def missing_jobs(wanted: Iterable[Job], done: Iterable[Run]) -> list[Job]:
    """Return the jobs with the methods that are still to be run."""
    known = {(run.setting, run.seed, run.method) for run in done}
    jobs = (
        (setting, seed, tuple(name for name in methods if (setting, seed, name) not in known))
        for setting, seed, methods in wanted
    )
    return [job for job in jobs if job[2]]


def compute(
    path: Path, jobs: list[Job], workers: int, progress: Callable[[int], None] | None = None
) -> list[Run]:
    """Play jobs and append their runs to `runs.csv` as they come.

    Parameters
    ----------
    path : Path
        The CSV file; made if there is none.
    jobs : list of Job
        What to play; see `missing_jobs`.
    workers : int
        Processes. Each holds about 1 KB a person of the study it plays. 0 plays in this process, which knows
        protocols that were registered in it.
    progress : callable, optional
        Called after each job with its number of people.

    Returns
    -------
    list of Run
        All runs of the file.
    """
    done = read_runs(path)
    with replacing(path) as whole:  # the file without a line that was cut off
        text = io.TextIOWrapper(whole, encoding="utf-8", newline="", write_through=True)
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(run) for run in done)
        text.detach()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not jobs:
            return done
        if workers == 0:  # here: what this process registered is known
            for job in jobs:
                runs = play_job(job)
                writer.writerows(asdict(run) for run in runs)
                file.flush()
                done += runs
                if progress is not None:
                    progress(runs[0].users)
            return done
        context = multiprocessing.get_context("spawn")
        counter: Any = context.Value("i", 0)
        pool = ProcessPoolExecutor(min(workers, len(jobs)), context, _prepare_process, (counter,))
        try:
            for finished in as_completed([pool.submit(play_job, job) for job in jobs]):
                runs = finished.result()
                writer.writerows(asdict(run) for run in runs)
                file.flush()
                done += runs
                if progress is not None:
                    progress(runs[0].users)
        except BaseException:  # an interruption too: nobody waits for studies that are half played
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        pool.shutdown()
    return done


def play_job(job: Job) -> list[Run]:
    """Play some methods on one data set."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    setting, seed, methods = job
    played = Played(setting, seed)
    runs = []
    with threadpool_limits(limits=1):
        points, _ = played.data
        for name in methods:
            start = time.process_time()
            centers = method_of(name)(played)
            seconds = time.process_time() - start
            objective = normalized_objective(points, centers)
            runs.append(
                Run(
                    **asdict(setting),
                    seed=seed,
                    method=name,
                    objective=round(objective, 8),
                    cpu_seconds=round(seconds, 3),
                )
            )
    return runs


def _prepare_process(counter: Any) -> None:
    """Pin this process to a core of its own, so that no library starts threads that fight over the others.

    An interruption is for the parent, which ends the processes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lock: Lock = counter.get_lock()
    with lock:
        number = counter.value
        counter.value += 1
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})


def _run_of_row(row: dict[str, str]) -> Run:
    kinds = {"users": int, "dimension": int, "clusters": int, "seed": int, "method": str}
    values: dict[str, Any] = {name: kinds.get(name, float)(row[name]) for name in COLUMNS}
    return Run(**values)
