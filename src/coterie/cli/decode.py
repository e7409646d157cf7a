"""`coterie decode`: a table in, centers out. Post-processing: it costs no privacy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from coterie.cli.screen import Force, Json, caution, check_output, print_json, progress, say, to_json
from coterie.cli.screen import out as screen
from coterie.plan import Plan
from coterie.plan.files import replacing

if TYPE_CHECKING:
    from coterie.centers import Result

_SHOWN_COORDINATES = 4


def run(
    table: Annotated[Path, typer.Argument(help="The table that `coterie aggregate` wrote.")],
    plan: Annotated[Path, typer.Option(help="The plan that the table must be of.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the centers (JSON).")] = None,
    random_state: Annotated[
        int | None, typer.Option(min=0, help="Seed of the analyst's choices, to repeat a result.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Turn a table into centers, their shares of people and their expected errors."""
    from coterie.aggregate import Aggregate
    from coterie.centers import decode

    check_output(out, force, (table, plan))
    contract = Plan.load(plan)
    with progress("decoding", None):
        result = decode(Aggregate.load(table, contract), random_state=random_state)
    if out is not None:
        with replacing(out) as file:
            file.write((to_json(result.to_dict()) + "\n").encode("utf-8"))
    if json:
        print_json(result.to_dict())
        return
    screen.print(_result_table(result))
    say(
        f"{result.supported} of {len(result.centers)} centers stand above the noise; {result.count:,} reports"
    )
    for note in result.notes:
        caution(note)
    if out is not None:
        say(f"wrote {out}")


def _result_table(result: Result) -> Table:
    table = Table("center", "share of people", "error (root mean square)", "coordinates")
    for number, center in enumerate(result.centers):
        shown = ", ".join(f"{x:.3g}" for x in center[:_SHOWN_COORDINATES])
        more = ", …" if len(center) > _SHOWN_COORDINATES else ""
        table.add_row(
            str(number), f"{result.weights[number]:.1%}", f"{result.errors[number]:.3g}", f"({shown}{more})"
        )
    return table
