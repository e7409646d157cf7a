"""`coterie serve`: run a collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie.cli.options import read_options
from coterie.cli.screen import say
from coterie.errors import MissingExtraError, SettingError
from coterie.service.settings import PREFIX, Settings

_BROUGHT = ("httptools", "prometheus_client", "pyarrow", "psycopg", "starlette", "uvicorn", "uvloop")


def run(
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the store, the operator's token and the signing key; made if need be."),
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="Keep reports there instead: a folder, or postgresql://…")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 takes a free one. Default: 8787.")
    ] = None,
    role: Annotated[str | None, typer.Option(help="What the service is. Default: collector.")] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the operator's token. Default: in --data.")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="File with the key that signs manifests. Default: in --data.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="File of settings (TOML).")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another setting as name=value, such as most_body=65536; see the docs."),
    ] = None,
) -> None:
    """Run a collector: takes reports in over HTTP, keeps them, decodes when told.

    Settings come from flags, then from variables such as COTERIE_SERVE_PORT, then from --config. A TLS proxy
    belongs in front of it (docs/deploy.md). SIGTERM stops it; what was accepted is kept.
    """
    flags = {
        "data": data,
        "store": store,
        "host": host,
        "port": port,
        "role": role,
        "token_file": token_file,
        "key_file": key_file,
    }
    others = read_options(set_, SettingError)
    if twice := sorted(set(others) & set(flags)):
        raise SettingError(f"the setting {twice[0]} is given as --{twice[0].replace('_', '-')}")
    settings = Settings.read({**flags, **others}, file=config)
    if settings.role != "collector":
        raise SettingError(f"there is no role {settings.role!r}; known: collector")
    try:
        from coterie.service.server import serve
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _BROUGHT:
            raise
        raise MissingExtraError(package.replace("_", "-"), "service") from None
    serve(settings, started=lambda address: _ready(address, settings))


def _ready(address: str, settings: Settings) -> None:
    say(f"collecting at {address} (settings also from {PREFIX}…); stop with Ctrl+C")
    say(f"the operator's token is in {settings.token_path}")
