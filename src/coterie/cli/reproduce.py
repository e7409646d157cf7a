"""`coterie reproduce`: the paper's experiments again, with ours and the baselines beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie.cli.screen import Json, err, print_json, progress, say


def run(
    out: Annotated[Path, typer.Option(help="Folder for CSV, figures and page.")] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small grid, within three minutes on two cores.")
    ] = False,
    runs: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Runs a point. [default: 10, or 2 if --quick]")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, max=256, help="Processes. [default: one a core]")
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(help="Play only this sweep, or 'ablation'; may be given more than once."),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Play only this method; may be given more than once.")
    ] = None,
    grid: Annotated[
        Path | None,
        typer.Option(
            help="Sweeps of your own: JSON with base, sweeps, methods and runs. Then --method adds methods, "
            "such as 'net-tree?randomizer=codeword&levels=2'."
        ),
    ] = None,
    compute_only: Annotated[
        bool, typer.Option("--compute-only", help="Write the CSV files and draw nothing.")
    ] = False,
    draw_only: Annotated[
        bool, typer.Option("--draw-only", help="Redraw from the CSV files of an earlier run.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Replay the paper's experiments: sweeps over n, ε, k and r, baselines, ablation, claims.

    Runs are kept in runs.csv as they come: an interrupted command goes on where it stopped. The full grid
    takes about an hour and a half on two cores.
    """
    from coterie.plain.canonical import MAX_BYTES, parse_object
    from coterie.plain.files import read_bounded
    from coterie.reproduction.reproduce import Reproduction
    from coterie.reproduction.studies import Grid
    from coterie.wire.workers import default_workers

    if compute_only and draw_only:
        raise typer.BadParameter("--compute-only and --draw-only leave nothing to do")
    reproduction = Reproduction(
        out,
        quick=quick,
        runs=runs,
        sweeps_wanted=tuple(sweep or ()),
        methods_wanted=tuple(method or ()),
        grid=None if grid is None else Grid.from_dict(parse_object(read_bounded(grid, MAX_BYTES, "a grid"))),
        grid_name="" if grid is None else grid.name,
    )
    outcome: dict[str, object] = {"command": reproduction.command, "folder": str(out)}
    if not draw_only:
        count, _ = reproduction.compute(default_workers() if workers is None else workers, progress)
        outcome["runs"] = count
        say(f"{count} runs in {out / 'runs.csv'}")
    if not compute_only:
        claims, paths = reproduction.draw()
        outcome["claims"] = {claim.name: claim.verdict for claim in claims}
        outcome["files"] = [str(path) for path in paths]
        for claim in claims:
            color = {"yes": "green", "no": "red", "not clearly": "yellow"}.get(claim.verdict, "dim")
            mark = f"[{color}]{claim.verdict}[/]"
            err.print(f"{mark}  {claim.name}: {claim.figures}", soft_wrap=True)
        say(f"page: {out / 'report.html'}")
    if as_json:
        print_json(outcome)
