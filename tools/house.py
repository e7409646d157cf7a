"""How large the house is, and whether each protocol lies in its own folder: `python -m tools.house`.

Code lines are those without blanks, comments, docstrings and imports. With `--at COMMIT` the same of another
commit, to see before and after.
"""

from __future__ import annotations

import argparse
import ast
import collections
import io
import re
import subprocess
import tarfile
import tempfile
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src/coterie")
FOLDERS = ("codeword", "vector_sums", "net_tree_sums", "net_tree", "lsh_tree")
_LAYOUT = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}
KIND = re.compile(r"isinstance\([^()]*(?:\([^()]*\)[^()]*)*\b\w*Parameters\b")
NAME = re.compile(
    r"""\.(?:model|protocol)\b\s*(?:[=!]=|(?:not )?in\b)\s*[("']|["']\s*[=!]=\s*\w*\.(?:model|protocol)\b"""
)


def code_lines(source: str) -> int:
    """Return how many lines of a module are code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if tokenize.tok_name[token.type] not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                lines.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def modules(root: Path) -> dict[str, str]:
    """Return the package's modules by their path in it."""
    base = root / PACKAGE
    return {
        path.relative_to(base).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(base.rglob("*.py"))
    }


def outside(sources: dict[str, str]) -> dict[str, str]:
    """Return the modules that lie in no protocol's folder."""
    return {path: text for path, text in sources.items() if not path.startswith("protocols/")}


def misplaced(sources: dict[str, str]) -> list[str]:
    """Return files of a protocol outside its folder: named after one, or about its parameters."""
    named = re.compile(rf"(^|[/_])({'|'.join(FOLDERS)})(_design|_codeword)?\.py$")
    mechanism = ("randomizers/",)  # a law and its proof, which several protocols use
    return [path for path in outside(sources) if named.search(path) and not path.startswith(mechanism)]


def found(pattern: re.Pattern[str], sources: dict[str, str]) -> Iterator[str]:
    """Yield where a pattern stands, as path:line."""
    for path, text in sources.items():
        for match in pattern.finditer(text):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}"


def report(root: Path) -> None:
    """Print all of it."""
    sources = modules(root)
    rooms: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0, 0])
    for path, text in sources.items():
        counts = rooms[path.split("/")[0] if "/" in path else "."]
        for number, value in enumerate((1, code_lines(text), text.count("\n"))):
            counts[number] += value
    print(f"{'room':<14}{'modules':>8}{'code':>8}{'lines':>8}")
    for room, counts in sorted(rooms.items(), key=lambda item: -item[1][1]):
        print(f"{room:<14}{counts[0]:>8}{counts[1]:>8}{counts[2]:>8}")
    total = [sum(column) for column in zip(*rooms.values(), strict=True)]
    print(f"{'in all':<14}{total[0]:>8}{total[1]:>8}{total[2]:>8}\n")
    elsewhere = outside(sources)
    for words, places in (
        ("files of a protocol outside its folder", misplaced(sources)),
        ("isinstance on parameters outside a protocol's folder", list(found(KIND, elsewhere))),
        ("comparisons with the name of a model or protocol there", list(found(NAME, elsewhere))),
    ):
        print(f"{words}: {len(places)}", *(f"\n    {place}" for place in places), sep="")


def main() -> None:
    """Print the figures of the working tree, or of a commit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at", metavar="COMMIT", help="of this commit instead of the working tree")
    commit = parser.parse_args().at
    if commit is None:
        report(ROOT)
        return
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.check_output(["git", "archive", commit, str(PACKAGE)], cwd=ROOT)  # noqa: S603, S607
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        report(Path(folder))


if __name__ == "__main__":
    main()
