"""The blocks of a Markdown page, and the page as one program: for tests that run pages, and for notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*).*$")
NO_RUN = re.compile(r"^\s*<!-- no-run: .+ -->$")
SHELL = ("sh", "console")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its lines without the indent, where it starts, and whether it runs."""

    language: str
    lines: tuple[str, ...]
    first: int  # index of the fence's line
    runs: bool


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    lines = page.splitlines()
    opened: tuple[int, re.Match[str]] | None = None
    for place, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence is None:
            continue
        if opened is None:
            opened = (place, fence)
            continue
        first, start = opened
        inside = tuple(each.removeprefix(start["indent"]) for each in lines[first + 1 : place])
        runs = not (first and NO_RUN.match(lines[first - 1]))
        yield Block(start["language"], inside, first, runs)
        opened = None


def program(page: str) -> str:
    """Return the page's runnable blocks as one program of Python whose line numbers are the page's.

    Commands of the shell are calls of `sh`; their transcripts (`console`) are another test's.
    """
    kept = [""] * (len(page.splitlines()) + 1)
    for block in blocks(page):
        last = block.first + len(block.lines) + 1
        if block.runs and block.language in ("python", "sh"):
            kept[block.first + 1 : last] = block.lines
        if block.runs and block.language == "sh":
            kept[block.first], kept[last] = 'sh(r"""', '""")'
    return "\n".join(kept)
