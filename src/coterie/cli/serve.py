"""`coterie serve`: run a collector, or a shuffler."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, TypedDict, Unpack

import typer

from coterie.cli.options import read_options
from coterie.cli.screen import say
from coterie.errors import SettingError, bringing
from coterie.service.keys import TOKEN_VARIABLE, signing_key
from coterie.service.settings import PREFIX, Settings
from coterie.wire.signing import public_key


class Flags(TypedDict):
    """Settings that have a flag of their own."""

    data: Path | None
    store: str | None
    host: str | None
    port: int | None
    role: str | None
    shufflers: str | None
    deliver_to: str | None
    token_file: Path | None
    key_file: Path | None


def run(
    *,
    config: Path | None = None,
    set_: Annotated[list[str] | None, typer.Option("--set")] = None,
    **flags: Unpack[Flags],
) -> None:
    """Run a collector: takes reports in over HTTP, keeps them, decodes when told.

    As a shuffler it takes reports of shuffle plans in, mixes them once the study is closed, hands the batch
    to the collector, and keeps their ids alone. Let somebody else run it than the collector
    (docs/shuffler.md).

    Settings come from flags, then from variables such as COTERIE_SERVE_PORT, then from --config. A TLS proxy
    belongs in front of it (docs/deploy.md). SIGTERM stops it; what was accepted is kept.

    Parameters
    ----------
    data
        Folder of the store, the operator's token and the signing key; made if need be.
    store
        Keep reports there instead: a folder, or postgresql://…
    host
        Address to listen on. Default: 127.0.0.1.
    port
        Port to listen on; 0 takes a free one. Default: 8787.
    role
        What the service is: collector (the default) or shuffler.
    shufflers
        For a collector: public keys of its shufflers, with commas between them.
    deliver_to
        For a shuffler: address of the collector that gets the batches.
    token_file
        File with the operator's token. Default: in --data.
    key_file
        File with the key that signs manifests, or batches. Default: in --data.
    config
        File of settings (TOML).
    set_
        Another setting as name=value, such as most_body=65536; see the docs.
    """
    others = read_options(set_, SettingError)
    if twice := sorted(set(others) & set(flags)):
        raise SettingError(f"the setting {twice[0]} is given as --{twice[0].replace('_', '-')}")
    settings = Settings.read({**flags, **others}, file=config)
    with bringing("service"):
        from coterie.service.server import serve
    serve(settings, started=lambda address: _ready(address, settings))


def _ready(address: str, settings: Settings) -> None:
    key = public_key(signing_key(settings.key_path)).hex()
    if settings.role == "shuffler":
        say(f"shuffling for {settings.deliver_to}; its public key, for --shufflers there, is\n{key}")
    else:
        say(f"results are signed; the public key to publish, for verify --key, is\n{key}")
    say(f"collecting at {address} (settings also from {PREFIX}…); stop with Ctrl+C")
    where = TOKEN_VARIABLE if TOKEN_VARIABLE in os.environ else settings.token_path
    say(f"the operator's token is in {where}")
