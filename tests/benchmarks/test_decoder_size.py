"""How large the decoder is, counted in what a fresh interpreter loads."""

from benchmarks.decoder_size import FORMER, SOURCE, constants, size_of


def test_names_in_capitals_at_the_top_of_a_module_count():
    text = "LIMIT: Final = 3\n_A, _B = 1, 2\nPair = tuple[int, int]\nvalue = 1\ndef f():\n    INNER = 1\n"
    assert constants(text) == ["LIMIT", "_A", "_B"]


def test_a_decode_loads_the_decoder_and_no_other_protocols():
    found = size_of(SOURCE)
    names = {name for name, _, _ in found.by_module}
    assert {"decode", "explain", "repeats"} <= names
    assert not names & {"net_tree", "lsh_tree", "vector_sums"}
    assert found.centers == sum(lines for _, lines, _ in found.by_module) < found.lines < FORMER.lines
