"""The whole reproduction in two steps: compute (CSV) and draw (figures and page)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from coterie.reproduction.claims import Claim
from coterie.reproduction.methods import available_methods
from coterie.reproduction.runs import compute, missing_jobs, read_runs
from coterie.reproduction.studies import (
    BASE,
    FULL,
    QUICK,
    QUICK_BASE,
    QUICK_RUNS,
    RUNS,
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

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        """The sweeps of the grid."""
        return QUICK if self.quick else FULL

    @property
    def base(self) -> Setting:
        """Where the ablation is played."""
        return QUICK_BASE if self.quick else BASE

    @property
    def count(self) -> int:
        """Runs a point."""
        return self.runs or (QUICK_RUNS if self.quick else RUNS)

    @property
    def command(self) -> str:
        """The command that makes this reproduction."""
        return "coterie reproduce" + (" --quick" if self.quick else "") + f" --runs {self.count}"

    def compute(self, workers: int, stage: Stage) -> tuple[int, list[Path]]:
        """Play what is missing and write the tables; return how many runs there are, and the tables."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "runs.csv"
        jobs = missing_jobs(wanted(self.sweeps, self.base, self.count, available_methods()), read_runs(path))
        with stage("playing studies", sum(setting.users for setting, _, _ in jobs)) as advance:
            runs = compute(path, jobs, workers, advance)
        return len(runs), write_tables(self.folder, self.sweeps, self.base, runs)

    def draw(self) -> tuple[list[Claim], list[Path]]:
        """Draw all figures and write the page, from the tables alone."""
        from coterie.reproduction.page import draw_all

        return draw_all(self.folder, self.sweeps, self.command)
