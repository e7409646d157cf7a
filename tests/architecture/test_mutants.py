"""The tool behind `make mutants`: what it changes, and that its lists fit the source as it is."""

import ast
import functools
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.mutants.named import NAMED  # noqa: E402
from tools.mutants.operators import mutants  # noqa: E402
from tools.mutants.results import all_mutants, equivalents  # noqa: E402
from tools.mutants.tree import ROOMS  # noqa: E402
from tools.mutants.trial import joined  # noqa: E402

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


@pytest.mark.parametrize("room", ROOMS)
def test_every_mutant_of_the_source_is_python_with_a_name_of_its_own(room):
    made = made_of(room)
    assert len(made) > 100
    assert len({mutant.name for mutant in made}) == len(made)
    for mutant in made[::10]:
        ast.parse(mutant.source)


@pytest.mark.parametrize("mutant", NAMED, ids=lambda mutant: mutant.promise)
def test_named_mutants_stand_in_the_source(mutant):
    for path, text in mutant.changed(ROOT).items():
        ast.parse(text)
        assert text != path.read_text(encoding="utf-8")
    assert all((ROOT / test).exists() for test in mutant.tests if test.startswith("tests/"))


def test_accepted_mutants_exist_and_say_why():
    known = {mutant.name for room in ROOMS for mutant in made_of(room)}
    accepted = equivalents()
    assert [name for name in accepted if name not in known] == []
    assert [name for name, reason in accepted.items() if len(reason) < 20] == []


def recorded(seconds, **files):
    return {
        "tests": [*seconds],
        "seconds": [*seconds.values()],
        "files": {
            name: {"digest": digest, "lines": {str(line): tests for line, tests in lines.items()}}
            for name, (digest, lines) in files.items()
        },
        "modules": [],
    }


def test_a_map_grows_and_forgets_what_was_recorded_of_a_file_that_changed():
    old = recorded({"a": 1.0, "b": 2.0}, same=("s", {1: [0], 2: [1]}), changed=("c", {1: [0, 1]}))
    new = recorded({"b": 3.0, "c": 4.0}, same=("s", {2: [1]}), changed=("d", {5: [0]}))
    map_ = joined(old, new)
    assert dict(zip(map_["tests"], map_["seconds"], strict=True)) == {"a": 1.0, "b": 3.0, "c": 4.0}
    found = {
        name: {line: {map_["tests"][i] for i in tests} for line, tests in file["lines"].items() if tests}
        for name, file in map_["files"].items()
    }
    assert found == {"same": {"1": {"a"}, "2": {"c"}}, "changed": {"5": {"b"}}}
    assert map_["files"]["changed"]["digest"] == "d"
