"""Mean and deviation over the runs, one CSV per figure: all that drawing and the claims look at.

sweep-<name>.csv   value, method, mean, deviation, runs, design deviation: of the sample, as in the paper
ablation.csv       the same, with the setting in words as value

`design` is "present", or "former" where all runs of a point were played by another design or other code than
the present one (`methods.design_of`): figures and page mark those.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Final

from benchmarks.harness import Runs, Study, same_design
from benchmarks.reproduction.studies import ABLATION, Setting, Sweep, ablation_settings

PRESENT: Final = "present"
FORMER: Final = "former"
MARK: Final = "†"  # at figures of a former design

Design = Callable[[Study], str] | None  # the key of the present design; None: nobody asks


@dataclass(frozen=True, slots=True)
class Point:
    """One point of one curve."""

    value: str  # where on the abscissa
    method: str
    mean: float
    deviation: float
    runs: int
    design: str = PRESENT

    @property
    def is_former(self) -> bool:
        """Whether its runs are of a former design."""
        return self.design == FORMER


def points_of(
    value: str, setting: Setting, methods: Iterable[str], runs: Runs, design: Design = None
) -> list[Point]:
    """Summarize the runs of one setting, method by method: of the present design, else of former ones."""
    points = []
    for method in methods:
        study = setting.study(method)
        known = runs.get(study.name, ())
        keyed = [run for run in known if run.get("design")]  # the others are older than all keys
        fresh = (
            known if design is None else [run for run in keyed if same_design(run["design"], design(study))]
        )
        found = [run["objective"] for run in fresh or known]
        if found:
            spread = stdev(found) if len(found) > 1 else 0.0
            when = PRESENT if fresh else FORMER
            points.append(Point(value, method, round(mean(found), 6), round(spread, 6), len(found), when))
    return points


def write_tables(
    folder: Path, sweeps: Iterable[Sweep], base: Setting | None, runs: Runs, design: Design = None
) -> list[Path]:
    """Write all tables that the runs have something for; return their paths. No base, no ablation."""
    written = []
    for sweep in sweeps:
        points = [
            point
            for setting in sweep.settings
            for point in points_of(f"{getattr(setting, sweep.field):g}", setting, sweep.methods, runs, design)
        ]
        written.append(_write(folder / f"sweep-{sweep.name}.csv", points))
    if base is None:
        return written
    steps = [
        point
        for setting in ablation_settings(base)
        for point in points_of(
            f"eps={setting.epsilon:g} r={setting.separation:g}", setting, ABLATION, runs, design
        )
    ]
    written.append(_write(folder / "ablation.csv", steps))
    return written


def read_table(path: Path) -> list[Point]:
    """Read one table."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Point(
                *(row["value"], row["method"], float(row["mean"]), float(row["deviation"]), int(row["runs"])),
                row["design"],
            )
            for row in csv.DictReader(file)
        ]


def curve(points: Iterable[Point], method: str) -> list[Point]:
    """Return the points of one method, in the order of the table."""
    return [point for point in points if point.method == method]


def _write(path: Path, points: list[Point]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer: Any = csv.DictWriter(file, [item.name for item in fields(Point)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(point) for point in points)
    return path
