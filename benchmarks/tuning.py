"""What the constants of designs and decoder cost and gain: each of them varied, the others as they are.

    python -m benchmarks tuning [--seeds 3] [--only NAME …] [--workers N] [--out FILE]

A study is a constant, a value of it and the people it is tried on; its runs are in results/tuning.csv, and
the table marks the value in the code. Two sizes of people: *small* (d = 20, k = 4) takes seconds a run and is
what the file holds; *base* (d = 100, k = 8, n = 10⁶), where the constants were chosen, takes a minute, and
hours in all: `--only` with the name of a constant runs both sizes of it.

Rows of halfspaces are drawn from their law and decoded without error radii (`benchmarks/protocol.py`); sums
of the shuffle model are drawn from theirs; net trees are played with real reports.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.harness import MILLION, RESULTS, Benchmark, Figures, Runs, Study
from benchmarks.populations import Source, non_private, source_of
from benchmarks.protocol import design, drawn_rows
from coterie import Plan, decode
from coterie.centers.explain import explain
from coterie.coins import SimulationCoins
from coterie.engines import drawn_table
from coterie.engines import play as play_reports
from coterie.metrics import normalized_objective

POINTS = 10_000  # people are like these
STARTS = 3


@dataclass(frozen=True)
class Constant:
    """A constant that was chosen by measuring."""

    name: str
    where: tuple[str, ...]  # modules of `coterie` that hold it; the first is its home
    values: tuple[float, ...]
    through: str = "rows"  # what it is tried through: rows, sums, or a tree

    def now(self) -> float:
        """Return the value in the code."""
        return float(getattr(self._module(self.where[0]), self.name))

    @contextlib.contextmanager
    def set_to(self, value: float) -> Iterator[None]:
        """Give the constant another value for the time of the block."""
        modules = [self._module(name) for name in self.where]
        before = [getattr(module, self.name) for module in modules]
        try:
            for module, old in zip(modules, before, strict=True):
                setattr(module, self.name, type(old)(value))
            yield
        finally:
            for module, old in zip(modules, before, strict=True):
                setattr(module, self.name, old)

    @staticmethod
    def _module(name: str) -> Any:
        return importlib.import_module(f"coterie.{name}")


_CODEWORD, _SUMS = "protocols.codeword.design", "protocols.vector_sums.design"
_TREE = "protocols.paper.tree.design"
CONSTANTS = (
    Constant("HALFSPACE_SHARE", (_CODEWORD,), (3, 7, 15, 31)),
    Constant("CELLS", (_CODEWORD,), (16, 64, 256)),
    Constant("TURNS", (_CODEWORD,), (4, 8, 16)),
    Constant("WHOLE", (_CODEWORD,), (16, 32, 64)),
    Constant("OFFSET_SPREAD", (_CODEWORD,), (0.25, 0.5, 1.0)),
    Constant("_COUNT_SHARE", (_CODEWORD,), (0.15, 0.3, 0.5)),
    Constant("CODEWORDS", (_CODEWORD,), (64, 256, 1024)),
    Constant("ENTROPY", ("centers.population",), (30.0, 100.0, 300.0)),
    Constant("ATOMS", ("centers.population",), (1000, 2000, 4000)),
    Constant("GRID_BITS", ("protocols.shares.design", _SUMS), (6, 8, 12, 16), "sums"),
    Constant("_CELL_COUNT_SHARE", (_SUMS,), (0.3, 0.5, 0.7), "sums"),
    Constant("MANY_CELLS", (_CODEWORD, _SUMS), (256, 1024, 4096), "sums"),
    Constant("PRACTICAL_DIMENSION", (_TREE,), (4, 6, 8), "tree"),
    Constant("PRACTICAL_SHRINK", (_TREE,), (1.0, 1.5, 2.0), "tree"),
    Constant("CELLS_A_CLUSTER", (_TREE, "protocols.paper.net_tree.design"), (1.0, 3.0, 400.0), "tree"),
)
BY_NAME = {constant.name.strip("_").lower(): constant for constant in CONSTANTS}
PEOPLE = {  # n, k, epsilon, d
    ("small", "rows"): (200_000, 4, 1.0, 20),
    ("small", "sums"): (20_000, 4, 1.0, 20),
    ("small", "tree"): (50_000, 4, 4.0, 20),
    ("base", "rows"): (MILLION, 8, 1.0, 100),
    ("base", "sums"): (200_000, 8, 1.0, 100),
    ("base", "tree"): (MILLION, 4, 4.0, 100),
}
SEPARATIONS = (8.0, 100.0)
GRID = tuple(
    Study(f"{name}-{value:g}-{size}-r{separation:g}", "mixture", *PEOPLE[size, constant.through],
          separation=separation, method=f"{name}={value:g}")
    for size in ("small", "base")
    for name, constant in BY_NAME.items()
    for value in constant.values
    for separation in SEPARATIONS
)  # fmt: skip


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed."""
    start = time.perf_counter()
    source = source_of(study, seed, folder, POINTS)
    best = non_private(source, study.clusters, seed, STARTS)
    name, _, value = study.method.partition("=")
    constant = BY_NAME[name]
    with constant.set_to(float(value)):
        centers = _PLAYED[constant.through](study, source, seed)
    return {
        "objective": round(normalized_objective(source.points, centers), 6),
        "non_private": round(normalized_objective(source.points, best), 6),
        "seconds": round(time.perf_counter() - start, 1),
    }


def _by_rows(study: Study, source: Source, seed: int) -> NDArray[np.float64]:
    plan = design(study, (study.users, source.dimension), seed)
    views = drawn_rows(plan, source.points, study.users, np.random.default_rng([seed, 4]))
    return explain(views, study.clusters, np.random.default_rng(seed), repeats=0).centers


def _by_sums(study: Study, source: Source, seed: int) -> NDArray[np.float64]:
    plan = Plan.design(
        source.dimension, study.clusters, study.epsilon, study.users,
        protocol="vector-sums", model="shuffle", delta=1e-6, seed=seed,
    )  # fmt: skip
    table, _ = drawn_table(plan, source.people(study.users, seed), SimulationCoins(seed))
    return decode(table, random_state=seed).centers


def _by_tree(study: Study, source: Source, seed: int) -> NDArray[np.float64]:
    plan = Plan.design(
        source.dimension, study.clusters, study.epsilon, study.users, protocol="net-tree", seed=seed
    )
    table = play_reports(plan, source.people(study.users, seed), SimulationCoins(seed))
    return decode(table, random_state=seed).centers


_PLAYED = {"rows": _by_rows, "sums": _by_sums, "tree": _by_tree}


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return objectives by value, means over the seeds; the value in the code in bold."""
    rows = []
    for name, constant in BY_NAME.items():
        for size in ("small", "base"):
            some = {study.name: study for study in grid if runs[study.name]}
            for separation in SEPARATIONS:
                shown = []
                for value in constant.values:
                    study = some.get(f"{name}-{value:g}-{size}-r{separation:g}")
                    if study is not None:
                        found = mean(run["objective"] for run in runs[study.name])
                        words = f"{value:g}: {found:.4f}"
                        shown.append(f"**{words}**" if value == constant.now() else words)
                if shown:
                    rows.append([constant.name, constant.where[0], size, f"{separation:g}", ", ".join(shown)])
    return harness.table(["constant", "in", "people", "r", "objective by value"], rows)


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "tuning.csv", seeds=3, first_seed=70_000)
