"""`coterie demo`: see private clusters found, with the real encoder, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from coterie.cli.screen import Json, caution, check_output, print_json, progress, say
from coterie.cli.screen import out as screen
from coterie.plain.files import replacing

if TYPE_CHECKING:
    from coterie.cli.simulation import Study

PAGE = Path("coterie-demo.html")


def run(
    users: Annotated[int, typer.Option(min=1, help="People to simulate.")] = 200_000,
    clusters: Annotated[int, typer.Option(min=1, help="Groups among them.")] = 5,
    dimension: Annotated[int, typer.Option(min=1, help="Coordinates of a person's point.")] = 100,
    epsilon: Annotated[float, typer.Option(help="Privacy of one report, in (0, 16].")] = 1.0,
    separation: Annotated[
        float, typer.Option(min=1, help="Groups are clouds of expected radius 1/separation.")
    ] = 20.0,
    out: Annotated[
        Path, typer.Option(help="Where to write the page; a page that exists is replaced.")
    ] = PAGE,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Repeat a run, coins included.")
    ] = None,
    json: Json = False,
) -> None:
    """Simulate people, collect one private report from each, find the groups, and write a page about it.

    The data are the paper's Gaussian mixture; encoder, reports, table and decoder are the real ones. Without
    --seed the coins are the operating system's.
    """
    check_output(out, force=True)
    with progress("starting", None):
        from coterie.cli.page import render
        from coterie.cli.simulation import simulate
    study = simulate(
        users=users,
        clusters=clusters,
        dimension=dimension,
        epsilon=epsilon,
        separation=separation,
        seed=seed,
        stage=progress,
    )
    with replacing(out) as file:
        file.write(render(study).encode("utf-8"))
    if json:
        print_json(_facts(study, out))
        return
    screen.print(_outcome(study))
    screen.print(_cost(study))
    for note in study.result.notes:
        caution(note)
    say(f"wrote {out}: open it in a browser")


def _outcome(study: Study) -> Table:
    plan = study.plan
    table = Table(
        "centers from",
        title=f"{study.result.count:,} people, {plan.clusters} groups, {plan.dimension} dimensions, "
        f"separation {study.separation:g}, ε = {plan.epsilon:g}",
        title_justify="left",
    )
    table.add_column("objective", justify="right")
    table.add_column("recovered", justify="right")
    table.add_row("one center for everybody", f"{study.one_center:.4f}", "0%")
    table.add_row(
        "coterie, one private report each",
        f"{study.private:.4f}",
        f"{study.recovered:.0%}",
        style="bold green",
    )
    table.add_row("k-means with the data in the open", f"{study.non_private:.4f}", "100%")
    return table


def _cost(study: Study) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    table.add_row("groups found", f"{study.groups_found()} of {study.plan.clusters}")
    table.add_row("bytes a person", f"{study.plan.report_width}, sent once")
    table.add_row("seconds", ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in study.seconds.items()))
    return table


def _facts(study: Study, out: Path) -> dict[str, Any]:
    return {
        "page": str(out),
        "users": study.result.count,
        "clusters": study.plan.clusters,
        "dimension": study.plan.dimension,
        "epsilon": study.plan.epsilon,
        "separation": study.separation,
        "seed": study.seed,
        "seeded_coins": study.seeded_coins,
        "objective_private": study.private,
        "objective_non_private": study.non_private,
        "objective_one_center": study.one_center,
        "recovered": study.recovered,
        "groups_found": study.groups_found(),
        "supported": study.result.supported,
        "bytes_per_person": study.plan.report_width,
        "seconds": study.seconds,
        "notes": list(study.result.notes),
        "plan_id": study.plan.id,
    }
