"""Options of a protocol, of its design or of its decoder, as name=value pairs of the command line."""

from __future__ import annotations

from typing import Any

from coterie.errors import CoterieError
from coterie.plain.canonical import shown
from coterie.plain.checks import read_value


def read_options(given: list[str] | None, error: type[CoterieError]) -> dict[str, Any]:
    """Read name=value pairs; a value is an integer, a number, none, or a word.

    Examples
    --------
    >>> from coterie.errors import PlanError
    >>> read_options(["levels=3", "constants=theory"], PlanError)
    {'levels': 3, 'constants': 'theory'}
    """
    options: dict[str, Any] = {}
    for pair in given or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise error(f"an option is written name=value, such as levels=3; got {shown(pair)}")
        if name in options:
            raise error(f"the option {shown(name)} was given twice")
        options[name] = read_value(value)
    return options
