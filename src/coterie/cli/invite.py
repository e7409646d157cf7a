"""`coterie invite`: one-time tokens for the people of a study."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from coterie.cli.screen import Force, Json, check_output, print_json, say
from coterie.errors import SettingError
from coterie.plain.files import read_bounded, replacing
from coterie.remote.collector import RemoteCollector
from coterie.service.keys import TOKEN_VARIABLE

PIECE = 50_000  # tokens in one request


def run(
    plan_id: Annotated[str, typer.Argument(help="The plan's id, 64 hex digits.")],
    count: Annotated[int, typer.Option(min=1, help="How many people to invite.")],
    url: Annotated[str, typer.Option(help="The collector's address.")],
    out: Annotated[Path, typer.Option(help="Where to write the tokens, one per line, in hex.")],
    token_file: Annotated[
        Path | None, typer.Option(help=f"File with the operator's token. Default: {TOKEN_VARIABLE}.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Issue one-time tokens: one invitation is one report, and nobody can choose its id.

    The collector keeps marks of them, not the tokens. Hand each to one person: whoever knows who got which
    token can tell whose report it is.
    """
    check_output(out, force)
    with RemoteCollector(url, token=operator_token_of(token_file)) as collector:
        tokens: list[bytes] = []
        while len(tokens) < count:
            tokens += collector.invite(plan_id, min(PIECE, count - len(tokens)))
    with replacing(out, 0o600, overwrite=force) as file:
        file.writelines(token.hex().encode() + b"\n" for token in tokens)
    if json:
        print_json({"out": str(out), "plan_id": plan_id, "tokens": count})
        return
    say(f"issued {count:,} tokens\nwrote {out}")


def operator_token_of(path: Path | None) -> str:
    """Return the operator's token, from a file or from the environment."""
    if path is not None:
        return read_bounded(path, 4096, "the operator's token").decode("utf-8", "replace").strip()
    if token := os.environ.get(TOKEN_VARIABLE):
        return token
    raise SettingError(f"give --token-file, or set {TOKEN_VARIABLE}")
