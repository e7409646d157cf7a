"""Mean and deviation over the runs, one CSV per figure: all that drawing and the claims look at.

sweep-<name>.csv   value, method, mean, deviation, runs         deviation: of the sample, as in the paper
ablation.csv       the same, with the setting in words as value
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks.harness import Runs
from benchmarks.reproduction.studies import ABLATION, Setting, Sweep, ablation_settings


@dataclass(frozen=True, slots=True)
class Point:
    """One point of one curve."""

    value: str  # where on the abscissa
    method: str
    mean: float
    deviation: float
    runs: int


def points_of(value: str, setting: Setting, methods: Iterable[str], runs: Runs) -> list[Point]:
    """Summarize the runs of one setting, method by method."""
    points = []
    for method in methods:
        found = [run["objective"] for run in runs.get(setting.study(method).name, ())]
        if found:
            spread = stdev(found) if len(found) > 1 else 0.0
            points.append(Point(value, method, round(mean(found), 6), round(spread, 6), len(found)))
    return points


def write_tables(folder: Path, sweeps: Iterable[Sweep], base: Setting | None, runs: Runs) -> list[Path]:
    """Write all tables that the runs have something for; return their paths. No base, no ablation."""
    written = []
    for sweep in sweeps:
        points = [
            point
            for setting in sweep.settings
            for point in points_of(f"{getattr(setting, sweep.field):g}", setting, sweep.methods, runs)
        ]
        written.append(_write(folder / f"sweep-{sweep.name}.csv", points))
    if base is None:
        return written
    steps = [
        point
        for setting in ablation_settings(base)
        for point in points_of(f"eps={setting.epsilon:g} r={setting.separation:g}", setting, ABLATION, runs)
    ]
    written.append(_write(folder / "ablation.csv", steps))
    return written


def read_table(path: Path) -> list[Point]:
    """Read one table."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Point(row["value"], row["method"], float(row["mean"]), float(row["deviation"]), int(row["runs"]))
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
