"""`coterie aggregate`: report files in, one table out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from coterie.cli.screen import Force, Json, caution, check_output, print_json, progress, say, skipped_facts
from coterie.plan import Plan

_Chunks = Iterator[NDArray[np.uint8]]


def run(
    reports: Annotated[list[Path], typer.Argument(help="Report files of the plan.")],
    plan: Annotated[Path, typer.Option(help="The plan that the reports answer.")],
    out: Annotated[Path, typer.Option(help="Where to write the table.")],
    force: Force = False,
    json: Json = False,
) -> None:
    """Add up reports in a table whose size does not depend on how many there are.

    Every file is verified to its last byte before anything counts. Repeated ids count once.
    """
    from coterie.collect import take_in
    from coterie.engines import engine

    check_output(out, force, (*reports, plan))
    contract = Plan.load(plan)
    if contract.model == "shuffle":
        _add_batches(reports, contract, out, json)
        return
    with take_in(reports, contract) as intake, progress("adding", intake.counts.read) as advance:
        table = engine("inline").aggregate(contract, _watched(intake.chunks(), advance))
    counts = intake.counts
    table.save(out)
    if json:
        print_json(
            {
                "out": str(out),
                "plan_id": contract.id,
                "files": counts.files,
                "read": counts.read,
                "duplicates": counts.duplicates,
                "conflicting": counts.conflicting,
                "skipped": skipped_facts(counts.skipped),
                "count": table.count,
            }
        )
        return
    for each in counts.skipped:
        caution(str(each))
    if counts.conflicting:
        caution(
            f"{counts.conflicting:,} reports shared an id with different contents (a broken or hostile "
            "client); of each such id the smallest report was kept"
        )
    say(f"added {table.count:,} reports of {counts.files} files; {counts.duplicates:,} repeats left out")
    say(f"wrote {out}")


def _watched(chunks: _Chunks, tell: Callable[[int], None]) -> _Chunks:
    """Hand chunks on, and tell how many reports are through."""
    for chunk in chunks:
        yield chunk
        tell(len(chunk))


def _add_batches(paths: list[Path], contract: Plan, out: Path, json: bool) -> None:
    """Add up what a shuffler released; unmixed report files are refused."""
    from coterie.aggregate import Aggregate
    from coterie.collect import Batches

    batches = Batches(paths, contract)
    table = Aggregate(contract)
    with progress("adding", batches.messages) as advance:
        for chunk in _watched(batches.chunks(), advance):
            table.add(chunk)
    table.save(out)
    facts = {"out": str(out), "plan_id": contract.id, "files": batches.files, "count": table.count}
    if json:
        print_json(facts)
        return
    say(f"added {batches.files} shuffled batches of {table.count:,} people in all")
    say(f"wrote {out}")
