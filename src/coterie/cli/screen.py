"""What all commands share: progress, JSON, errors in one line, outputs that are not overwritten."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from coterie.cli import ERROR
from coterie.plain.canonical import finite

if TYPE_CHECKING:
    from coterie.collect import Skipped

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Json = Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object on stdout.")]
Shown = str | Text | Table
Force = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]


def show_error(error: BaseException) -> None:
    """Print one line in red on stderr."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        message = f"{error.filename}: {error.strerror}"
    else:
        message = str(error)
    err.print(Text.assemble(("error: ", "bold red"), (message, "red")), soft_wrap=True)


def caution(message: str) -> None:
    """Print a warning on stderr."""
    err.print(Text.assemble(("caution: ", "bold yellow"), message), soft_wrap=True)


def say(message: str) -> None:
    """Print a line about progress or outcome on stderr."""
    err.print(Text(message), soft_wrap=True)


def show(*things: Shown) -> None:
    """Print on stdout what people read: tables, and words as they are."""
    for each in things:
        out.print(Text(each) if isinstance(each, str) else each, soft_wrap=not isinstance(each, Table))


class Caution(str):
    """A line that warns."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command has to say: facts for programs, or in words what is shown, and lines about it."""

    facts: Mapping[str, Any]
    lines: Iterable[str] = ()
    shown: Iterable[Shown] = ()
    failed: bool = False  # then the exit code is 1


def tell(outcome: Outcome, *, json: bool) -> None:
    """Print an outcome: as one JSON object on stdout, or what is shown there and lines on stderr."""
    if json:
        print_json(outcome.facts)
    else:
        show(*outcome.shown)
        for line in outcome.lines:
            (caution if isinstance(line, Caution) else say)(line)
    if outcome.failed:
        raise typer.Exit(ERROR)


def written(*paths: Path | None) -> list[str]:
    """Return in words which of the files that were asked for are there now."""
    return [f"wrote {path}" for path in paths if path is not None]


def counted(number: int, what: str, several: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "file"), counted(2000, "batch", "batches")
    ('1 file', '2,000 batches')
    """
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def facts_table(facts: Mapping[str, str | None]) -> Table:
    """Return facts by name as a table; those without words are left out."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, words in facts.items():
        if words:
            table.add_row(name, words)
    return table


def figures_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """Return figures, each at the right of its column."""
    table = Table(title=title, title_justify="left", box=None)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def print_json(value: Mapping[str, Any]) -> None:
    """Print a JSON object on stdout; numbers that JSON has no word for become null."""
    typer.echo(to_json(value))


def to_json(value: Mapping[str, Any]) -> str:
    r"""Return a JSON object as text.

    Examples
    --------
    >>> to_json({"recovered": float("nan"), "users": 3})
    '{\n  "recovered": null,\n  "users": 3\n}'
    """
    return json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False)


@contextlib.contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal's stderr; the block gets a function that advances it.

    Examples
    --------
    >>> with progress("adding", total=3) as advance:
    ...     advance(3)
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda amount: bar.advance(task, amount)


def skipped_facts(skipped: Iterable[Skipped]) -> list[dict[str, Any]]:
    """Return what was left out of a batch, for programs."""
    return [{"reason": each.reason, "count": each.count, "places": list(each.places)} for each in skipped]


def check_output(path: Path | None, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work is done, to write where something would be lost or nothing can be written."""
    if path is None:
        return
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is no folder; make it first")
    if any(path.resolve() == source.resolve() for source in inputs):
        raise FileExistsError(f"{path} is an input of the same command; choose another name")
    if path.exists() and not path.is_file():  # renaming over a device or a pipe would put a file in its place
        raise FileExistsError(f"{path} is no ordinary file; choose another name")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; --force replaces it")
