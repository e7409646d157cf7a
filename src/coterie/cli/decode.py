"""`coterie decode`: a table in, centers out. Post-processing: it costs no privacy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.table import Table

from coterie.cli.options import read_options
from coterie.cli.screen import Caution, Force, Outcome, check_output, counted, progress, to_json, written
from coterie.errors import DecodeError
from coterie.plain.files import write_whole
from coterie.plan import Plan

if TYPE_CHECKING:
    from coterie.aggregate import Aggregate
    from coterie.centers import Result
    from coterie.centers.groups import Group

_SHOWN_COORDINATES = 4


def run(
    tables: list[Path],
    *,
    plan: Path | None = None,
    out: Path | None = None,
    clusters: str | None = None,
    population: Path | None = None,
    option: list[str] | None = None,
    decoder: str | None = None,
    objective: str = "means",
    random_state: Annotated[int | None, typer.Option(min=0)] = None,
    force: Force = False,
) -> Outcome:
    """Turn a table into groups: their centers, their shares of people, and how sure both are.

    Parameters
    ----------
    tables
        What `coterie aggregate` wrote, a file or a folder that grows; of a study with follow-up plans, all,
        in order.
    plan
        The plan that the table must be of; of several, the last. Default: the table's own.
    out
        Where to write the centers (JSON).
    clusters
        Centers to find, or auto. Default: as many as the plan says.
    population
        Where to write the weighted points that explain the reports (.npz).
    option
        An option of the protocol's decoder as name=value, such as strays=0; may be given more than once. An
        unknown name is refused with the list of known ones.
    decoder
        Which of the protocol's decoders, as population or cells. Default: the best.
    objective
        means, or medians: centers that people are near to, with how near; no radii then.
    random_state
        Seed of the analyst's choices, to repeat a result.
    """
    from coterie.centers import decode
    from coterie.centers.result import distance_words
    from coterie.show.told import Told

    inputs = [*tables, *([] if plan is None else [plan])]
    check_output(out, force, inputs)
    check_output(population, force, [*inputs, *([] if out is None else [out])])
    contract = None if plan is None else Plan.load(plan)
    wanted, options = wanted_clusters(clusters), read_options(option, DecodeError)
    read = [*(load(path, None) for path in tables[:-1]), load(tables[-1], contract)]
    with progress("decoding", None):
        result = decode(
            read,
            clusters=wanted,
            random_state=random_state,
            decoder=decoder,
            objective=objective,
            **options,
        )
    if out is not None:
        write_whole(out, to_json(result.to_dict()) + "\n", overwrite=force)
    if population is not None:
        result.population.save(population, overwrite=force)
    groups = [_result_table(result)] if result.features is None else map(str, _shown(result))
    told = Told.of(result.to_dict(), read[-1].plan.radius)
    near = "" if result.distance is None else distance_words(result.distance)
    words = filter(None, (told.confirmed, told.explaining, near, told.otherwise, told.forging))
    lines = [
        f"{result.standing}; {counted(result.count, 'report')}",
        *map(Caution, result.notes),
        *written(out, population),
    ]
    return Outcome(result.to_dict(), lines, [*groups, *words])


def load(path: Path, contract: Plan | None) -> Aggregate:
    """Read a table from its file, or from a folder where it grows."""
    from coterie.aggregate import Aggregate
    from coterie.engines.growing_table import growing, is_growing

    if not is_growing(path):
        return Aggregate.load(path, contract)
    with growing(path, contract) as table:
        return table.table()


def wanted_clusters(clusters: str | None) -> int | str | None:
    """Read a number of clusters, or auto."""
    if clusters is None or clusters == "auto":
        return clusters
    try:
        return int(clusters)
    except ValueError:
        raise DecodeError("--clusters must be a number or auto") from None


def _shown(result: Result) -> tuple[Group, ...]:
    """Return the groups; where the reports tell none apart, everybody as one."""
    return result.groups if result.supported or np.ptp(result.centers, axis=0).any() else result.groups[:1]


def _result_table(result: Result) -> Table:
    from coterie.show.words import percent

    radius = "noise" if result.coverage is None else f"{result.coverage:.0%} radius of the mean"
    table = Table("group", "share of people", radius, "center")
    for group in _shown(result):
        center = result.centers[group.number]
        shown = ", ".join(f"{x:.3g}" for x in center[:_SHOWN_COORDINATES])
        more = ", …" if len(center) > _SHOWN_COORDINATES else ""
        doubt = ", not clear of the noise" * (group.clear is False)
        table.add_row(
            group.name,
            percent(group.share, group.low, group.high) + doubt,
            "–" if np.isnan(result.errors[group.number]) else f"{result.errors[group.number]:.3g}",
            f"({shown}{more})",
        )
    return table
