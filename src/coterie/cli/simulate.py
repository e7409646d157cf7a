"""`coterie simulate`: points that people are like in, the table that so many people would make out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from coterie.cli.people import Header, open_people
from coterie.cli.screen import Caution, Force, Outcome, check_output, progress
from coterie.errors import PointError
from coterie.geometry.ball import as_points
from coterie.plan import Plan


def run(
    points: Path,
    *,
    plan: Path,
    people: float,
    out: Path,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    by: str = "law",
    device: str | None = None,
    header: Header = None,
    force: Force = False,
) -> Outcome:
    """Make the table that any number of people would make, to plan a study. It is not private.

    By law this takes no longer for a hundred million people than for a thousand. Decode the table as any
    other.

    Parameters
    ----------
    points
        What people are like, one row each: points (.npy, .csv, .parquet) or, where the plan declares
        features, records (.csv, .parquet).
    plan
        The plan that they would answer.
    people
        How many people; 1e8 is a hundred million.
    out
        Where to write the table.
    seed
        The same one gives the same table.
    by
        law: draw the table as it would come out. reports: encode everybody.
    device
        By law: where PyTorch does the products, cuda for instance.
    """
    from coterie.engines import simulate

    check_output(out, force, (points, plan))
    contract = Plan.load(plan)
    if not people.is_integer():
        raise typer.BadParameter("give a whole number of people", param_hint="--people")
    like = _all_points(points, contract, header)
    total = len(like) if by == "law" else int(people)
    with progress("simulating", total) as advance:
        table = simulate(contract, like, int(people), random_state=seed, by=by, device=device, tell=advance)
    table.save(out, overwrite=force)
    facts = {"out": str(out), "plan_id": contract.id, "points": len(like), "count": table.count}
    return Outcome(
        {**facts, "by": by, "private": False},
        [
            Caution("a simulated table is not private: whoever knows the seed can undo it"),
            f"wrote {out}, the table of {table.count:,} people like {len(like):,} points",
        ],
    )


def _all_points(path: Path, plan: Plan, header: bool | None) -> NDArray[np.float64]:
    """Return everything in a file as points, (m, d)."""
    chunks = [as_points(chunk, plan.dimension) for chunk, _ in open_people(path, plan, header).chunks()]
    if not chunks:
        raise PointError(f"{path}: expected one row per point, found no rows")
    return np.concatenate(chunks)
