"""`coterie release`: let a shuffler release what it has gathered."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from coterie.cli.operator import operator_token_of
from coterie.cli.screen import Json, print_json, say
from coterie.errors import CollectorError
from coterie.remote.collector import RemoteCollector
from coterie.service.keys import TOKEN_VARIABLE

_LOOK_SECONDS = 0.25


def run(
    plan_id: str,
    *,
    url: str,
    token_file: Annotated[
        Path | None,
        typer.Option(help=f"File with the token of the shuffler's operator. Default: {TOKEN_VARIABLE}."),
    ] = None,
    wait: Annotated[float, typer.Option(min=0)] = 60.0,
    json: Json = False,
) -> None:
    """Release what a shuffler has gathered, as one batch, and wait until its collector keeps it.

    A shuffler does so by itself once the study is closed. Before that, release rarely and not by how many
    have come: each batch needs the plan's minimum of honest people by itself. Safe to run twice.

    Parameters
    ----------
    plan_id
        The plan's id, 64 hex digits.
    url
        The shuffler's address.
    wait
        Seconds to wait until the collector has the batch.
    """
    with RemoteCollector(url, token=operator_token_of(token_file)) as shuffler:
        state = shuffler.release(plan_id)
        until = time.monotonic() + wait
        while state["waiting"] is not None and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
            state = shuffler.release_state(plan_id)
    if json:
        print_json({"plan_id": plan_id, **state})
    elif state["waiting"] is None:
        say(f"the collector has the batch; {state['released']:,} people were released so far")
    if state["waiting"] is not None:
        why = state["refusal"] or "the collector has not answered yet"
        raise CollectorError(f"batch {state['waiting'][:12]}… is kept and tried again: {why}")
