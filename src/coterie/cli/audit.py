"""`coterie audit`: whether a client keeps its plan's promise, shown on its bytes."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.text import Text

from coterie.cli.screen import Force, Json, check_output, err, out, print_json, say, show
from coterie.plain.files import write_whole
from coterie.plan import Plan


def run(
    *,
    plan: Path,
    client: str | None = None,
    page: Path | None = None,
    quick: bool = False,
    canaries: bool = True,
    force: Force = False,
    json: Json = False,
) -> None:
    """Audit a client: exact laws, samples of its bytes, broken clients that must be caught.

    Exit code 1 if anything fails.

    Parameters
    ----------
    plan
        The plan that the client answers.
    client
        A client in any language, as a command: JSON points or records per line in, hex reports out; the
        plan's file is its last argument. Default: the package's own.
    page
        Write an HTML page here, too.
    quick
        Fewer samples: only large faults are found.
    canaries
        Run broken clients that must be caught, too.
    """
    from coterie.audit import audit

    check_output(page, force, (plan,))
    contract = Plan.load(plan)
    tell = (lambda name: say(f"{name} …")) if err.is_terminal else None
    found = audit(contract, client, quick=quick, with_canaries=canaries, progress=tell)
    if page is not None:
        from coterie.show.pages import render

        write_whole(page, render("audit.html", found=found))
    if json:
        print_json(found.to_dict())
    else:
        for check in found.checks:
            mark = ("passed ", "green") if check.passed else ("FAILED ", "bold red")
            out.print(Text.assemble(mark, f"{check.part}: {check.name}: {check.found}"), soft_wrap=True)
        show("\nWhat an audit cannot show:", *(f"- {limit}" for limit in found.limits))
        verdict = "passed" if found.passed else f"FAILED in {len(found.failures)} checks"
        out.print(Text(f"\n{found.claim}: {verdict} ({len(found.checks)} checks, {found.seconds:.0f} s)"))
        if page is not None:
            say(f"wrote {page}")
    if not found.passed:
        raise typer.Exit(1)
