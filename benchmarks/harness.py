"""What all experiments share: studies, runs that resume, one thread per process, bars, tables.

A benchmark is a grid of studies and a function that plays one of them with one seed and returns its figures.
`play_grid` does the rest: it runs what the output file does not hold yet, writes the file after every run
(whole or not at all), goes on when a run fails, and writes the tables beside it as Markdown. A study whose
settings have changed since is run again; its bars may change freely. Where a benchmark says by which design a
study is played (`Benchmark.design`), runs carry that key, and those with another are played again.

The file is JSON, or CSV with one row per run (`study, seed, figures…`) where figures are plain numbers, a
study's name says all of its settings, and the tables have files of their own. Ctrl-C ends all processes at
once and loses only the runs that were under way: the same command goes on from there.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import math
import multiprocessing
import os
import platform
import resource
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.real_data import default_folder
from coterie.plain.files import replacing
from tools.markdown import reflowed

_SAME = 0.01  # of a figure in a key: nothing that changes code on purpose is known to change it by less
RESULTS = Path(__file__).parent / "results"
FIRST_SEED = 90_000  # reported on these, designed on others
MILLION = 1_000_000

Figures = dict[str, Any]  # of one run, ready for JSON
Runs = Mapping[str, Sequence[Figures]]  # by study, in the order of the seeds


@dataclass(frozen=True)
class Bar:
    """What the project promises of one figure."""

    figure: str
    at_most: float = math.inf
    at_least: float = -math.inf

    def met(self, value: float) -> bool:
        """Return whether a value keeps the promise; NaN does not."""
        return self.at_least <= value <= self.at_most

    def shown(self, value: float) -> str:
        """Return the promise and whether it is kept."""
        if math.isinf(self.at_most):
            promise = f"≥ {self.at_least:g}"
        elif math.isinf(self.at_least):
            promise = f"≤ {self.at_most:g}"
        else:
            promise = f"{self.at_least:g} to {self.at_most:g}"
        return f"{self.figure} {promise} {tick(self.met(value))}"


@dataclass(frozen=True)
class Study:
    """One line of a grid: which people, how many, and the plan they answer."""

    name: str
    data: str  # "mixture", another name of `populations`, or a real set
    users: int  # n
    clusters: int  # k
    epsilon: float = 1.0
    dimension: int = 100  # d of a mixture; other data have their own
    separation: float = 100.0  # r of a mixture
    shape: str = "broad"  # declared to `Plan.design`
    waves: tuple[float, ...] = ()  # shares of the people who answer one plan after the other
    bar: Bar | None = None
    worst: Bar | None = None  # what is promised of every seed
    role: str = ""  # of real data: developed on, or only reported on
    method: str = ""  # where several are compared on the same data

    def settings(self) -> dict[str, Any]:
        """Return what a run depends on."""
        unread = {"bar", "worst", "role"} | (set() if self.method else {"method"})
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.name not in unread}


PlayOne = Callable[[Study, int, Path], Figures]  # study, seed, folder of real data


@dataclass(frozen=True)
class Benchmark:
    """A grid and what to do with it."""

    grid: tuple[Study, ...]
    play: PlayOne  # a function of a module, so that a fresh process finds it
    tables: Callable[[Sequence[Study], Runs], str]
    out: Path
    seeds: int  # of each study
    first_seed: int = FIRST_SEED
    design: Callable[[Study], str] | None = None  # a key of plan and code; a run of another key is stale

    def is_fresh(self, study: Study, run: Figures | None) -> bool:
        """Return whether there is a run, of the present design; one without a key is older than all keys."""
        if run is None or self.design is None:
            return run is not None
        return bool(run.get("design")) and same_design(run["design"], self.design(study))


def same_design(key: str, other: str) -> bool:
    """Return whether two keys name one design: the same, but for a hundredth of what follows a colon.

    That is a figure, of which other processors have other last digits.

    Examples
    --------
    >>> same_design("ab:0.00299", "ab:0.00300"), same_design("ab:0.003", "ab:0.004"), same_design("ab", "b")
    (True, False, False)
    """
    (name, _, figure), (present, _, now) = key.partition(":"), other.partition(":")
    return name == present and (figure == now or math.isclose(float(figure), float(now), rel_tol=_SAME))


def parser_of(benchmark: Benchmark, description: str | None) -> argparse.ArgumentParser:
    """Return the options that all benchmarks have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=benchmark.seeds, help="of each study (%(default)s)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these studies, or those that start so")
    parser.add_argument(
        "--workers", type=int, default=2, help="processes of one thread, 1.5 GB each; 0: here"
    )
    parser.add_argument("--data", type=Path, default=default_folder(), help="folder of real data")
    parser.add_argument("--out", type=Path, help=f"with Markdown beside it ({benchmark.out})")
    parser.add_argument("--users", type=int, help="people at most, to try the benchmark out; needs --out")
    return parser


