"""`coterie aggregate`: report files, a collector's store, or tables, in; one table out, by any engine."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from coterie.cli.screen import (
    Caution,
    Force,
    Outcome,
    check_output,
    counted,
    progress,
    skipped_facts,
)
from coterie.errors import AggregateError, SettingError
from coterie.plan import Plan

if TYPE_CHECKING:
    from coterie.aggregate import Aggregate
    from coterie.collect import IntakeCounts
    from coterie.engines import Engine

    Added = tuple[Aggregate, dict[str, Any], list[str]]  # facts for programs, and lines for people

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
) -> Outcome:
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
        return _add_into(into, here, None if plan is None else Plan.load(plan))
    if out is None or into is not None:
        raise typer.BadParameter("give a file for the table, or --into a folder", param_hint="--out")
    check_output(out, force, (*here, *([] if plan is None or from_store else [plan])))
    chosen = engine_of(engine or ("parallel" if master is None else "spark"), master=master)
    if from_store is not None:
        added = _of_store(chosen, from_store, plan)
    else:
        contract = None if plan is None else Plan.load(plan)
        tables = [path for path in here if is_table(path)]
        if 0 < len(tables) < len(files):
            raise AggregateError(
                "report files and tables cannot be added up together; make a table of the report files first"
            )
        if tables:
            added = _of_tables(tables, contract, disjoint)
        elif contract is None:
            raise typer.BadParameter("give it: report files only name their plan", param_hint="--plan")
        elif disjoint:
            raise SettingError(
                "--disjoint is for tables: repeated ids in report files are found and left out"
            )
        elif contract.mixed:
            added = _of_batches(chosen, files, contract)
        else:
            added = _of_reports(chosen, files, here, contract)
    table, facts, lines = added
    table.save(out, overwrite=force)
    return Outcome({"out": str(out), **facts}, [*lines, f"wrote {out}"])


def _of_reports(engine: Engine, files: list[str], here: list[Path], plan: Plan) -> Added:
    """Add up report files."""
    with progress("adding", _about(here, plan.report_width)) as advance:
        table, counts = engine.count(plan, files, advance)
    words = (
        f"added {counted(table.count, 'report')} from {counted(counts.files, 'file')}; "
        f"{counted(counts.duplicates, 'repeat')} left out"
    )
    return table, {**_facts(plan, counts), "count": table.count}, [*_cautions(counts), words]


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


def _cautions(counts: IntakeCounts) -> list[Caution]:
    """Return what was wrong with reports of files."""
    shared = (
        f"{counted(counts.conflicting, 'report')} shared an id with different contents (a broken or "
        "hostile client); of each such id the smallest report was kept"
    )
    return [Caution(each) for each in (*counts.skipped, *([shared] if counts.conflicting else []))]


def _add_into(folder: Path, paths: list[Path], contract: Plan | None) -> Outcome:
    """Add report files to a table that grows."""
    from coterie.engines.growing_table import growing

    with growing(folder, contract) as table:
        with progress("adding", _about(paths, table.plan.report_width)) as advance:
            added = table.add(paths, advance)
        facts = _facts(table.plan, added.counts)
    before = added.counted_before
    return Outcome(
        {"into": str(folder), **facts, "counted_before": before, "count": added.count},
        [
            *_cautions(added.counts),
            f"added {counted(added.counts.unique - before, 'report')} from "
            f"{counted(added.counts.files, 'file')}; {counted(added.counts.duplicates, 'repeat')} left out, "
            f"{before:,} counted before",
            f"{folder} holds {counted(added.count, 'report')}",
        ],
    )


def _of_store(engine: Engine, address: str, plan: Path | None) -> Added:
    """Add up what counts in a collector's store: its reports, or in the shuffle model its batches."""
    from coterie.store import StudyState, open_store

    with open_store(address, make=False) as store:
        plan_id = _plan_in(store.plan_ids(), plan)
        received = store.study(plan_id).counts.received
    with progress("adding", received) as advance:
        table, study = engine.count_store(address, plan_id, advance)
    facts = {"plan_id": plan_id, "state": study.state, **asdict(study.counts), "count": table.count}
    lines = [f"added {table.count:,} reports of the {study.counts.received:,} received"]
    if study.state is StudyState.OPEN:
        lines.insert(0, Caution("the study is open: this is what had come in by now"))
    return table, facts, lines


def _plan_in(known: list[str], plan: Path | None) -> str:
    """Return the id of the plan that is meant: given by id or file, or the only one there is."""
    if plan is None:
        if len(known) != 1:
            raise typer.BadParameter(f"give it: the store has {len(known)} plans", param_hint="--plan")
        return known[0]
    return str(plan) if _ID.fullmatch(str(plan)) else Plan.load(plan).id


def _of_tables(paths: list[Path], contract: Plan | None, disjoint: bool) -> Added:
    """Merge tables of one plan; that no report is in two of them, only the caller can know."""
    from coterie.aggregate import Aggregate

    several = len(paths) > 1
    if several and not disjoint:
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
    facts = {"plan_id": total.plan.id, "tables": len(paths), "count": total.count}
    words = f"merged {counted(len(paths), 'table')} of {counted(total.count, 'report')} in all"
    trusted = "that no report is in two of the tables was taken on your word: tables hold no ids"
    return total, facts, [*[Caution(trusted)] * several, words]


def _of_batches(engine: Engine, files: list[str], contract: Plan) -> Added:
    """Add up what a shuffler released; unmixed report files are refused."""
    from coterie.collect.batches import have_ids
    from coterie.wire.shuffled_file import ShuffledFile

    messages = sum(ShuffledFile.open(file, contract).count for file in files)
    with progress("adding", messages) as advance:
        table = engine.count_batches(contract, files, advance)
    repeats = messages - table.count if have_ids(contract) else 0
    facts = {"plan_id": contract.id, "files": len(files), "count": table.count, "repeats": repeats}
    words = (
        f"added {counted(len(files), 'shuffled batch', 'shuffled batches')} of "
        f"{counted(table.count, 'person', 'people')} in all"
    )
    twice = (
        f"{counted(repeats, 'id')} left out that another batch has: somebody released them twice, and "
        "the promise holds only for batches that differ in enough people"
    )
    return table, facts, [*([Caution(twice)] if repeats else []), words]
