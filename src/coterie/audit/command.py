"""A client in any language, as a command: people in, report bytes out.

The command gets the plan's file as its last argument. It reads people from its standard input, one per
line, until the input ends: a JSON array of d numbers or, where the plan declares features, a JSON object of
values by name (null for a missing one; a text for a number, say, is missing, too). It writes one line per
person to its standard output: the bytes that it would send, in hex (where ids follow from tokens, it makes
tokens up).
"""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from coterie.audit.probes import People
from coterie.errors import SettingError
from coterie.plan import Plan

TIMEOUT: Final = 3600.0  # seconds for one batch of people


class CommandClient:
    """Runs a command for each batch of people.

    Parameters
    ----------
    command : str
        As one would type it; run without a shell.
    plan : Plan
        The plan that it answers.
    """

    def __init__(self, command: str, plan: Plan) -> None:
        self._words = shlex.split(command)
        if not self._words:
            raise SettingError("a client's command must name a program")
        self._plan = plan

    def __call__(self, people: People, surroundings: Mapping[str, str] | None = None) -> list[bytes]:
        """Return what the client sends for each person; `surroundings` are variables."""
        listed = people.tolist() if isinstance(people, np.ndarray) else people
        lines = "".join(json.dumps(_written(person)) + "\n" for person in listed)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "plan.json"
            self._plan.save(path)
            try:
                done = subprocess.run(  # noqa: S603 - the command is the auditor's own
                    [*self._words, str(path)], input=lines, capture_output=True, text=True, check=False,
                    timeout=TIMEOUT, env=None if surroundings is None else {**os.environ, **surroundings},
                )  # fmt: skip
            except (OSError, subprocess.TimeoutExpired) as error:
                raise SettingError(f"the client {self._words[0]!r} could not be run: {error}") from None
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise SettingError(f"the client ended with code {done.returncode}: {last[0][:200]}")
        sent = done.stdout.split()
        if len(sent) != len(listed):
            raise SettingError(f"the client wrote {len(sent)} reports for {len(listed)} people")
        try:
            return [bytes.fromhex(line) for line in sent]
        except ValueError:
            raise SettingError("the client must write its reports in hex, one per line") from None


def _written(person: Any) -> Any:
    """Return a person as JSON can say it: there is no NaN, which counts as missing as null does."""
    if isinstance(person, dict):
        return {name: _written(value) for name, value in person.items()}
    return None if isinstance(person, float) and math.isnan(person) else person
