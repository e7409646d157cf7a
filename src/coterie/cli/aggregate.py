"""`coterie aggregate`: report files, a collector's store, or tables, in; one table out, by any engine."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

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

if TYPE_CHECKING:
    from coterie.collect import IntakeCounts
    from coterie.engines import Engine

_ID: Final = re.compile(r"[0-9a-f]{64}")


def run(
    reports: list[str] | None = None,
    *,
    out: Path | None = None,
    into: Path | None = None,
    plan: Path | None = None,
    from_store: Annotated[str | None, typer.Option(show_default=False)] = None,
    engine: str | None = None,
    master: str | None = None,
    disjoint: bool = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Add up reports in one table; its size is the plan's, unless the protocol keeps the reports (net-tree).

    Every file is verified to its last byte before anything counts. Repeated ids in report files count once;
    tables of one plan are merged as they are, with --disjoint.

    Parameters
    ----------
    reports
        Report files of the plan (spark: also Parquet files of reports); or tables, to be merged.
    out
        Where to write the table.
    into
        Instead of --out: a folder whose table grows. Ids that it has counted do not count again.
    plan
        The plan that the reports answer; of a store also its id. Tables, and a folder that grows, hold
        theirs.
    from_store
        Instead of files: a collector's store, its folder or postgresql://….
    engine
        inline: one core. parallel (default): all cores. spark: a cluster. The bits are the same.
    master
        Of spark: the cluster's master, such as spark://host:7077, yarn or local[*].
    disjoint
        For tables: say that no person's report is in two of them. A table holds no ids, so that cannot be
        checked.
    """
    from coterie.aggregate.aggregate import is_table
    from coterie.engines import engine as engine_of

    if (from_store is None) == (not reports):
        raise typer.BadParameter("give report files, or --from-store", param_hint="REPORTS")
    files = reports or []
    here = [Path(file) for file in files if "://" not in file]
    if into is not None and out is None:
        if from_store is not None or master is not None or engine not in (None, "parallel"):
            raise SettingError("--into takes report files, and adds them on all cores of this machine")
        _add_into(into, here, None if plan is None else Plan.load(plan), json)
        return
    if out is None or into is not None:
        raise typer.BadParameter("give a file for the table, or --into a folder", param_hint="--out")
    check_output(out, force, (*here, *([] if plan is None or from_store else [plan])))
    chosen = engine_of(engine or ("parallel" if master is None else "spark"), master=master)
    if from_store is not None:
        _add_store(chosen, from_store, plan, out, force, json)
        return
    contract = None if plan is None else Plan.load(plan)
    if tables := [path for path in here if is_table(path)]:
        if len(tables) < len(files):
            raise AggregateError(
                "report files and tables cannot be added up together; make a table of the report files first"
            )
        _merge(tables, contract, disjoint, out, force, json)
        return
    if contract is None:
        raise typer.BadParameter("give it: report files only name their plan", param_hint="--plan")
    if disjoint:
        raise SettingError("--disjoint is for tables: repeated ids in report files are found and left out")
    if contract.mixed:
        _add_batches(chosen, files, contract, out, force, json)
        return
    with progress("adding", _about(here, contract.report_width)) as advance:
        table, counts = chosen.count(contract, files, advance)
    table.save(out, overwrite=force)
    if json:
        print_json({"out": str(out), **_facts(contract, counts), "count": table.count})
        return
    _caution(counts)
    say(
        f"added {counted(table.count, 'report')} from {counted(counts.files, 'file')}; "
        f"{counted(counts.duplicates, 'repeat')} left out"
    )
    say(f"wrote {out}")


def _about(paths: list[Path], width: int) -> int:
    """Return about how many reports the files hold, for a bar of progress."""
    return sum(path.stat().st_size for path in paths if path.exists()) // width


def _facts(plan: Plan, counts: IntakeCounts) -> dict[str, Any]:
    """Return what became of the reports of files, for programs."""
    return {
        "plan_id": plan.id,
        **{name: getattr(counts, name) for name in ("files", "read", "duplicates", "conflicting")},
        "skipped": skipped_facts(counts.skipped),
    }


def _caution(counts: IntakeCounts) -> None:
    """Print what was wrong with reports of files."""
    for each in counts.skipped:
        caution(str(each))
    if counts.conflicting:
        caution(
            f"{counted(counts.conflicting, 'report')} shared an id with different contents (a broken or "
            "hostile client); of each such id the smallest report was kept"
        )


def _add_into(folder: Path, paths: list[Path], contract: Plan | None, json: bool) -> None:
    """Add report files to a table that grows."""
    from coterie.engines.growing_table import growing

    with growing(folder, contract) as table:
        with progress("adding", _about(paths, table.plan.report_width)) as advance:
            added = table.add(paths, advance)
        known = table.plan
    if json:
        facts = _facts(known, added.counts)
        print_json(
            {"into": str(folder), **facts, "counted_before": added.counted_before, "count": added.count}
        )
        return
    _caution(added.counts)
    say(
        f"added {counted(added.counts.unique - added.counted_before, 'report')} from "
        f"{counted(added.counts.files, 'file')}; {counted(added.counts.duplicates, 'repeat')} left out, "
        f"{added.counted_before:,} counted before"
    )
    say(f"{folder} holds {counted(added.count, 'report')}")


def _add_store(engine: Engine, address: str, plan: Path | None, out: Path, force: bool, json: bool) -> None:
    """Add up what counts in a collector's store: its reports, or in the shuffle model its batches."""
    from coterie.store import StudyState, open_store

    with open_store(address, make=False) as store:
        plan_id = _plan_in(store.plan_ids(), plan)
        received = store.study(plan_id).counts.received
    with progress("adding", received) as advance:
        table, study = engine.count_store(address, plan_id, advance)
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


def _add_batches(
    engine: Engine, files: list[str], contract: Plan, out: Path, force: bool, json: bool
) -> None:
    """Add up what a shuffler released; unmixed report files are refused."""
    from coterie.collect.batches import have_ids
    from coterie.wire.shuffled_file import ShuffledFile

    messages = sum(ShuffledFile.open(file, contract).count for file in files)
    with progress("adding", messages) as advance:
        table = engine.count_batches(contract, files, advance)
    table.save(out, overwrite=force)
    repeats = messages - table.count if have_ids(contract) else 0
    if json:
        facts = {"out": str(out), "plan_id": contract.id, "files": len(files), "count": table.count}
        print_json({**facts, "repeats": repeats})
        return
    if repeats:
        caution(
            f"{counted(repeats, 'id')} left out that another batch has: somebody released them twice, and "
            "the promise holds only for batches that differ in enough people"
        )
    say(
        f"added {counted(len(files), 'shuffled batch', 'shuffled batches')} of "
        f"{counted(table.count, 'person', 'people')} in all"
    )
    say(f"wrote {out}")
