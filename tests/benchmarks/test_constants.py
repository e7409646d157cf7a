"""Constants of the decoder, halved and doubled: which are numbers, and how a copy gets others."""

import pytest

from benchmarks.constants import FACTORS, ROOM, ROOT, _with, numbers, read, scaled


def test_numbers_and_tuples_of_them_are_scaled():
    assert scaled(3, 0.5) == 1
    assert scaled((0.4, 2), 2.0) == (0.8, 4)
    assert [scaled(value, 2.0) for value in (True, "means", (1, "a"), ())] == [None] * 4


def test_one_constant_gets_another_value():
    text = "_A: Final = 1  # why\nPAIR: Final = (\n    1,\n    2,\n)\nB = 3\n"
    assert _with(text, "PAIR", (2, 4)) == "_A: Final = 1  # why\nPAIR: Final = (2, 4)\nB = 3\n"
    with pytest.raises(ValueError, match="no constant C"):
        _with(text, "C", 1)


def test_each_constant_is_noticed_by_a_test_that_is_there():
    noticed = read()
    assert set(noticed) == {(name, factor) for name in numbers() for factor in FACTORS}
    for told in noticed.values():
        file, _, test = told.partition("::")
        assert f"def {test.partition('[')[0]}(" in (ROOT / ROOM / file).read_text(encoding="utf-8")
