"""Constants of the decoder, halved and doubled: which are numbers, and how a copy gets others."""

import pytest

from benchmarks.constants import _with, scaled


def test_numbers_and_tuples_of_them_are_scaled():
    assert scaled(3, 0.5) == 1
    assert scaled((0.4, 2), 2.0) == (0.8, 4)
    assert [scaled(value, 2.0) for value in (True, "means", (1, "a"), ())] == [None] * 4


def test_one_constant_gets_another_value():
    text = "_A: Final = 1  # why\nPAIR: Final = (\n    1,\n    2,\n)\nB = 3\n"
    assert _with(text, "PAIR", (2, 4)) == "_A: Final = 1  # why\nPAIR: Final = (2, 4)\nB = 3\n"
    with pytest.raises(ValueError, match="no constant C"):
        _with(text, "C", 1)
