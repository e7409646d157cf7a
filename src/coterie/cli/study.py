"""`coterie study`: what a collector's console does, for scripts: list, open, close, decode, delete."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from coterie.cli.operator import TokenFile, operator_token_of
from coterie.cli.screen import Outcome, progress
from coterie.plan import Plan
from coterie.remote.collector import RemoteCollector


def run(
    action: Literal["list", "open", "close", "decode", "delete"],
    which: Annotated[str | None, typer.Argument(metavar="[PLAN]")] = None,
    *,
    url: str,
    token_file: TokenFile = None,
    yes: bool = False,
) -> Outcome:
    """Look after the studies of a collector, as its console in the browser does (the collector's address).

    Counts are told coarsely. Invitations are `coterie invite`, withdrawals `coterie withdraw`.

    Parameters
    ----------
    action
        list all; open one by its plan; close it for good; decode it once it is closed; delete its reports.
    url
        The collector's address.
    which
        To open: its file. Else: its id, 64 hex digits.
    yes
        Close or delete without asking.
    """
    if (which is None) != (action == "list"):
        raise typer.BadParameter("list takes none, all others take one", param_hint="PLAN")
    with RemoteCollector(url, token=operator_token_of(token_file)) as collector:
        if which is None:
            studies = collector.studies()
            return Outcome({"studies": studies}, map(_words, studies))
        plan = Plan.load(which) if action == "open" else None
        plan_id = which if plan is None else plan.id
        if action in ("close", "delete") and not yes:
            what = "Close the study" if action == "close" else "Delete the reports of the study"
            typer.confirm(f"{what} {plan_id[:12]}… for good?", abort=True, err=True)
        if plan is not None:
            done = "open" if collector.put_plan(plan) else "open already"
        elif action == "close":
            collector.close(plan_id)
            done = "closed"
        elif action == "decode":
            with progress("decoding", None):
                collector.decode(plan_id)
            done = "decoded"
        else:
            collector.delete_reports(plan_id)
            done = "rid of its reports"
        return Outcome({"plan_id": plan_id, "done": done}, [f"study {plan_id} is {done}"])


def _words(study: dict[str, Any]) -> str:
    """Return where a study is, and what to do next."""
    of = f"about {study['reports']:,} of {study['expected_users']:,} people"
    label = "" if study["label"] is None else f" ({study['label']})"
    return f"{study['plan_id']}  {study['title']}{label}\n  {study['words']}, {of}. {study['next']}"
