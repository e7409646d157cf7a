"""The whole reproduction in two steps: compute (CSV) and draw (figures and page)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from coterie.errors import PlanError
from coterie.reproduction.claims import Claim
from coterie.reproduction.methods import METHODS, available_methods, method_of
from coterie.reproduction.runs import Job, compute, missing_jobs, read_runs
from coterie.reproduction.studies import (
    ABLATION_NAME,
    BASE,
    FULL,
    QUICK,
    QUICK_BASE,
    QUICK_RUNS,
    RUNS,
    Grid,
    Setting,
    Sweep,
    wanted,
)
from coterie.reproduction.tables import write_tables

Stage = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Which grid, how many runs a point, and where it goes."""

    folder: Path
    quick: bool = False
    runs: int | None = None  # None: the grid's own number
    sweeps_wanted: tuple[str, ...] = ()  # empty: all, and the ablation
    methods_wanted: tuple[str, ...] = ()  # empty: all
    grid: Grid | None = None  # sweeps of one's own, without ablation and claims
    grid_name: str = "grid.json"

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        """The sweeps of the grid."""
        if self.grid is not None:
            return tuple(replace(sweep, methods=self._own_methods) for sweep in self.grid.sweeps)
        return QUICK if self.quick else FULL

    @property
    def base(self) -> Setting:
        """Where the ablation is played, and what the claims are about."""
        if self.grid is not None:
            return self.grid.base
        return QUICK_BASE if self.quick else BASE

    @property
    def count(self) -> int:
        """Runs a point."""
        if self.grid is not None:
            return self.runs or self.grid.runs
        return self.runs or (QUICK_RUNS if self.quick else RUNS)

    @property
    def command(self) -> str:
        """The command that makes this reproduction."""
        parts = [f"--grid {self.grid_name}"] if self.grid else ["--quick"] if self.quick else []
        parts += [f"--runs {self.count}"]
        parts += [f"--sweep {name}" for name in self.sweeps_wanted]
        parts += [f"--method {name}" for name in self.methods_wanted]
        return " ".join(["coterie reproduce", *parts])

    def compute(self, workers: int, stage: Stage) -> tuple[int, list[Path]]:
        """Play what is missing and write the tables; return how many runs there are, and the tables."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "runs.csv"
        jobs = missing_jobs(self._wanted(), read_runs(path))
        with stage("playing studies", sum(setting.users for setting, _, _ in jobs)) as advance:
            runs = compute(path, jobs, workers, advance)
        return len(runs), write_tables(self.folder, self.sweeps, None if self.grid else self.base, runs)

    def draw(self) -> tuple[list[Claim], list[Path]]:
        """Draw all figures and write the page, from the tables alone."""
        from coterie.reproduction.page import draw_all

        return draw_all(self.folder, self.sweeps, None if self.grid else self.base, self.command)

    @property
    def _own_methods(self) -> tuple[str, ...]:
        first = self.grid.sweeps[0].methods if self.grid is not None else ()
        return (*first, *(name for name in self.methods_wanted if name not in first))

    def _wanted(self) -> Iterator[Job]:
        """Yield what is asked for, of the sweeps and of the methods that can run here."""
        if self.grid is not None:
            for name in self._own_methods:
                method_of(name)
            return wanted(self.sweeps, None, self.count, frozenset(self._own_methods))
        _check_known("sweep", self.sweeps_wanted, [*(sweep.name for sweep in self.sweeps), ABLATION_NAME])
        _check_known("method", self.methods_wanted, METHODS)
        chosen = self.sweeps_wanted or (*(sweep.name for sweep in self.sweeps), ABLATION_NAME)
        methods = available_methods() & frozenset(self.methods_wanted or METHODS)
        sweeps = tuple(sweep for sweep in self.sweeps if sweep.name in chosen)
        return wanted(sweeps, self.base if ABLATION_NAME in chosen else None, self.count, methods)


def _check_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise PlanError(f"there is no {kind} named {name!r}; known: {', '.join(known)}")