def play_grid(benchmark: Benchmark, options: argparse.Namespace) -> int:
    """Run what is missing, print the tables, return how many runs failed."""
    if options.users and not options.out:
        raise SystemExit("--users is for trying out: name another file by --out")
    out: Path = options.out or benchmark.out
    grid = [study for study in benchmark.grid if _chosen(study.name, options.only)]
    if not grid:
        raise SystemExit(f"no such study; known: {', '.join(study.name for study in benchmark.grid)}")
    if options.users:
        grid = [replace(study, users=min(study.users, options.users)) for study in grid]
    known = _read(out)
    if out.suffix == ".csv":  # names say all there is to a study
        known["settings"] = {study.name: study.settings() for study in benchmark.grid}
    for study in grid:
        if known["settings"].get(study.name) != study.settings():
            known["settings"][study.name] = study.settings()
            known["runs"] = {key: run for key, run in known["runs"].items() if key[0] != study.name}
    jobs = [
        (study, seed)
        for seed in range(benchmark.first_seed, benchmark.first_seed + options.seeds)
        for study in grid
        if not benchmark.is_fresh(study, known["runs"].get((study.name, seed)))
    ]
    failed = 0
    for study, seed, figures in _outcomes(benchmark.play, jobs, options):
        if figures is None:
            failed += 1
            continue
        key = {"design": benchmark.design(study)} if benchmark.design else {}
        known["runs"][study.name, seed] = {"study": study.name, "seed": seed, **figures, **key}
        _write(out, known)
    text = benchmark.tables(grid, {study.name: _runs_of(known, study.name) for study in grid})
    everything = [study for study in benchmark.grid if known["settings"].get(study.name) == study.settings()]
    if len(everything) > len(grid):  # the file beside the runs holds all there is
        whole = benchmark.tables(everything, {s.name: _runs_of(known, s.name) for s in everything})
    else:
        whole = text
    _write(out, known)
    if out.suffix != ".csv":
        with replacing(out.with_suffix(".md")) as file:
            file.write(reflowed(f"{whole}\n").encode())
    print(text)
    if failed:
        print(f"\n{failed} of {len(jobs)} runs failed; the same command tries them again")
    return failed


def _chosen(name: str, only: Sequence[str] | None) -> bool:
    return not only or any(name == one or name.startswith(f"{one}-") for one in only)


def _runs_of(known: dict[str, Any], name: str) -> list[Figures]:
    return [run for (study, _), run in sorted(known["runs"].items()) if study == name]


