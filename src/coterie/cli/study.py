"""`coterie study`: what a collector's console does, for scripts: list, open, close, decode, delete."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from coterie.cli.operator import TokenFile, operator_token_of
from coterie.cli.screen import Json, print_json, progress, say
from coterie.plan import Plan
from coterie.remote.collector import RemoteCollector


class Action(StrEnum):
    """What to do with studies."""

    LIST = "list"
    OPEN = "open"
    CLOSE = "close"
    DECODE = "decode"
    DELETE = "delete"


def run(
    action: Action,
    which: Annotated[str | None, typer.Argument(metavar="[PLAN]")] = None,
    *,
    url: str,
    token_file: TokenFile = None,
    yes: bool = False,
    json: Json = False,
) -> None:
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
    if (which is None) != (action is Action.LIST):
        raise typer.BadParameter("list takes none, all others take one", param_hint="PLAN")
    with RemoteCollector(url, token=operator_token_of(token_file)) as collector:
        if which is None:
            studies = collector.studies()
            if json:
                print_json({"studies": studies})
            for each in () if json else studies:
                of = f"about {each['reports']:,} of {each['expected_users']:,} people"
                label = "" if each["label"] is None else f" ({each['label']})"
                say(f"{each['plan_id']}  {each['title']}{label}\n  {each['words']}, {of}. {each['next']}")
            return
        plan = Plan.load(which) if action is Action.OPEN else None
        plan_id = which if plan is None else plan.id
        if action in (Action.CLOSE, Action.DELETE) and not yes:
            what = "Close the study" if action is Action.CLOSE else "Delete the reports of the study"
            typer.confirm(f"{what} {plan_id[:12]}… for good?", abort=True, err=True)
        if plan is not None:
            done = "open" if collector.put_plan(plan) else "open already"
        elif action is Action.CLOSE:
            collector.close(plan_id)
            done = "closed"
        elif action is Action.DECODE:
            with progress("decoding", None):
                collector.decode(plan_id)
            done = "decoded"
        else:
            collector.delete_reports(plan_id)
            done = "rid of its reports"
        if json:
            print_json({"plan_id": plan_id, "done": done})
        else:
            say(f"study {plan_id} is {done}")
