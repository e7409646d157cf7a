"""`coterie verify`: recompute a study's centers from what its collector published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie.cli.screen import Json, caution, print_json, progress, say
from coterie.plain.canonical import MAX_BYTES
from coterie.plain.files import read_bounded
from coterie.service.manifest import read_manifest, verify

MOST_TABLE = 1 << 31


def run(
    manifest: Annotated[Path, typer.Argument(help="The signed manifest of a decoded study.")],
    table: Annotated[Path, typer.Option(help="Its table.")],
    key: Annotated[
        str | None, typer.Option(help="The public key that must have signed it, 64 hex digits.")
    ] = None,
    json: Json = False,
) -> None:
    """Check a manifest: its signature, the table's digest and count, and the centers, computed again."""
    data = read_bounded(manifest, MAX_BYTES, "a manifest")
    with progress("decoding", None):
        away = verify(data, read_bounded(table, MOST_TABLE, "a table"), key)
    found = read_manifest(data)
    if json:
        print_json(
            {
                "plan_id": found["plan_id"],
                "count": found["counts"]["counted"],
                "difference": away,
                "public_key": found["public_key"],
                "key_given": key is not None,
            }
        )
        return
    if key is None:
        caution(f"signed by {found['public_key']}: that this is the collector's key, only --key checks")
    say(
        f"{len(found['centers'])} centers of {found['counts']['counted']:,} reports recomputed, "
        f"within {away:.1g} radii of the ball; plan {found['plan_id']}"
    )
