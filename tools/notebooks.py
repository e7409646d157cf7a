"""The tutorials as notebooks: `python -m tools.notebooks` writes docs/tutorials/*.ipynb from their pages.

Blocks of Python and of the shell become cells, everything else text. Notebooks hold no outputs; tests run
their cells (tests/architecture/test_docs_run.py), and fail where one is older than its page.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tools.blocks import Block, blocks

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs/tutorials"
_BASH = "%%bash\n"
_SERVE = re.compile(r"^coterie serve [^\n]*$", re.MULTILINE)
_WAIT = "for _ in $(seq 100); do curl -s http://127.0.0.1:8787/healthz && break; sleep 0.2; done"
_NOTEBOOK = re.compile(r" As a \[notebook\]\([\w-]+\.ipynb\)\.")


def notebook(page: str) -> dict[str, Any]:
    """Return the notebook of a page."""
    lines, cells, done = _NOTEBOOK.sub("", page).splitlines(), [], 0
    for block in blocks("\n".join(lines)):
        if not block.runs or block.language not in ("python", "sh"):
            continue
        cells.append(_cell("markdown", "\n".join(lines[done : block.first])))
        cells.append(_cell("code", _code(block)))
        done = block.first + len(block.lines) + 2
    cells.append(_cell("markdown", "\n".join(lines[done:])))
    cells = [cell for cell in cells if cell["source"]]
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _code(block: Block) -> str:
    """Return a cell's source. Commands run by bash; a server stays in the background, and variables stay."""
    text = "\n".join(block.lines)
    if block.language == "python":
        return text
    staying = _SERVE.sub(lambda serve: f"nohup {serve[0]} > serve.log 2>&1 &\n{_WAIT}", text)
    before = "set -ea; test ! -e .variables || . ./.variables"
    return f"{_BASH}{before}\n{staying}\nexport -p > .variables"


def _cell(kind: str, text: str) -> dict[str, Any]:
    more: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text.strip("\n").splitlines(keepends=True), **more}


def cells(text: str) -> str:
    """Return the code of a notebook's cells as one program of Python; cells of bash are calls of `sh`."""
    found = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return "\n\n".join(
        f"sh({code.removeprefix(_BASH)!r})" if code.startswith(_BASH) else code for code in found
    )


def written(page: Path) -> str:
    """Return the text of a page's notebook."""
    return json.dumps(notebook(page.read_text(encoding="utf-8")), ensure_ascii=False, indent=1) + "\n"


def main() -> None:
    """Write all of them."""
    for page in sorted(TUTORIALS.glob("*.md")):
        page.with_suffix(".ipynb").write_text(written(page), encoding="utf-8")
        print(page.with_suffix(".ipynb").relative_to(ROOT))


if __name__ == "__main__":
    main()
