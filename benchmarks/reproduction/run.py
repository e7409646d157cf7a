"""Replay the paper's experiments: sweeps over n, ε, k and r, baselines, ablation, claims.

    python -m benchmarks reproduction [--workers N] [--sweep NAME …] [--method NAME …] [--draw-only]
    python -m benchmarks reproduction --quick --out FOLDER/runs.csv
    python -m benchmarks reproduction --grid FILE [--import MODULE …] --out FOLDER/runs.csv

A protocol of one's own (docs/write-a-protocol.md) is a method of a grid once a module that registers it is
imported. Runs are kept in runs.csv as they come: an interrupted command goes on where it stopped. A run is
kept with the key of its design (`methods.design_of`); one of another design or other code is played again,
and until then its figures are marked. `--mark` marks them and plays nothing. Tables, figures and page go
beside the runs; those of the stored ones (benchmarks/results/reproduction) go into docs/reproduction. The
full grid takes about three CPU hours, the quick one six CPU minutes; `--method codeword codeword-tight` plays
those alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Self

from benchmarks import harness
from benchmarks.harness import Benchmark, Figures, Runs, Study
from benchmarks.reproduction.claims import Claim
from benchmarks.reproduction.methods import METHODS, available_methods, design_of, method_of, played_once
from benchmarks.reproduction.page import draw_all
from benchmarks.reproduction.studies import (
    ABLATION_NAME,
    BASE,
    FIRST_SEED,
    FULL,
    QUICK,
    QUICK_BASE,
    QUICK_RUNS,
    RUNS,
    Grid,
    Setting,
    Sweep,
    grid_of,
)
from benchmarks.reproduction.tables import write_tables
from coterie.errors import CoterieError, MissingExtraError, PlanError
from coterie.metrics import normalized_objective
from coterie.plain.canonical import MAX_BYTES, parse_object
from coterie.plain.files import read_bounded

OUT = harness.RESULTS / "reproduction" / "runs.csv"
PAGES = Path(__file__).parents[2] / "docs" / "reproduction"  # of the stored runs; of others: beside them


def play(study: Study, seed: int, folder: Path, imports: Sequence[str] = ()) -> Figures:
    """Play one method on one data set, after the modules that register protocols of one's own."""
    del folder
    for name in imports:  # this may be a fresh process
        import_module(name)
    played = played_once(Setting.of(study), seed)
    points, _ = played.data
    start = time.process_time()
    centers = method_of(study.method)(played)
    seconds = time.process_time() - start
    return {"objective": round(normalized_objective(points, centers), 8), "cpu_seconds": round(seconds, 3)}


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Which sweeps around which setting, and how many runs of each point."""

    sweeps: tuple[Sweep, ...]
    base: Setting | None  # where the ablation is played, and what the claims are about; None: neither
    runs: int
    options: str = ""  # of the command that makes it
    imports: tuple[str, ...] = ()  # modules that register protocols of one's own

    @classmethod
    def of_grid(
        cls, grid: Grid, methods: Sequence[str] = (), options: str = "", imports: Sequence[str] = ()
    ) -> Self:
        """Return a grid of one's own, with more methods if there are any."""
        for name in imports:
            try:
                import_module(name)
            except ModuleNotFoundError as error:
                raise PlanError(f"--import {name}: {error}") from None
        first = grid.sweeps[0].methods
        every = (*first, *(name for name in methods if name not in first))
        for name in every:
            method_of(name)
        sweeps = tuple(replace(sweep, methods=every) for sweep in grid.sweeps)
        return cls(sweeps, None, grid.runs, options, tuple(imports))

    def chosen(self, sweeps: Sequence[str] = (), methods: Sequence[str] = ()) -> tuple[Study, ...]:
        """Return what is to be played: the studies of these sweeps and methods, or of all."""
        if self.base is None:
            return grid_of(self.sweeps, None, self.sweeps[0].methods)
        known = [*(sweep.name for sweep in self.sweeps), ABLATION_NAME]
        _check_known("sweep", sweeps, known)
        _check_known("method", methods, METHODS)
        wanted = sweeps or known
        return grid_of(
            [sweep for sweep in self.sweeps if sweep.name in wanted],
            self.base if ABLATION_NAME in wanted else None,
            available_methods() & frozenset(methods or METHODS),
        )

    def draw(self, folder: Path) -> list[Claim]:
        """Draw all figures and write the page, from the tables alone."""
        command = f"python -m benchmarks reproduction{self.options}"
        pages = PAGES if folder == OUT.parent else folder
        return draw_all(folder, self.sweeps, self.base, command, pages)[0]

    def benchmark(self, studies: tuple[Study, ...], folder: Path, *, draw: bool = True) -> Benchmark:
        """Return what the harness plays, and what it does with the runs."""

        def tables(grid: Sequence[Study], runs: Runs) -> str:
            written = write_tables(folder, self.sweeps, self.base, runs, known_design)
            try:
                claims = self.draw(folder) if draw else []
            except MissingExtraError as error:
                return f"{len(written)} tables in {folder}; nothing drawn: {error}"
            lines = [f"{claim.verdict}  {claim.name}: {claim.figures}" for claim in claims]
            return "\n".join([*lines, f"{len(written)} tables in {folder}"])

        known_design = lru_cache(maxsize=None)(design_of)
        play_one = partial(play, imports=self.imports)
        return Benchmark(studies, play_one, tables, OUT, self.runs, FIRST_SEED, known_design)


