"""The golden files are what the references write, and the README of this folder lists every one of them."""

import json
import re
import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MAKE = runpy.run_path(str(HERE.parent / "reference" / "make_vectors.py"))
BY_REFERENCE = ("codeword", *MAKE["OTHERS"])


@pytest.mark.slow
@pytest.mark.parametrize("about", BY_REFERENCE)
def test_the_file_is_what_the_reference_writes(about):
    assert (HERE / f"{about}.json").read_text(encoding="utf-8") == MAKE["vectors"](about)


def test_the_references_know_nothing_of_the_package():
    for script in (HERE.parent / "reference").glob("*.py"):
        assert not re.search(r"^\s*(import|from) coterie", script.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_readme_lists_every_file_and_every_part_of_it():
    text = (HERE / "README.md").read_text(encoding="utf-8")
    for path in HERE.glob("*.json"):
        assert f"`{path.name}`" in text
        if path.stem in BY_REFERENCE:
            document = json.loads(path.read_text(encoding="utf-8"))
            parts = [name for name, value in document.items() if isinstance(value, list)]
            described = text[text.index(f"## `{path.name}`") :].split("\n## ")[0]
            assert [part for part in parts if f"`{part}`" not in described] == []
