"""The map of the paper names modules and tests that exist, and misses no numbered statement."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs" / "theory" / "paper-map.md").read_text(encoding="utf-8")
ERRATA = (ROOT / "docs" / "theory" / "errata.md").read_text(encoding="utf-8")
LAST_STATEMENT = 44
LAST_ALGORITHM = 11


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([a-z_/]+\.py)(?:::\w+)?`", MAP))))
def test_every_path_exists(path):
    assert any((ROOT / room / path).is_file() for room in ("src/coterie", "tests", "."))


@pytest.mark.parametrize("reference", sorted(set(re.findall(r"`([a-z_/]+\.py::\w+)`", MAP))))
def test_every_test_exists(reference):
    path, name = reference.split("::")
    assert f"def {name}(" in (ROOT / "tests" / path).read_text(encoding="utf-8")


def test_every_numbered_statement_is_there():
    statements = {
        int(n)
        for n in re.findall(
            r"^- \*\*(?:Theorem|Definition|Lemma|Corollary|Proposition|Fact) (\d+)", MAP, re.M
        )
    }
    assert statements == set(range(1, LAST_STATEMENT + 1))
    algorithms = {
        int(n)
        for row in re.findall(r"^- \*\*Algorithms? ([\d and]+)", MAP, re.M)
        for n in re.findall(r"\d+", row)
    }
    assert algorithms == set(range(1, LAST_ALGORITHM + 1))


def test_every_erratum_has_its_test():
    source = (ROOT / "tests" / "paper" / "test_errata.py").read_text(encoding="utf-8")
    named = re.findall(r"`test_([ecli]\d+)_…`", ERRATA)
    assert named == re.findall(r"^def test_([ecli]\d+)_", source, re.M)
    assert [name for name in named if name[0] == "e"] == [f"e{number}" for number in range(1, 14)]
