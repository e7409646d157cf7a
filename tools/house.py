"""How large the house is, and whether each protocol lies in its own folder: `python -m tools.house`.

Code lines are those without blanks, comments, docstrings and imports. With `--at COMMIT` the same of another
commit, to see before and after. With `--since 05db1c7` modules that are there for what nobody could do at
that commit are counted by themselves (`NEW`); a module with anything older in it counts as old.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
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
NEW = {  # since 05db1c7, by what it is for
    "people of several labels are compared": "centers/comparing centers/comparison centers/labels cli/compare"
    " plots/comparison protocols/codeword/oracles/group_sums show/comparison",
    "other people confirm published groups, without a model": "centers/confirm centers/confirmed",
    "plans ask for some directions of the space": "centers/directions",
    "waves that do not speak of the same people are noticed": "centers/agreement",
    "studies of several plans on a collector": "cli/waves service/following service/study_endpoints"
    " service/waves show/changes",
    "figures in matplotlib": "plots/__init__ plots/choices plots/forecast plots/groups plots/profile"
    " plots/style plots/waves",
    "plans and forecasts are shown in notebooks": "plain/notebook",
    "a report for people who were not there": "cli/report service/reports show/report",
    "a signed sheet says who asks, and why": "cli/sheet sheet",
    "a console for operators, and the same by command": "cli/operator cli/study service/console",
    "the default protocol has a guarantee": "centers/proved protocols/codeword/approximation"
    " protocols/codeword/oracles/net_costs",
    "k-medians with their distance": "centers/medians protocols/codeword/oracles/slices",
    "a store is checked and mended": "cli/store store/check",
    "invited people at a shuffler, and shufflers pinned by their keys": "wire/admission wire/mixing",
    "what a forged report may weigh": "protocols/codeword/oracles/leverage",
    "net trees of amplified codewords": "protocols/paper/net_tree/amplified",
}
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


def report_since(commit: str) -> None:
    """Print how large the house was, and of today's what is new function and what is the rest."""
    with checked_out(commit) as root:
        before = modules(root)
    sources = modules(ROOT)
    count = {path: code_lines(text) for path, text in sources.items()}
    rest = sum(count.values())
    print(f"{sum(map(code_lines, before.values())):>7} in all at {commit}\n{rest:>7} in all today\n")
    for reason, names in NEW.items():
        paths = [f"{name}.py" for name in names.split()]
        if was_there := [path for path in paths if path in before]:
            raise SystemExit(f"not new since {commit}: {', '.join(was_there)}")
        lines = sum(count[path] for path in paths)
        rest -= lines
        print(f"{lines:>7} {reason}")
    print(f"{rest:>7} for what could be done at {commit}")


@contextlib.contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Hold the package of a commit in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.check_output(["git", "archive", commit, str(PACKAGE)], cwd=ROOT)  # noqa: S603, S607
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder)


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
    parser.add_argument("--since", metavar="COMMIT", help="what is new since this commit, and the rest")
    words = parser.parse_args()
    if words.since is not None:
        report_since(words.since)
    elif words.at is not None:
        with checked_out(words.at) as root:
            report(root)
    else:
        report(ROOT)


if __name__ == "__main__":
    main()
