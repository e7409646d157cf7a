"""`coterie ledger`: show the owner of a device what its answers may have spent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from coterie.cli.screen import Outcome, counted
from coterie.encode.ledger import Answer, Ledger
from coterie.privacy.policy import Policy, Spending, shown

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run(
    file: Path,
    *,
    days: Annotated[int | None, typer.Option(min=1)] = None,
) -> Outcome:
    """Show which plans a device answered, and what they may have spent of its owner's privacy.

    For the owner's eyes: the ledger says in which studies somebody took part. Sums are exact, and shown
    rounded up.

    Parameters
    ----------
    file
        A ledger, as `Client(plan, ledger=...)` keeps it.
    days
        Sum up the last so many days only.
    """
    with file.open("rb"):  # a ledger that is not there is no empty one
        pass
    spent = Ledger(file).spent(days=days)
    answers = [{**_answer_facts(one), **_facts(one.spending)} for one in spent.answers]
    table = Table("day", "plan", "study", "epsilon", "local epsilon", "delta")
    for one in spent.answers:
        facts = _answer_facts(one)
        names = (facts["plan_id"][:12] + "…", facts["study_id"][:12] + "…")
        table.add_row(facts["day"], *names, *_figures(one.spending))
    total, policy = spent.total, Policy()
    period = "in all" if days is None else f"in the last {counted(days, 'day')}"
    said = [f"{counted(len(spent.answers), 'plan')} answered {period}: {total}"]
    if (unmixed := total.local_epsilon) != total.epsilon:
        loss = "everything" if unmixed is None else f"epsilon {shown(unmixed)}"
        said.append(
            f"Where nobody mixed the reports, that is {loss} in all, not epsilon {shown(total.epsilon)}: "
            "what they promise by themselves."
        )
    said.append(
        f"The default policy allows epsilon {policy.total_epsilon:g}, delta {policy.total_delta:g} and "
        f"local epsilon {policy.total_local_epsilon:g} in all."
    )
    return Outcome({"answers": answers, "days": days, "total": _facts(total)}, shown=[table, *said])


def _answer_facts(one: Answer) -> dict[str, str]:
    day = (_EPOCH + timedelta(days=one.day)).date().isoformat()
    return {"day": day, "plan_id": one.plan_id.hex(), "study_id": one.study_id.hex()}


def _figures(spending: Spending) -> tuple[str, str, str]:
    local = "no bound" if spending.local_epsilon is None else shown(spending.local_epsilon)
    return shown(spending.epsilon), local, shown(spending.delta)


def _facts(spending: Spending) -> dict[str, Any]:
    """Return exact fractions as text, for programs."""
    local = None if spending.local_epsilon is None else str(spending.local_epsilon)
    return {"epsilon": str(spending.epsilon), "delta": str(spending.delta), "local_epsilon": local}
