"""The public interface is exactly these names; to add or lose one is a decision, and changes this file.

The rooms below have public names of their own, their `__all__`. All of them are on the pages of the reference
and nothing else is; and a script that uses them passes the strictest check of types without an exception.
"""

import ast
import importlib
import importlib.metadata
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import coterie
from tests.architecture.shell import surroundings
from tests.architecture.test_docs_run import PAGES, program

ROOT = Path(__file__).parents[2]
API = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs/reference").glob("*.md")))
PUBLIC = [
    "Aggregate",
    "Client",
    "ClippedPointsWarning",
    "Comparison",
    "CoterieError",
    "DataDependentBallWarning",
    "DataDependentScaleWarning",
    "LocalKMeans",
    "Plan",
    "Policy",
    "Population",
    "RecordKeysWarning",
    "RemoteCollector",
    "Result",
    "SeededFitWarning",
    "ShuffleKMeans",
    "UnreadColumnsWarning",
    "UnsupportedCentersWarning",
    "__version__",
    "compare",
    "decode",
    "errors",
    "simulate",
    "write_reports",
]
ROOMS = (
    *("aggregate", "audit", "centers", "collect", "encode", "engines", "estimators", "features", "plan"),
    *("plots", "privacy", "protocols", "remote", "store"),
)


def test_exactly_the_public_names_are_exported():
    assert coterie.__all__ == PUBLIC
    assert set(PUBLIC) <= set(dir(coterie))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name):
    assert getattr(coterie, name) is not None
    assert getattr(coterie, name) is getattr(coterie, name)


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'KMeans'"):
        _ = coterie.KMeans


def test_the_version_is_the_installed_one():
    assert coterie.__version__ == importlib.metadata.version("coterie")


def on_the_page():
    """Yield (module, name) of all that the page shows; a module without a list shows all its own names."""
    for place, options in re.findall(r"^::: ([\w.]+)\n((?:    .*\n)*)", API, re.MULTILINE):
        if options:
            yield from ((place, name) for name in yaml.safe_load(options)["options"]["members"])
        elif place in ("coterie.datasets", "coterie.errors", "coterie.metrics"):
            module = importlib.import_module(place)
            own = (name for name, value in vars(module).items() if inspect.getmodule(value) is module)
            yield from ((place, name) for name in own if not name.startswith("_"))
        else:
            yield tuple(place.rpartition(".")[::2])


def test_the_page_of_the_interface_has_every_public_name_and_no_private_one():
    shown = set(on_the_page())
    assert not [name for name in shown if any(part.startswith("_") for part in ".".join(name).split("."))]
    for room in ROOMS:
        place = f"coterie.{room}"
        assert {name for module, name in shown if module == place} == set(
            importlib.import_module(place).__all__
        )
    objects = [getattr(importlib.import_module(module), name) for module, name in shown]
    for name in set(PUBLIC) - {"__version__", "errors"}:
        assert any(getattr(coterie, name) is one for one in objects), name


def test_what_the_pages_import_is_on_the_page_of_the_interface():
    objects = [getattr(importlib.import_module(module), name) for module, name in on_the_page()]
    kit = ROOT / "docs" / "write-a-protocol.md"  # what a protocol is made of is another matter
    seen = 0
    for page in (page for page in PAGES if page != kit):
        for node in ast.walk(ast.parse(program(page.read_text(encoding="utf-8")))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("coterie"):
                for alias in node.names:
                    found = getattr(importlib.import_module(node.module), alias.name)
                    assert any(found is one for one in objects), (page.name, node.module, alias.name)
                    seen += 1
    assert seen > 20


SCRIPT = Path(__file__).with_name("user_script.py")


def checked(*scripts):
    """Run mypy as a stranger does who has the package installed: no settings, no exceptions, strict."""
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent",
         f"--cache-dir={ROOT / '.mypy_cache' / 'user'}", *map(str, scripts)],
        cwd=scripts[0].parent, env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a_script_that_uses_the_public_names_passes_the_strictest_check_of_types(tmp_path):
    text = SCRIPT.read_text(encoding="utf-8")
    assert "ignore" not in text
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert set(PUBLIC) - {"__version__"} <= used
    wrong = tmp_path / "wrong.py"
    wrong.write_text(text.replace("expected_users=1000", 'expected_users="1000"'))
    found = [line for line in checked(SCRIPT, wrong).stdout.splitlines() if "error:" in line]
    assert len(found) == 1, found  # the types are there
    assert "wrong.py" in found[0]
    assert "[arg-type]" in found[0]


@pytest.mark.slow
def test_the_script_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT], cwd=tmp_path, env=surroundings(tmp_path), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "groups" in done.stdout
