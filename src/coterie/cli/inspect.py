"""`coterie inspect`: say in plain words what a file is and what it promises."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from coterie.aggregate.aggregate import MAGIC as TABLE_MAGIC
from coterie.cli.describe import cost_facts, cost_words, plan_facts, plan_table
from coterie.cli.screen import Outcome, Shown, counted, progress, to_json
from coterie.cli.sheet import sheet_of
from coterie.errors import FileError, SettingError
from coterie.plan import Plan
from coterie.wire.report_file import MAGIC as REPORTS_MAGIC
from coterie.wire.report_file import ReportFile
from coterie.wire.shuffled_file import MAGIC as SHUFFLED_MAGIC
from coterie.wire.shuffled_file import ShuffledFile

_LOOKED_AT = 64  # bytes, enough for every magic


def run(
    file: Path,
    *,
    plan: Path | None = None,
    registry: bool = False,
    sheet: Path | None = None,
    curator: str | None = None,
    region: str = "not stated",
    published: str | None = None,
    tier: Annotated[int, typer.Option(min=1, max=3)] = 3,
) -> Outcome:
    """Explain a plan, a report file or a table, the privacy promise included. Damage is found and said.

    Parameters
    ----------
    file
        A plan, a report file, a shuffled file or a table.
    plan
        For report files, which name their plan only: the plan itself.
    registry
        A plan or table: print its record for the OpenDP registry of deployments.
    sheet
        Of the record: the study's sheet, for its name, purpose and curator.
    curator
        Of the record: who publishes what was found. Default: as its sheet says.
    region
        Of the record: where the people are.
    published
        Of the record: when, as YYYY-MM-DD. Default: today.
    tier
        Of the record: how much to tell.
    """
    from coterie.show.registry import registry_entry

    contract = None if plan is None else Plan.load(plan)
    if registry and plan is not None:
        raise SettingError("--registry is for a plan by itself, not for a file with --plan")
    with file.open("rb") as opened:
        start = opened.read(_LOOKED_AT)
    asked = None
    if start.startswith((REPORTS_MAGIC, SHUFFLED_MAGIC)):
        if registry:
            raise SettingError("reports name their plan only: --registry is for a plan or a table")
        kind = ReportFile if start.startswith(REPORTS_MAGIC) else ShuffledFile
        facts, words, asked = _reports(file, contract, kind)
    elif start.startswith(TABLE_MAGIC):
        facts, words, contract = _table(file, contract)
    elif start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        contract, facts = Plan.load(file), {"kind": "plan"}
        words = "a plan, the public contract that clients and server share.\n"
    else:
        raise FileError(file, 0, "the start of a plan, a report file, a shuffled file or a table")
    if registry and contract is not None:
        when = published or date.today().isoformat()
        who = _who(contract, sheet, curator)
        record = registry_entry(contract, region=region, tier=tier, published=when, **who)
        return Outcome(record, shown=[to_json(record)])
    named = Text.assemble((str(file), "bold"), ": ", words)
    if contract is None:
        return Outcome(facts, shown=[named, f"They answer the plan {facts['plan_id']}{asked}"])
    cost = cost_facts(contract)
    shown: list[Shown] = [named, plan_table(contract), "", str(contract.guarantee), cost_words(cost)]
    return Outcome({**facts, **plan_facts(contract), "cost": cost}, shown=shown)


def _who(plan: Plan, sheet: Path | None, curator: str | None) -> dict[str, str]:
    """Return what a study is called and for, and who is behind it: by its sheet, if there is one."""
    words = {"title": "", "purpose": "", "who": "unnamed"}
    if sheet is not None:
        read = sheet_of(sheet, [plan])
        words = read["languages"][read["language"]]
    return {"name": words["title"], "purpose": words["purpose"], "curator": curator or words["who"]}


def _reports(file: Path, contract: Plan | None, kind: type[ReportFile]) -> tuple[dict[str, Any], str, str]:
    """Return what report files are: for programs, for people, and how those may read the promise."""
    reports = kind.open(file, contract)
    with progress("verifying", reports.count) as advance:
        for chunk in reports.chunks():
            advance(len(chunk))
    if kind is ShuffledFile:
        name, width, asked = "shuffled", "message_bytes", ": add --plan plan.json for the promise."
        words = (
            f"{reports.count:,} mixed messages of {reports.width} bytes, released by a shuffler as one "
            "batch, intact (the digest matches).\nThey lie in the order of their bytes, which says nothing "
            "of who sent them.\n"
        )
    else:
        name, width = "reports", "report_bytes"
        asked = ".\nThe promise stands in that plan: add --plan plan.json to read it here."
        words = (
            f"{reports.count:,} private reports of {reports.width} bytes, "
            f"{file.stat().st_size:,} bytes in all, intact (the digest matches).\n"
            "Each is a random id of 12 bytes and the private answer. Repeated ids are not looked for here; "
            "aggregating counts each once.\n"
        )
    facts = {"kind": name, "count": reports.count, width: reports.width, "intact": True}
    return {**facts, "plan_id": reports.plan_id.hex()}, words, asked


def _table(file: Path, contract: Plan | None) -> tuple[dict[str, Any], str, Plan]:
    """Return what a table is, for programs and for people, and its plan."""
    from coterie.aggregate import Aggregate

    table = Aggregate.load(file, contract)
    size = "with all of them in it" if table.table.keeps_reports else "whatever their number"
    words = (
        f"a table of {counted(table.count, 'report')} added up, {file.stat().st_size:,} bytes "
        f"{size}, intact (the digest matches).\n"
        "It is made of private reports alone, so whoever reads it learns no more than the promise allows.\n"
    )
    return {"kind": "table", "count": table.count, "intact": True}, words, table.plan
