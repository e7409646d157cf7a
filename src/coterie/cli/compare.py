"""`coterie compare`: what differs between tables that were collected under several labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from coterie.cli.decode import load, wanted_clusters
from coterie.cli.screen import Caution, Force, Outcome, Shown, check_output, progress, written
from coterie.plain.files import write_whole


def run(
    tables: list[Path],
    *,
    label: list[str] | None = None,
    out: Path | None = None,
    clusters: str | None = None,
    random_state: Annotated[int | None, typer.Option(min=0)] = None,
    force: Force = False,
) -> Outcome:
    """Compare labels: shares and means of the same groups under each, and what is more than chance.

    Parameters
    ----------
    tables
        What `coterie aggregate` wrote, a file or a folder that grows: two or more.
    label
        One for each table, in order; tables of one label are read together. All are compared with the first.
        Default: the files' names.
    out
        Where to write the page (HTML).
    clusters
        Groups to find on all tables, or auto. Default: as the plan says.
    random_state
        Seed of the analyst's choices, to repeat a result.
    """
    from coterie.centers import compare
    from coterie.plain.words import letter

    check_output(out, force, tables)
    wanted = wanted_clusters(clusters)
    read = [load(path, None) for path in tables]
    names = [path.stem for path in tables] if label is None else label
    with progress("comparing", None):
        found = compare(read, names, clusters=wanted, random_state=random_state)
    if out is not None:
        write_whole(out, found.page(), overwrite=force)
    table = Table(
        "group", *(f"{name}, {count:,}" for name, count in zip(found.labels, found.counts, strict=True))
    )
    for other in found.labels[1:]:
        table.add_column(f"{other} less {found.labels[0]}, points")
    for group in range(found.shares.shape[1]):
        shares = [
            f"{share:.1%} ± {100 * half:.1f}"
            for share, half in zip(found.shares[:, group], found.share_errors[:, group], strict=True)
        ]
        gaps = [
            f"{100 * each.value:+.1f} ({100 * each.low:+.1f} to {100 * each.high:+.1f})"
            + " moved" * each.moved
            for each in found.differences
            if each.group == group
        ]
        table.add_row(letter(group), *shares, *gaps)
    shown: list[Shown] = [table, *(str(each) for each in found.figures if each.moved)]
    words = filter(None, (found.words, found.figure_words))
    return Outcome(found.to_dict(), [*words, *map(Caution, found.notes), *written(out)], shown)
