"""How large the decoder is: what decoding a table of `codeword` loads in a fresh interpreter.

    python -m benchmarks decoder_size [--source src]

*Lines* are those of all modules of `coterie` that are loaded when a table was read from a file and decoded,
comments, docstrings and blank lines included, and of those in `coterie.centers` alone. *Constants* are names
in capitals that the loaded modules of `coterie.centers` assign. Both are compared with what they were in
commit 7d957a0, before one decoder did it all; `--source` measures another tree.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import harness
from benchmarks.harness import Bar

SOURCE = Path(__file__).parents[1] / "src"
LINES = Bar("of the former lines", at_most=0.7)
CONSTANTS = Bar("constants", at_most=45)

_MAKE: Final = """
import sys
import numpy as np
from coterie import Aggregate, Client, Plan
plan = Plan.design(dimension=20, clusters=2, epsilon=4.0, expected_users=20_000, seed=0)
table = Aggregate(plan)
table.add(Client(plan).encode_many(np.repeat(0.4 * np.eye(20)[:2], 10_000, axis=0)))
table.save(sys.argv[1])
"""
_DECODE: Final = """
import sys
from coterie import Aggregate, decode
from coterie.centers import explain, population, repeats
population.ATOMS, repeats.REPEATS, explain.MEMBERS = 200, 1, 1  # what is loaded counts, not how well
decode(Aggregate.load(sys.argv[1]), random_state=0)
for name, module in sorted(sys.modules.items()):
    if name.split(".")[0] == "coterie" and getattr(module, "__file__", None):
        print(module.__file__)
"""
_CAPITALS: Final = re.compile(r"_?[A-Z][A-Z0-9_]*")


@dataclass(frozen=True)
class Size:
    """What a decode loads."""

    lines: int  # of all modules
    centers: int  # of those in `coterie.centers`
    constants: int  # of those in `coterie.centers`
    modules: int
    by_module: tuple[tuple[str, int, int], ...] = ()  # of `coterie.centers`: name, lines, constants


FORMER = Size(17_089, 4_235, 110, 141)  # of commit 7d957a0, as `--source` measures it


def size_of(source: Path) -> Size:
    """Decode a table with the package in a folder, and measure what that loaded."""
    with tempfile.TemporaryDirectory() as folder:
        table = str(Path(folder) / "table")
        _run(_MAKE, table, source)
        files = [Path(line) for line in _run(_DECODE, table, source).splitlines()]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    by_module = tuple(
        (file.stem, len(text.splitlines()), len(constants(text)))
        for file, text in texts.items()
        if file.parent.name == "centers"
    )
    return Size(
        lines=sum(len(text.splitlines()) for text in texts.values()),
        centers=sum(lines for _, lines, _ in by_module),
        constants=sum(count for _, _, count in by_module),
        modules=len(files),
        by_module=by_module,
    )


def _run(program: str, table: str, source: Path) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program, table],
        env=os.environ | {"PYTHONPATH": str(source), "COTERIE_KERNELS": "numpy"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def constants(text: str) -> list[str]:
    r"""Return the names in capitals that a module assigns at its top.

    Examples
    --------
    >>> constants("LIMIT: Final = 3\n_A, _B = 1, 2\nPair = tuple[int, int]\ndef f():\n    X = 1\n")
    ['LIMIT', '_A', '_B']
    """
    found = []
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [node.id for each in targets for node in ast.walk(each) if isinstance(node, ast.Name)]
            found += [name for name in names if _CAPITALS.fullmatch(name)]
    return found


def main() -> None:
    """Measure and print; exit code 1 where a bar is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", type=Path, default=SOURCE, help="folder of the package (%(default)s)")
    now = size_of(parser.parse_args().source.resolve())
    share = now.lines / FORMER.lines
    rows: list[list[object]] = [
        ["modules of coterie", now.modules, FORMER.modules, ""],
        ["their lines", f"{now.lines:,}", f"{FORMER.lines:,}", f"{share:.0%} {LINES.shown(share)}"],
        [
            "lines in centers/",
            f"{now.centers:,}",
            f"{FORMER.centers:,}",
            f"{now.centers / FORMER.centers:.0%}",
        ],
        ["constants in centers/", now.constants, FORMER.constants, CONSTANTS.shown(now.constants)],
    ]
    print(harness.table(["a decode loads", "now", "former", "bar"], rows), end="\n\n")
    largest = sorted(now.by_module, key=lambda module: (-module[2], -module[1]))
    print(harness.table(["in centers/", "lines", "constants"], largest))
    raise SystemExit(not (LINES.met(share) and CONSTANTS.met(now.constants)))
