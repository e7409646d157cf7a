"""Markdown whose lines have at most 120 characters: `python tools/markdown.py FILE …` reflows what is longer.

A paragraph or list item with a longer line is filled anew. A table with a longer row becomes a list where its
cells are words, and several tables side by side in their columns where they are figures. What stands in a
fence is left alone: it is somebody's output.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

WIDTH = 120
FIGURE = 26  # characters of a cell that is no sentence
_EMPTY = ("", "–")
_ITEM = re.compile(r"^(\s*)((?:[-*+]|\d+[.)]) +)")
_ENDS = re.compile(r"^\s*(\||#|```|(?:[-*+]|\d+[.)]) )")  # what ends a paragraph without an empty line
_OPENS = re.compile(r"^([-*+=]+|#+|\d+[.)]|:::|[>|!].*)$")  # what begins another block, first in a line


def filled(text: str, first: str = "", rest: str = "") -> list[str]:
    """Return words in lines of at most WIDTH, the first line and the others with their indentation."""
    words: list[str] = []
    for word in text.split():
        if words and _OPENS.match(word):
            words[-1] += f" {word}"  # never first in a line
        else:
            words.append(word)
    lines, line = [], first
    for word in words:
        if line.strip() and len(line) + 1 + len(word) > WIDTH and line not in (first, rest):
            lines.append(line)
            line = rest
        line += word if line in (first, rest) else f" {word}"
    return [*lines, line]


def cells(row: str) -> list[str]:
    """Return the cells of a row of a table; a bar after a backslash or in a code span belongs to its cell."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().removeprefix("|").removesuffix("|"))]


def narrow(table: list[str]) -> Iterator[str]:
    """Yield a table whose rows are too long, in another form."""
    head, body = cells(table[0]), [cells(row) for row in table[2:]]
    marks = cells(table[1])
    if max(len(cell) for row in body for cell in row[1:]) > FIGURE:
        if head[0]:
            legend = [f"*{head[0]}*: {head[1]}", *(f"*{name}*" for name in head[2:] if name)]
            yield from filled("; ".join(legend))
            yield ""
        for row in body:
            named = [(name, cell) for name, cell in zip(head[1:], row[1:], strict=True) if cell not in _EMPTY]
            said = "; ".join(cell if name in ("", head[1]) else f"*{name}*: {cell}" for name, cell in named)
            lead = row[0] if re.match(r"[`*\[]", row[0]) else f"**{row[0]}**" if row[0] else ""
            yield from filled(f"{lead}: {said}" if lead else said, "- ", "  ")
        return
    start = 1
    while start < len(head):
        count = len(head) - start
        while count > 1 and any(len(line) > WIDTH for line in _part(head, marks, body, start, count)):
            count -= 1
        yield from ([] if start == 1 else [""])
        yield from _part(head, marks, body, start, count)
        start += count


def _part(head: list[str], marks: list[str], body: list[list[str]], start: int, count: int) -> list[str]:
    rows = [head, marks, *body]
    return [f"| {' | '.join([row[0], *row[start : start + count]])} |" for row in rows]


def reflowed(text: str) -> str:
    """Return a page whose lines are at most WIDTH long, as far as they are no one's output."""
    lines, out, at = text.split("\n"), [], 0
    while at < len(lines):
        line = lines[at]
        end = at + 1
        if line.lstrip().startswith("```"):
            while end < len(lines) and not lines[end].lstrip().startswith("```"):
                end += 1
            out += lines[at : end + 1]
            at = end + 1
            continue
        if line.startswith("|"):
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            block = lines[at:end]
            out += narrow(block) if max(map(len, block)) > WIDTH else block
        elif not line.strip() or re.match(r"^(#|    |:::|!!!|<)", line):
            out.append(line)
        else:
            while end < len(lines) and lines[end].strip() and not _ENDS.match(lines[end]):
                end += 1
            block = lines[at:end]
            item = _ITEM.match(line)
            first = item[0] if item else line[: len(line) - len(line.lstrip())]
            rest = " " * len(first)
            words = " ".join([line[len(first) :], *(each.strip() for each in block[1:])])
            out += filled(words, first, rest) if max(map(len, block)) > WIDTH else block
        at = end
    return "\n".join(out)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(reflowed(path.read_text(encoding="utf-8")), encoding="utf-8")