def _check_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise PlanError(f"there is no {kind} named {name!r}; known: {', '.join(known)}")


def main() -> None:
    """Play what is missing, write the tables, draw."""
    full = Reproduction(FULL, BASE, RUNS)
    parser = harness.parser_of(full.benchmark((), OUT.parent), __doc__)
    parser.add_argument("--quick", action="store_true", help="a small grid, two runs; needs --out")
    parser.add_argument("--grid", type=Path, help="JSON with base, sweeps, methods, runs; needs --out")
    parser.add_argument("--import", nargs="+", default=[], dest="imports", metavar="MODULE",
                        help="with --grid: modules that register protocols of your own")  # fmt: skip
    parser.add_argument("--sweep", nargs="+", default=[], help="only these sweeps, or ablation")
    parser.add_argument("--method", nargs="+", default=[], help="only these; with --grid: these, too")
    parser.add_argument("--compute-only", action="store_true", help="write the CSV files and draw nothing")
    parser.add_argument("--draw-only", action="store_true", help="redraw from the CSV files that are there")
    parser.add_argument("--mark", action="store_true", help="play nothing; mark runs of a former design")
    options = parser.parse_args()
    if (options.quick or options.grid) and not options.out:
        parser.error("another grid than the stored one: name another file by --out")
    if options.imports and not options.grid:
        parser.error("--import is for the methods of a grid of your own: name one by --grid")
    folder = (options.out or OUT).parent
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if options.grid:
            grid = Grid.from_dict(parse_object(read_bounded(options.grid, MAX_BYTES, "a grid")))
            words = f" --grid {options.grid.name}" + "".join(f" --import {name}" for name in options.imports)
            chosen = Reproduction.of_grid(grid, options.method, words, options.imports)
        else:
            chosen = Reproduction(QUICK, QUICK_BASE, QUICK_RUNS, " --quick") if options.quick else full
        if options.draw_only:
            for claim in chosen.draw(folder):
                print(f"{claim.verdict}  {claim.name}: {claim.figures}")
            return
        if options.seeds == full.runs:  # nobody said
            options.seeds = chosen.runs
        if options.mark:
            options.seeds = 0
        studies = chosen.chosen(options.sweep, options.method)
        benchmark = chosen.benchmark(studies, folder, draw=not options.compute_only)
        raise SystemExit(harness.play_grid(benchmark, options) > 0)
    except (CoterieError, FileNotFoundError) as error:
        raise SystemExit(f"error: {error}") from None
