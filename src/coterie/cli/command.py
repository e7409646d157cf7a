"""A command is a function: what is positional is an argument, what is by keyword an option.

Their help stands in the function's docstring, under Parameters, as that of every other function does. Options
that a command hands on together are the keys of a `TypedDict`, `**given: Unpack[…]`: None where they are not
given, and in the order of the docstring. What is returned is told, and where something is there is an option
--json.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from coterie.cli.screen import Json, Outcome, tell

_JSON = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
_ENTRY = re.compile(r"^(\w+)$((?:\n    .*)+)", re.MULTILINE)


def command(function: Callable[..., Outcome | None]) -> Callable[..., None]:
    """Return the function with the types that typer reads, and the text before its Parameters as its help.

    A type may be `Annotated` with a `typer.Option` or `typer.Argument` that has what a signature cannot say:
    bounds, or another name.
    """
    told, _, entries = (inspect.getdoc(function) or "").partition("\n\nParameters\n----------\n")
    helps = {name: " ".join(text.split()) for name, text in _ENTRY.findall(entries)}
    signature, hints = inspect.signature(function), get_type_hints(function, include_extras=True)
    listed = dict(signature.parameters)
    if listed[last := [*listed][-1]].kind is inspect.Parameter.VAR_KEYWORD:
        del listed[last]
        together = get_type_hints(get_args(hints[last])[0], include_extras=True)
        hints |= together
        listed |= {name: _JSON.replace(name=name, default=None) for name in together}
        listed = {name: listed[name] for name in dict.fromkeys((*helps, *listed))}

    def declared(name: str, parameter: inspect.Parameter) -> Any:
        kind, *given = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        option = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        flag = [f"--{name.replace('_', '-')}"] if parameter.default is False else []
        info = given[0] if given else typer.Option(*flag) if option else typer.Argument()
        info.help = info.help or helps[name]
        return Annotated[kind, info]

    parameters = [each.replace(annotation=declared(name, each)) for name, each in listed.items()]
    tells = hints["return"] is not type(None)
    if tells:
        parameters.append(_JSON)

    @wraps(function)
    def called(**given: Any) -> None:
        json = tells and given.pop("json")
        if (outcome := function(**given)) is not None:
            tell(outcome, json=json)

    called.__doc__, called.__annotations__ = told, {each.name: each.annotation for each in parameters}
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return called
