"""`coterie aggregate`: report files, or tables, in; one table out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from coterie.cli.screen import (
    Force,
    Json,
    caution,
    check_output,
    counted,
    print_json,
    progress,
    say,
    skipped_facts,
)
from coterie.errors import AggregateError, SettingError
from coterie.plan import Plan

_Chunks = Iterator[NDArray[np.uint8]]


def run(
    reports: Annotated[list[Path], typer.Argument(help="Report files of the plan; or tables, to be merged.")],
    out: Annotated[Path, typer.Option(help="Where to write the table.")],
    plan: Annotated[
        Path | None, typer.Option(help="The plan that the reports answer. Tables hold theirs.")
    ] = None,
    disjoint: Annotated[
        bool,
        typer.Option(
            "--disjoint",
            help="For tables: say that no person's report is in two of them. A table holds no ids, so that "
            "cannot be checked.",
        ),
    ] = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Add up reports in one table; its size is the plan's, unless the protocol keeps the reports (net-tree).

    Every file is verified to its last byte before anything counts. Repeated ids in report files count once;
    tables of one plan are merged as they are, with --disjoint.
    """
    from coterie.aggregate.aggregate import is_table
    from coterie.collect import take_in
    from coterie.engines import engine

    check_output(out, force, (*reports, *([] if plan is None else [plan])))
    contract = None if plan is None else Plan.load(plan)
    if tables := [path for path in reports if is_table(path)]:
        if len(tables) < len(reports):
            raise AggregateError(
                "report files and tables cannot be added up together; make a table of the report files first"
            )
        _merge(tables, contract, disjoint, out, force, json)
        return
    if contract is None:
        raise typer.BadParameter("give it: report files only name their plan", param_hint="--plan")
    if disjoint:
        raise SettingError("--disjoint is for tables: repeated ids in report files are found and left out")
    if contract.model == "shuffle":
        _add_batches(reports, contract, out, force, json)
        return
    with take_in(reports, contract) as intake, progress("adding", intake.counts.read) as advance:
        table = engine("inline").aggregate(contract, _watched(intake.chunks(), advance))
    counts = intake.counts
    table.save(out, overwrite=force)
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
            f"{counted(counts.conflicting, 'report')} shared an id with different contents (a broken or "
            "hostile client); of each such id the smallest report was kept"
        )
    say(
        f"added {counted(table.count, 'report')} from {counted(counts.files, 'file')}; "
        f"{counted(counts.duplicates, 'repeat')} left out"
    )
    say(f"wrote {out}")


def _watched(chunks: _Chunks, tell: Callable[[int], None]) -> _Chunks:
    """Hand chunks on, and tell how many reports are through."""
    for chunk in chunks:
        yield chunk
        tell(len(chunk))


def _merge(
    paths: list[Path], contract: Plan | None, disjoint: bool, out: Path, force: bool, json: bool
) -> None:
    """Merge tables of one plan; that no report is in two of them, only the caller can know."""
    from coterie.aggregate import Aggregate

    if len(paths) > 1 and not disjoint:
        raise AggregateError(
            "a table holds no ids, so whether a report is in two of these cannot be checked: add up the "
            "report files instead, which counts each id once, or say --disjoint if you know that none is"
        )
    total = Aggregate.load(paths[0], contract)
    digests = {hashlib.sha256(total.to_bytes()).digest()}
    for path in paths[1:]:
        table = Aggregate.load(path, total.plan)
        digests.add(hashlib.sha256(table.to_bytes()).digest())
        total.merge(table)
    if len(digests) < len(paths):
        raise AggregateError("the same table is given twice; each report counts once")
    total.save(out, overwrite=force)
    if json:
        print_json({"out": str(out), "plan_id": total.plan.id, "tables": len(paths), "count": total.count})
        return
    if len(paths) > 1:
        caution("that no report is in two of the tables was taken on your word: tables hold no ids")
    say(f"merged {counted(len(paths), 'table')} of {counted(total.count, 'report')} in all")
    say(f"wrote {out}")


def _add_batches(paths: list[Path], contract: Plan, out: Path, force: bool, json: bool) -> None:
    """Add up what a shuffler released; unmixed report files are refused."""
    from coterie.aggregate import Aggregate
    from coterie.collect import Batches

    batches = Batches(paths, contract)
    table = Aggregate(contract)
    with progress("adding", batches.messages) as advance:
        for chunk in _watched(batches.chunks(), advance):
            table.add(chunk)
    table.save(out, overwrite=force)
    facts = {"out": str(out), "plan_id": contract.id, "files": batches.files, "count": table.count}
    if json:
        print_json(facts)
        return
    say(
        f"added {counted(batches.files, 'shuffled batch', 'shuffled batches')} of "
        f"{counted(table.count, 'person', 'people')} in all"
    )
    say(f"wrote {out}")
