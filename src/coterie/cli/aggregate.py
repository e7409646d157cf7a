"""`coterie aggregate`: report files, a collector's store, or tables, in; one table out."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Final

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

_ID: Final = re.compile(r"[0-9a-f]{64}")
_Chunks = Iterator[NDArray[np.uint8]]


def run(
    out: Annotated[Path, typer.Option(help="Where to write the table.")],
    reports: Annotated[
        list[Path] | None, typer.Argument(help="Report files of the plan; or tables, to be merged.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="The plan that the reports answer; of a store also its id. Tables hold theirs."),
    ] = None,
    from_store: Annotated[
        str | None,
        typer.Option(
            "--from-store",
            help="Instead of files: a collector's store, its folder or postgresql://….",
            show_default=False,
        ),
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

    if (from_store is None) == (not reports):
        raise typer.BadParameter("give report files, or --from-store", param_hint="REPORTS")
    if from_store is not None:
        check_output(out, force, ())
        _add_store(from_store, plan, out, force, json)
        return
    reports = reports or []
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


def _add_store(address: str, plan: Path | None, out: Path, force: bool, json: bool) -> None:
    """Add up what counts in a collector's store: its reports, or in the shuffle model its batches."""
    from coterie.aggregate import Aggregate
    from coterie.store import StudyState, open_store

    with open_store(address) as store:
        plan_id = _plan_in(store.plan_ids(), plan)
        study = store.study(plan_id)
        table = Aggregate(study.plan)
        with progress("adding", study.counts.received) as advance:
            if study.plan.model == "shuffle":
                chunks = _messages(study.plan, (batch.data for batch in store.batches(plan_id)))
            else:
                chunks = store.reports(plan_id)
            for chunk in _watched(chunks, advance):
                table.add(chunk)
        study = store.study(plan_id)
    table.save(out, overwrite=force)
    if json:
        counts = {name: getattr(study.counts, name) for name in study.counts.__slots__}
        print_json(
            {"out": str(out), "plan_id": plan_id, "state": study.state, **counts, "count": table.count}
        )
        return
    if study.state is StudyState.OPEN:
        caution("the study is open: this is what had come in by now")
    say(f"added {table.count:,} reports of the {study.counts.received:,} received")
    say(f"wrote {out}")


def _plan_in(known: list[str], plan: Path | None) -> str:
    """Return the id of the plan that is meant: given by id or file, or the only one there is."""
    if plan is None:
        if len(known) != 1:
            raise typer.BadParameter(f"give it: the store has {len(known)} plans", param_hint="--plan")
        return known[0]
    return str(plan) if _ID.fullmatch(str(plan)) else Plan.load(plan).id


def _messages(plan: Plan, batches: Iterator[bytes]) -> _Chunks:
    """Yield the messages of shuffled files that a store kept; each was checked when it was taken in."""
    from coterie.collect import Batches

    with tempfile.TemporaryDirectory(prefix="coterie-") as folder:
        for data in batches:
            path = Path(folder) / "batch"
            path.write_bytes(data)
            yield from Batches([path], plan).chunks()


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
