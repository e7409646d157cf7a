"""`coterie demo`: see private clusters found, with the real encoder, in under a minute."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from coterie.cli.screen import Caution, Outcome, Shown, check_output, facts_table, progress
from coterie.plain.files import write_whole

if TYPE_CHECKING:
    from coterie.cli.simulation import Study

PAGE = Path("coterie-demo.html")


def run(
    *,
    users: Annotated[int, typer.Option(min=100)] = 200000,
    epsilon: float = 1.0,
    out: Path = PAGE,
    seed: Annotated[int | None, typer.Option(min=0, max=2**32 - 1)] = None,
) -> Outcome:
    """Simulate people, collect one private report from each, find the groups, and write a page about it.

    The people use an app, in five groups; their features, their habits and how they are drawn stand in
    coterie/show/people.py. Schema, encoder, reports, table and decoder are the real ones. Without --seed the
    coins are the operating system's.

    Parameters
    ----------
    users
        People to simulate.
    epsilon
        Privacy of one report, in (0, 16].
    out
        Where to write the page; a page that exists is replaced.
    seed
        Repeat a run, coins included.
    """
    check_output(out, force=True)
    with progress("starting", None):
        from coterie.cli.page import render
        from coterie.cli.simulation import simulate
        from coterie.cli.words import headline, shortcomings
    study = simulate(users=users, epsilon=epsilon, seed=seed, stage=progress)
    write_whole(out, render(study))
    told = study.told()
    cost = {
        "groups found": f"{len(study.found())} of {study.plan.clusters}",
        "recovered": f"{study.recovered:.0%} of what k-means gains with the data in the open",
        "bytes per person": f"{study.plan.report_width}, sent once",
        "seconds": ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in study.seconds.items()),
    }
    groups = [_groups(study)] if told.told else []
    explained = [told.explaining] if told.explaining else []
    shown: list[Shown] = [Text(headline(study), style="bold"), *groups, *explained, facts_table(cost)]
    lines = [*map(Caution, shortcomings(study)), f"wrote {out}: open it in a browser"]
    return Outcome(_facts(study, out), lines, shown)


def _groups(study: Study) -> Table:
    from coterie.cli.words import WORDING
    from coterie.show.people import HABITS
    from coterie.show.words import percent

    found = study.found()
    table = Table("", "told by the reports", "share", "in the simulation")
    for group in study.told().told:
        true = found.get(group.number)
        named = "none" if true is None else f"{HABITS[true].name}, {study.true_shares[true]:.0%}"
        share = percent(group.share, group.low, group.high)
        table.add_row(group.name, WORDING.title(group), share, named)
    return table


def _facts(study: Study, out: Path) -> dict[str, Any]:
    from coterie.cli.words import WORDING
    from coterie.show.people import HABITS

    found = study.found()
    names = {number: HABITS[true].name for number, true in found.items()}
    return {
        "page": str(out),
        "users": study.result.count,
        "clusters": study.plan.clusters,
        "dimension": study.plan.dimension,
        "epsilon": study.plan.epsilon,
        "seed": study.seed,
        "seeded_coins": study.seeded_coins,
        "objective_private": study.private,
        "objective_non_private": study.non_private,
        "objective_one_center": study.one_center,
        "recovered": study.recovered,
        "groups_found": len(found),
        "supported": study.result.supported,
        "explained": study.result.explained._asdict(),
        "explained_in_truth": 1 - study.private / study.one_center,
        "groups": [
            {
                "name": group.name,
                "title": WORDING.title(group),
                "simulated_as": names.get(group.number),
                **asdict(group),
            }
            for group in study.told().told
        ],
        "everybody": [asdict(estimate) for estimate in study.result.everybody],
        "bytes_per_person": study.plan.report_width,
        "seconds": study.seconds,
        "notes": list(study.result.notes),
        "plan_id": study.plan.id,
    }