def _outcomes(
    play: PlayOne, jobs: list[tuple[Study, int]], options: argparse.Namespace
) -> Iterator[tuple[Study, int, Figures | None]]:
    """Yield (study, seed, figures or None) as runs end."""
    for number, (study, seed, outcome) in enumerate(_played(play, jobs, options), start=1):
        start = f"[{number}/{len(jobs)}] {study.name} seed {seed}"
        try:
            figures = outcome()
        except (Exception, SystemExit) as error:
            if not isinstance(error, RuntimeError):  # whose words are enough
                traceback.print_exception(error)
            print(f"{start} failed: {error}", flush=True)
            yield study, seed, None
        else:
            shown = [f"{name} {value:.4g}" for name, value in figures.items() if isinstance(value, float)]
            print(f"{start}: {', '.join(shown)}", flush=True)
            yield study, seed, figures


def _played(
    play: PlayOne, jobs: list[tuple[Study, int]], options: argparse.Namespace
) -> Iterator[tuple[Study, int, Callable[[], Figures]]]:
    """Yield what gives the figures of a run, as runs end: here one after the other, or in processes."""
    workers = min(options.workers, len(jobs))
    if workers == 0:
        yield from (
            (study, seed, partial(_play_one, play, study, seed, options.data)) for study, seed in jobs
        )
        return
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"  # for the processes to come
    context = multiprocessing.get_context("spawn")
    cores = context.Queue()
    available = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    for number in range(workers):
        cores.put(available[number % len(available)] if available else None)
    pool = ProcessPoolExecutor(workers, context, _prepare_process, (cores,))
    try:
        waiting = {pool.submit(_play_one, play, *job, options.data): job for job in jobs}
        for done in as_completed(waiting):
            yield *waiting.pop(done), done.result
    except BaseException:  # an interruption, too: nobody waits for runs that are half played
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()


def _prepare_process(cores: Any) -> None:
    """Bind this process to a core, because the encoder takes as many threads as it has cores.

    An interruption is for the parent, which ends the processes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    core = cores.get()
    if core is not None:
        os.sched_setaffinity(0, {core})


def _play_one(play: PlayOne, study: Study, seed: int, data: Path) -> Figures:
    with threadpool_limits(limits=1):
        try:
            return play(study, seed, data)
        except SystemExit as error:  # must not end the process for the other runs
            raise RuntimeError(str(error)) from error


def _read(path: Path) -> dict[str, Any]:
    """Return settings by study, and runs by study and seed; a file of another form is left alone."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if path.suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        if text and not text.startswith("study,seed,"):
            raise SystemExit(f"{path} does not start with the columns study,seed: it is no file of runs")
        runs = [{name: _number(value) for name, value in row.items()} for row in rows]
        return {"settings": {}, "runs": {(run["study"], run["seed"]): run for run in runs}}
    document = json.loads(text) if text else {"settings": {}, "runs": []}
    if "settings" not in document:
        raise SystemExit(f"{path} has no settings: it is no file of runs")
    return {
        "settings": document["settings"],
        "runs": {(run["study"], run["seed"]): run for run in document["runs"]},
    }


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _write(path: Path, known: dict[str, Any]) -> None:
    runs = [run for _, run in sorted(known["runs"].items())]
    if path.suffix != ".csv":
        write_json(path, {"machine": machine(), "settings": known["settings"], "runs": runs})
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    columns = dict.fromkeys(["study", "seed", *(name for run in runs for name in run)])
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(runs)
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(f"{json.dumps(document, indent=1, ensure_ascii=False)}\n".encode())


def machine() -> dict[str, object]:
    """Return what figures depend on besides this code."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": processor,
        "cores": cores,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def peak_megabytes() -> float:
    """Return the most memory this process has held; Linux's `ru_maxrss` would count its parent's too."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def tick(met: bool) -> str:
    """Return ✓ or ✗."""
    return "✓" if met else "✗"


def spread_of(values: Sequence[float], digits: int = 4) -> str:
    """Return mean ± deviation."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {deviation:.{digits}f}"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def main(benchmark: Benchmark, description: str | None) -> None:
    """Run a benchmark that has no options of its own."""
    raise SystemExit(play_grid(benchmark, parser_of(benchmark, description).parse_args()) > 0)
