"""`coterie plan`: design a plan and write it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from coterie.cli.describe import plan_facts, plan_table
from coterie.cli.screen import Force, Json, check_output, print_json, say
from coterie.cli.screen import out as screen
from coterie.errors import PlanError
from coterie.plan import Plan


def run(
    dimension: Annotated[int, typer.Option(help="Coordinates of a point.")],
    clusters: Annotated[int, typer.Option(help="Centers to find.")],
    epsilon: Annotated[
        float, typer.Option(help="Privacy of one report, in (0, 16]; smaller is more private.")
    ],
    users: Annotated[int, typer.Option(help="Roughly how many people will answer.")],
    out: Annotated[Path, typer.Option(help="Where to write the plan (JSON).")],
    radius: Annotated[float, typer.Option(help="Radius of the public ball.")] = 1.0,
    center: Annotated[
        str | None, typer.Option(help="Center of the public ball: numbers with commas. Default: the origin.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Public; another seed gives other public randomness.")] = 0,
    protocol: Annotated[str, typer.Option(help="The construction.")] = "codeword",
    model: Annotated[
        str, typer.Option(help="Whom people have to trust: local (nobody), shuffle (a mixer), central.")
    ] = "local",
    delta: Annotated[
        float, typer.Option(help="Chance that the promise may fail; 0 in the local model.")
    ] = 0.0,
    minimum_batch: Annotated[
        int | None, typer.Option(help="Shuffle: the fewest people to be released together.")
    ] = None,
    local_cap: Annotated[
        float | None, typer.Option(help="Shuffle, codeword: the largest epsilon of a single report.")
    ] = None,
    layout: Annotated[str | None, typer.Option(help="Protocol shuffle: cells, column or hashed.")] = None,
    ids: Annotated[
        str, typer.Option(help="Where a report's id comes from: random, or token (local model only).")
    ] = "random",
    study: Annotated[
        str | None, typer.Option(help="For a follow-up plan: the id of the first plan of its study.")
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(help="Id of a plan whose results this one is designed from; repeat it."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Design a plan, the public contract that clients and server share.

    Choose ball, epsilon and clusters without looking at the data: a plan is public.
    """
    check_output(out, force)
    given = {"minimum_batch": minimum_batch, "local_cap": local_cap, "layout": layout}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    plan = Plan.design(
        dimension,
        clusters,
        epsilon,
        users,
        protocol=protocol,
        model=model,
        center=None if center is None else _numbers(center),
        radius=radius,
        seed=seed,
        delta=delta,
        ids=ids,
        study=study,
        after=after or (),
        **options,
    )
    plan.save(out)
    if json:
        print_json({"out": str(out), **plan_facts(plan)})
        return
    screen.print(plan_table(plan))
    screen.print(Text(f"\n{plan.guarantee}"), soft_wrap=True)
    say(f"\nwrote {out}")


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise PlanError("center must be numbers with commas between them, such as 0.5,0,-1") from None
