"""Bits as flags: against the loop over bits that it stands for."""

import numpy as np
import pytest

numba = pytest.importorskip("numba", reason="numba is an extra")

from coterie.wire.kernels import compiled  # noqa: E402
from coterie.wire.lanes import add_signs, lane_order, sum_where  # noqa: E402


@compiled
def summed(packed, start, entries):
    return sum_where(packed, start, entries)


@compiled
def added(packed, start, sums, turn):
    add_signs(packed, start, sums, turn)


def bits_of(packed, start, size):
    """The first bit of a byte is its lowest."""
    return np.unpackbits(packed[start : start + size // 8], bitorder="little").astype(np.int64)


@pytest.mark.parametrize("size", [16, 128, 144, 2048])
def test_entries_are_summed_where_bits_are_one(size):
    generator = np.random.default_rng(size)
    packed = generator.integers(0, 256, 300, dtype=np.uint8)
    entries = generator.integers(-(1 << 20), 1 << 20, size, dtype=np.int32)
    for start in (0, 1, 3, 44):
        assert summed(packed, start, entries) == bits_of(packed, start, size) @ entries


@pytest.mark.parametrize("size", [16, 128, 144])
@pytest.mark.parametrize("turn", [0, 1])
def test_signs_are_added_and_turned(size, turn):
    generator = np.random.default_rng(size + turn)
    packed = generator.integers(0, 256, 100, dtype=np.uint8)
    before = generator.integers(-9, 9, size + 16, dtype=np.int32)
    sums = before.copy()
    added(packed, 5, sums[:size], turn)
    signs = (2 * bits_of(packed, 5, size) - 1) * (1 - 2 * turn)
    assert (sums[:size] - before[:size] == signs).all()
    assert (sums[size:] == before[size:]).all()  # and nothing beyond


def test_the_order_of_lanes_is_that_of_codewords():
    packed = np.random.default_rng(0).integers(0, 256, 16, dtype=np.uint8)
    assert (np.unpackbits(packed) == bits_of(packed, 0, 128)[lane_order(128)]).all()
    assert (lane_order(128)[lane_order(128)] == np.arange(128)).all()


def test_arrays_with_gaps_are_refused():
    packed, numbers = np.zeros(64, dtype=np.uint8), np.zeros(64, dtype=np.int32)
    with pytest.raises(numba.core.errors.TypingError, match="one after the other"):
        summed(packed[::2], 0, numbers)
    with pytest.raises(numba.core.errors.TypingError, match="one after the other"):
        added(packed, 0, numbers[::2], 0)


def test_other_types_are_refused():
    packed, numbers = np.zeros(64, dtype=np.uint8), np.zeros(64, dtype=np.int32)
    for wrong in ((packed, numbers.astype(np.int64)), (packed.astype(np.int8), numbers)):
        with pytest.raises(numba.core.errors.TypingError, match="packed in uint8"):
            summed(wrong[0], 0, wrong[1])
