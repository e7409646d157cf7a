"""People in a file: their points, or their records where the plan declares features."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie.cli.points import PointSource, open_points
from coterie.cli.records import open_records
from coterie.errors import PointError
from coterie.plan import Plan

Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether a CSV's first line names columns. Default: look."),
]


def open_people(path: Path, plan: Plan, header: bool | None) -> PointSource:
    """Open a file of one row per person.

    Raises
    ------
    PointError
        If records are asked to be read without the line that names their columns.
    """
    if plan.features is None or path.suffix.lower() == ".npy":
        return open_points(path, plan.dimension, header)
    if header is False:
        raise PointError("records need a first line that names the columns: leave out --no-header")
    return open_records(path, plan.features)
