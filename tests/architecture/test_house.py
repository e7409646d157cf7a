"""No room tells protocols apart: it asks the protocol's object, or the plan's parameters."""

from tools.house import KIND, NAME, NEW, ROOT, code_lines, found, misplaced, modules, outside

SOURCES = modules(ROOT)


def test_a_protocol_lies_in_its_folder():
    assert misplaced(SOURCES) == []
    assert misplaced({"wire/lsh_tree.py": "", "plan/net_tree_design.py": "", "wire/rows.py": ""}) == [
        "wire/lsh_tree.py",
        "plan/net_tree_design.py",
    ]


def test_no_room_asks_of_which_kind_parameters_are():
    assert list(found(KIND, outside(SOURCES))) == []
    planted = {"cli/planted.py": "x = 1\nif isinstance(plan.parameters, ShareParameters):\n    pass\n"}
    assert list(found(KIND, planted)) == ["cli/planted.py:2"]


def test_no_room_compares_the_name_of_a_protocol_or_a_model():
    assert list(found(NAME, outside(SOURCES))) == []
    for line in ('plan.model == "shuffle"', 'plan.protocol not in ("codeword",)', '"local" != plan.model'):
        assert list(found(NAME, {"cli/planted.py": line})) == ["cli/planted.py:1"]


def test_code_is_counted_without_words_and_imports():
    function = 'def f():\n    """Say."""\n    return (\n        os\n    )\n'
    source = f'"""Words."""\n\nimport os\n\n# a comment\n{function}'
    assert code_lines(source) == 4


def test_what_counts_as_new_function_is_there_once():
    named = [f"{name}.py" for names in NEW.values() for name in names.split()]
    assert len(named) == len(set(named))
    assert set(named) <= SOURCES.keys()
