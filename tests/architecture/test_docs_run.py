"""Documentation that runs: the Python and the commands of the pages, and the examples in docstrings.

The blocks of a page run in order as one program, in an empty folder, with warnings as errors; commands (`sh`)
are those of this checkout, keep their variables from block to block, and a `coterie serve` stays up until the
page ends, on a port of its own. `pip` and `make` only look whether there are such extras and targets: `make
dist` installs them. A block that cannot run so has `<!-- no-run: the reason -->` on the line before it.
"""

import ast
import contextlib
import doctest
import importlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.shell import own_ports, surroundings
from tools.blocks import SHELL, blocks, program
from tools.notebooks import TUTORIALS, cells, written

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PAGES = sorted([*ROOT.glob("*.md"), ROOT / "clients/web/README.md", *(ROOT / "docs").rglob("*.md")])
RUNNING = [page for page in PAGES if program(page.read_text(encoding="utf-8")).strip()]
_LONGEST = 240  # seconds of a page, on a busy machine
MODULES = sorted(
    path for path in (SOURCE / "coterie").rglob("*.py") if not re.match(r"_(?!_init__)", path.name)
)

RUN = """
import runpy, sys
from tests.architecture.shell import sh
runpy.run_path(sys.argv[1], init_globals={"sh": sh}, run_name="__main__")
"""


def run_page(page, folder):
    """Run a page's program in a folder; whatever it left running ends with it."""
    source = program(page.read_text(encoding="utf-8"))
    if (notebook := page.with_suffix(".ipynb")).exists():  # a tutorial: its cells are the same code
        source = cells(notebook.read_text(encoding="utf-8"))
    script = folder / page.with_suffix(".py").name
    ports = own_ports()
    for named, own in ports.items():
        source = source.replace(named, own)
    script.write_text(source, encoding="utf-8")
    environment = {**surroundings(folder), "COTERIE_SERVE_PORT": ports["8787"]}
    started = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", RUN, script],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment,
        start_new_session=True,
    )  # fmt: skip
    try:
        _, said = started.communicate(timeout=_LONGEST)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
    return started.returncode, said


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize(
    "page",
    RUNNING,
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_page_runs(page, tmp_path):
    code, said = run_page(page, tmp_path)
    assert code == 0, said


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


@pytest.mark.parametrize("page", sorted(TUTORIALS.glob("*.md")), ids=lambda page: page.stem)
def test_a_notebook_is_its_page(page):
    found = page.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert found == written(page), "run python -m tools.notebooks"
    own = ast.unparse(ast.parse(cells(found)))
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.runs and block.language == "python":
            assert ast.unparse(ast.parse("\n".join(block.lines))) in own


def test_every_command_is_one_that_runs_or_is_marked():
    ours = re.compile(r"^\s*(\$ )?(coterie|make|pip|python -m|npm|curl) ", re.MULTILINE)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fenced = set()
        for block in blocks(text):
            fenced |= set(range(block.first, block.first + len(block.lines) + 2))
            if block.language not in SHELL and ours.search("\n".join(block.lines)):
                assert not block.runs, (
                    f"{page.name}, line {block.first + 1}: commands in a {block.language} block"
                )
        for place, line in enumerate(text.splitlines()):
            bare = line.startswith("    ") and ours.match(line) and place not in fenced
            assert not bare, f"{page.name}, line {place + 1}: a command outside a fence, which nobody runs"


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
        "", "", "a = 1", "", "", "", "", "", 'sh(r"""', "make", '""")', "", "", "if a:", "    a = 3", "", "",
    ]  # fmt: skip


def test_examples_that_are_wrong_fail(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nassert 1 == 2\n```\n")
    code, said = run_page(page, tmp_path)
    assert code != 0
    assert "line 2" in said  # where it stands on the page


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("coterie plan --nonsense", "status 2"),
        ('pip install "coterie[nonsense]"', "no such extra: nonsense"),
        ("make nonsense", "no such target: nonsense"),
        ("false | true", "status 1"),
    ],
)
def test_commands_that_are_wrong_fail(command, words, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"```sh\n{command}\n```\n")
    code, said = run_page(page, tmp_path)
    assert code != 0
    assert words in said


def test_variables_and_servers_stay_from_block_to_block(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\ncoterie serve --data collected\n```\n"
        "```sh\nWHERE=http://127.0.0.1:8787\n```\n"
        "```sh\ncurl -sf $WHERE/healthz\n```\n"
    )
    code, said = run_page(page, tmp_path)
    assert code == 0, said
