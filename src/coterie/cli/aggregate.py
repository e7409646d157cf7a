"""`coterie aggregate`: report files in, one table out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie.cli.screen import Force, Json, caution, check_output, print_json, progress, say, skipped_facts
from coterie.errors import ReportError
from coterie.plan import Plan
from coterie.wire.report_file import ReportFile
from coterie.wire.shuffled_file import ShuffledFile


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
    from coterie.aggregate import Aggregate
    from coterie.collect import take_in

    check_output(out, force, (*reports, plan))
    contract = Plan.load(plan)
    if contract.model == "shuffle":
        _add_batches(reports, contract, out, json)
        return
    total = sum(ReportFile.open(path, contract).count for path in reports)
    table = Aggregate(contract)
    with progress("verifying and adding", total) as advance, take_in(reports, contract) as intake:
        for chunk in intake.chunks():
            table.add(chunk)
            advance(len(chunk))
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


def _add_batches(paths: list[Path], contract: Plan, out: Path, json: bool) -> None:
    """Add up what a shuffler released; unmixed report files are refused."""
    from coterie.aggregate import Aggregate

    files = [ShuffledFile.open(path, contract) for path in paths]
    digests = [path.read_bytes()[-32:] for path in paths]
    if len(set(digests)) < len(digests):
        raise ReportError("the same shuffled file is given twice; each batch counts once")
    table = Aggregate(contract)
    with progress("verifying and adding", 2 * sum(file.count for file in files)) as advance:
        for verified in (False, True):
            for file in files:
                for chunk in file.chunks():
                    if verified:
                        table.add(chunk)
                    advance(len(chunk))
    table.save(out)
    facts = {"out": str(out), "plan_id": contract.id, "files": len(files), "count": table.count}
    if json:
        print_json(facts)
        return
    say(f"added {len(files)} shuffled batches of {table.count:,} people in all")
    say(f"wrote {out}")
