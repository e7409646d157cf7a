"""The application: its commands, its errors in one line, its exit codes (see `coterie.cli`)."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from coterie import __version__
from coterie.cli import (
    ERROR,
    INTERRUPTED,
    aggregate,
    audit,
    compare,
    decode,
    demo,
    encode,
    inspect,
    invite,
    ledger,
    plan,
    power,
    release,
    report,
    send,
    serve,
    sheet,
    shuffle,
    simulate,
    store,
    study,
    verify,
    waves,
    withdraw,
)
from coterie.cli.command import command
from coterie.cli.screen import show_error
from coterie.errors import CoterieError


class _OneLineErrors(TyperGroup):
    """Shows errors that were raised on purpose, and the operating system's, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # whoever read our output has seen enough: no error to show
        except (CoterieError, OSError) as error:
            show_error(error)
            raise typer.Exit(ERROR) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="coterie",
    cls=_OneLineErrors,
    help="Find the k groups in data that never leaves people's devices.",
    epilog="Exit codes: 0 done, 1 an error (said in one line), 2 a wrong command line, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # a traceback must not print anyone's points
)
for _module in (
    *(demo, power, plan, encode, shuffle, aggregate, decode, compare, report, simulate, inspect, ledger),
    *(audit, serve, study, waves, sheet, invite, send, withdraw, release, verify, store),
):
    app.command(name=_module.__name__.rpartition(".")[2])(command(_module.run))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"coterie {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the k groups in data that never leaves people's devices."""
