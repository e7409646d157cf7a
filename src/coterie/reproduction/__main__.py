"""Compute without the command line's dependencies: `python -m coterie.reproduction FOLDER WORKERS [RUNS]`.

For a machine that has neither typer nor matplotlib: it writes the CSV files, and `coterie reproduce
--draw-only --out FOLDER` draws from them elsewhere.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from coterie.reproduction.reproduce import Reproduction


@contextlib.contextmanager
def _plain(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    start, done = time.monotonic(), 0

    def advance(amount: int) -> None:
        nonlocal done
        done += amount
        share = done / (total or done)
        left = (time.monotonic() - start) * (1 / share - 1)
        print(f"{what}: {share:.1%}, {left:.0f} s left", file=sys.stderr, flush=True)

    yield advance


def main(arguments: list[str]) -> int:
    """Run the computing half; return the exit code."""
    if not 2 <= len(arguments) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    runs = int(arguments[2]) if len(arguments) == 3 else None
    count, _ = Reproduction(Path(arguments[0]), runs=runs).compute(int(arguments[1]), _plain)
    print(f"{count} runs in {arguments[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
