"""`coterie audit`: whether a client keeps its plan's promise, shown on its bytes."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from coterie.cli.screen import Force, Outcome, Shown, check_output, err, say, written
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
) -> Outcome:
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
    marks = {True: ("passed ", "green"), False: ("FAILED ", "bold red")}
    checks = (Text.assemble(marks[x.passed], f"{x.part}: {x.name}: {x.found}") for x in found.checks)
    verdict = "passed" if found.passed else f"FAILED in {len(found.failures)} checks"
    shown: list[Shown] = [
        *checks,
        "\nWhat an audit cannot show:",
        *(f"- {limit}" for limit in found.limits),
        f"\n{found.claim}: {verdict} ({len(found.checks)} checks, {found.seconds:.0f} s)",
    ]
    return Outcome(found.to_dict(), written(page), shown, failed=not found.passed)
