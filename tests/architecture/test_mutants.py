"""The tool behind `make mutants`: what it changes, and that its lists fit the source as it is."""

import ast
import functools
from pathlib import Path

import pytest

from tools.mutants.__main__ import PACKAGE, ROOMS, Outcome, Tree, all_mutants, equivalents
from tools.mutants.named import NAMED
from tools.mutants.operators import mutants

ROOT = Path(__file__).parents[2]

SOURCE = '''
"""Words."""

LIMIT: int = 1 << 4


def check(value: int, names: list[str] | None = None) -> int:
    """Words."""
    if value < LIMIT and names:
        raise ValueError(f"{value + 1} is below {LIMIT}")
    return value
'''


def test_every_part_that_has_a_meaning_is_changed_and_words_are_not():
    changed = {(mutant.before, mutant.after) for mutant in mutants("m.py", SOURCE)}
    assert changed == {
        ("1 << 4", "1 >> 4"),
        ("1", "2"),
        ("4", "5"),
        ("value < LIMIT and names", "not (value < LIMIT and names)"),
        ("value < LIMIT and names", "names"),
        ("value < LIMIT and names", "value < LIMIT"),
        ("value < LIMIT", "value <= LIMIT"),
        ("raise ValueError(f'{value + 1} is below {LIMIT}')", "pass"),
        ("return value", "return None"),
    }


def test_names_do_not_depend_on_lines_and_differ():
    names = [mutant.name for mutant in mutants("m.py", SOURCE)]
    assert names == [mutant.name for mutant in mutants("m.py", "# one more line\n" + SOURCE)]
    assert len(set(names)) == len(names)


@functools.cache
def made_of(room):
    return all_mutants([room])


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_every_mutant_of_the_source_is_python_with_a_name_of_its_own(room):
    made = made_of(room)
    assert len(made) > 50
    assert len({mutant.name for mutant in made}) == len(made)
    for mutant in made[::10]:
        ast.parse(mutant.source)


@pytest.mark.parametrize("mutant", NAMED, ids=lambda mutant: mutant.promise)
def test_named_mutants_stand_in_the_source(mutant):
    for path, text in mutant.changed(ROOT / PACKAGE).items():
        ast.parse(text)
        assert text != (ROOT / PACKAGE / path).read_text(encoding="utf-8")
    assert all((ROOT / test).exists() for test in mutant.tests if test.startswith("tests/"))


@pytest.mark.slow
def test_accepted_mutants_exist_and_say_why():
    known = {mutant.name for room in ROOMS for mutant in made_of(room)}
    accepted = equivalents()
    assert len(accepted) > 20
    assert [name for name in accepted if name not in known] == []
    assert [name for name, reason in accepted.items() if len(reason) < 20] == []


@pytest.mark.slow
def test_a_mutant_is_noticed_by_a_test_of_its_line_and_leaves_no_trace(tmp_path):
    tree, odds = Tree(tmp_path), Path("privacy/odds.py")
    text = (ROOT / PACKAGE / odds).read_text(encoding="utf-8")
    assert text == (tmp_path / PACKAGE / odds).read_text(encoding="utf-8")
    tests = ["tests/privacy/test_odds_exact.py"]
    assert tree.tried({odds: text.replace("BASE_ODDS", "BASE_ODDS ")}, [(tests, 10)]) == Outcome("survived")
    found = tree.tried({odds: text.replace("def largest_odds", "def largest_0dds")}, [(tests, 10)])
    assert found.state == "killed"
    assert text == (tmp_path / PACKAGE / odds).read_text(encoding="utf-8")
