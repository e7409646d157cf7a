"""The command `coterie`: one command a file.

Exit codes: 0 all went well; 1 an error that this package or the operating system explains in one line on
stderr; 2 the command line itself was wrong; 130 interrupted. What a program may read goes to stdout
(`--json`), everything else to stderr.
"""

from __future__ import annotations

from coterie.cli.app import app, main

__all__ = ["app", "main"]
