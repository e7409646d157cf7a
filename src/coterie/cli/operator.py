"""Who operates a collector: the token that commands show it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from coterie.errors import SettingError
from coterie.plain.files import read_bounded
from coterie.service.keys import TOKEN_VARIABLE

TokenFile = Annotated[
    Path | None, typer.Option(help=f"File with the operator's token. Default: {TOKEN_VARIABLE}.")
]


def operator_token_of(path: Path | None) -> str:
    """Return the operator's token, from a file or from the environment."""
    if path is not None:
        return read_bounded(path, 4096, "the operator's token").decode("utf-8", "replace").strip()
    if token := os.environ.get(TOKEN_VARIABLE, "").strip():
        return token
    raise SettingError(f"give --token-file, or set {TOKEN_VARIABLE}")
