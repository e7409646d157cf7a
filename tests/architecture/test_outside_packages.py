"""What ARCHITECTURE.md says that each room imports from outside is what it imports."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/coterie"
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
NAMES = {"sklearn": "scikit-learn", "prometheus_client": "prometheus-client", "psycopg_pool": "psycopg-pool"}


def said():
    """By room, the packages at the end of its item, in stars."""
    items = re.findall(
        r"^- ((?:.+\n(?:  .+\n)*))", MAP.split("## The rooms")[1].split("\n`protocols/`")[0], re.M
    )
    found = {}
    for item in items:
        listed = re.search(r"\*([a-z0-9, \n-]+)\.\*\s*$", item)
        names = set(re.split(r",\s+", listed[1])) if listed else set()
        for room in re.findall(r"`([a-z_]+(?:/|\.py))`", re.split(":|, beside", item)[0]):
            found[room.rstrip("/")] = names
    listed = re.search(r"^From outside they import \*(.+)\*:", MAP, re.M)
    return {**found, "protocols": set(listed[1].split(", "))}


def imported(room):
    paths = [PACKAGE / room] if room.endswith(".py") else sorted((PACKAGE / room).rglob("*.py"))
    found = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return {NAMES.get(name, name) for name in found - set(sys.stdlib_module_names) - {"coterie", "numpy"}}


@pytest.mark.parametrize("room", sorted(said()))
def test_the_map_names_what_a_room_imports_from_outside(room):
    assert said()[room] == imported(room)


def test_every_room_is_on_the_map():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert rooms <= said().keys()


def test_what_the_map_names_in_a_file_is_there():
    named = re.findall(r"`([\w/]+\.py): ([\w.]+)`", MAP)
    assert len(named) > 2
    for path, name in named:
        source = (PACKAGE / path).read_text(encoding="utf-8")
        assert all(re.search(rf"^ *(def|class) {one}\b", source, re.MULTILINE) for one in name.split(".")), (
            name
        )
