"""The command `coterie`: one command a file.

Exit codes: 0 all went well; 1 an error that this package or the operating system explains in one line on
stderr; 2 the command line itself was wrong; 130 interrupted. What a program may read goes to stdout
(`--json`), everything else to stderr.

Loading the commands takes a second or so. This file imports nothing, and `main` loads them where an interrupt
is caught: whoever presses Ctrl-C at once sees no traceback.
"""

from __future__ import annotations

__all__ = ["main"]

ERROR = 1
INTERRUPTED = 130


def main() -> None:
    """Run the command line."""
    try:
        from coterie.errors import MissingExtraError, bringing

        try:
            with bringing("analyst"):
                from coterie.cli.app import app
        except MissingExtraError as error:
            raise SystemExit(f"error: {error}") from None
        app()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
