"""Documentation that runs: the Python blocks of the pages, and the examples in docstrings.

The blocks of a page run in order as one program, in an empty folder, with warnings as errors. A block that
cannot run so has `<!-- no-run: the reason -->` on the line before it.
"""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
MODULES = sorted(
    path for path in (SOURCE / "coterie").rglob("*.py") if not re.match(r"_(?!_init__)", path.name)
)

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*).*$")
NO_RUN = re.compile(r"^\s*<!-- no-run: .+ -->$")


def program(page: str) -> str:
    """Keep the lines of runnable Python blocks and blank all others, so that line numbers are the page's."""
    kept: list[str] = []
    block: re.Match[str] | None = None
    runs = False
    previous = ""
    for line in page.splitlines():
        fence = FENCE.match(line)
        if fence:
            runs = block is None and fence["language"] == "python" and not NO_RUN.match(previous)
            block = None if block else fence
            kept.append("")
        else:
            kept.append(line.removeprefix(block["indent"]) if block and runs else "")
        previous = line
    return "\n".join(kept) + "\n"


# That a page runs is the question, not how well: few atoms and repeats, and nothing to compile.
RUN = """
import os, runpy, sys
os.environ["COTERIE_KERNELS"] = "numpy"
from coterie.centers import explain, population, repeats
population.ATOMS, repeats.REPEATS, explain.MEMBERS = 300, 2, 1
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs(page, tmp_path):
    source = program(page.read_text(encoding="utf-8"))
    if not source.strip():
        return  # nothing to run on this page
    script = tmp_path / page.with_suffix(".py").name
    script.write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
@pytest.mark.usefixtures("hardly_any_atoms")
def test_docstring_examples(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("coterie.audit.run._QUICK_REPORTS", 4000)
    parts = path.relative_to(SOURCE).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0


def test_from_a_csv_to_a_described_result_takes_fifteen_lines():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    script = next(block for block in blocks if "read_csv" in block)
    assert "describe()" in script
    assert len(script.splitlines()) <= 15


def test_the_reader_of_pages():
    page = """\
Text.
```python
a = 1
```
<!-- no-run: needs a server -->
```python
b = 2
```
```sh
make
```
- in a list
  ```python
  if a:
      a = 3
  ```
"""
    assert program(page).split("\n") == [
        "", "", "a = 1", "", "", "", "", "", "", "", "", "", "", "if a:", "    a = 3", "", "",
    ]  # fmt: skip


def test_examples_that_are_wrong_fail(tmp_path):
    script = tmp_path / "page.py"
    script.write_text(program("```python\nassert 1 == 2\n```\n"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "line 2" in done.stderr  # where it stands on the page
