"""Messages of shares byte by byte, and the sums that they add up to."""

from fractions import Fraction

import numpy as np

from coterie.coins import SimulationCoins
from coterie.randomizers.split_and_mix import SplitAndMix
from coterie.randomizers.vector_sums import VectorSums, big_endian, from_big_endian

SUMS = VectorSums(rows=70, width=5, scale=Fraction(0), mixer=SplitAndMix(65537, 2))


def test_a_message_is_row_times_width_plus_coordinate_then_the_share():
    shares = np.arange(20).reshape(2, 5, 2) + 65000
    messages = SUMS.messages(np.array([3, 60]), shares)
    assert messages.shape == (20, 7)
    assert messages[0].tobytes().hex() == "0000000f" + "00fde8"  # row 3, coordinate 0, share 65000
    assert messages[3].tobytes().hex() == "00000010" + "00fdeb"  # its next coordinate, second share
    assert messages[-1].tobytes().hex() == "00000130" + "00fdfb"  # row 60, coordinate 4
    addresses, read = SUMS.read(messages)
    assert addresses.tolist() == [row * 5 + k for row in (3, 60) for k in range(5) for _ in range(2)]
    assert read.tolist() == shares.ravel().tolist()


def test_mixed_messages_add_up_to_each_rows_sum():
    generator = np.random.default_rng(0)
    rows = generator.integers(0, 70, 40)
    vectors = generator.integers(-50, 51, (40, 5))
    shares = SUMS.split_all(rows, vectors, SimulationCoins(1))
    messages = SUMS.messages(np.tile(np.arange(70), 40), shares.reshape(-1, 5, 2))
    assert len(messages) == 40 * 70 * 5 * 2
    expected = np.zeros((70, 5), dtype=np.int64)
    np.add.at(expected, rows, vectors)
    addresses, mixed = SUMS.read(generator.permutation(messages))
    found = SUMS.centered(SUMS.mixer.add_up(mixed, addresses, 70 * 5)).reshape(70, 5)
    assert (found == expected).all()


def test_those_who_serve_their_own_row_alone_and_several_rows():
    generator = np.random.default_rng(1)
    vectors = generator.integers(-50, 51, (30, 5))
    own = SUMS.split_own(vectors, SimulationCoins(2))
    assert own.shape == (30, 5, 2)
    assert (SUMS.centered(own.sum(axis=-1) % 65537) == vectors).all()
    several = SUMS.split_all(np.array([[0, 69], [69, 1]]), vectors[:2], SimulationCoins(3))
    values = SUMS.centered(several.sum(axis=-1) % 65537)
    assert (values[0, [0, 69]] == vectors[0]).all()
    assert (values[1, [1, 69]] == vectors[1]).all()
    assert not values[0, 1:69].any()


def test_noise_of_the_stated_scale_is_added_to_every_value():
    noisy = VectorSums(rows=20, width=5, scale=Fraction(30), mixer=SplitAndMix(65537, 2))
    shares = noisy.split_all(
        np.zeros(200, dtype=np.int64), np.zeros((200, 5), dtype=np.int64), SimulationCoins(4)
    )
    values = noisy.centered(shares.sum(axis=-1) % 65537)
    own = noisy.split_own(np.zeros((4000, 5), dtype=np.int64), SimulationCoins(5))
    for drawn in (values, noisy.centered(own.sum(axis=-1) % 65537)):
        # 20,000 draws: the variance is known to 1 %; six of those, and a tenth of the scale is twenty.
        assert 0.94 < drawn.var() / 900 < 1.06


def test_bytes_are_big_endian():
    assert big_endian(np.array([1, 0x0203, 0xFFFFFF]), 3).tolist() == [[0, 0, 1], [0, 2, 3], [255, 255, 255]]
    for size in (1, 3, 8):
        values = np.array([0, 1, (1 << (8 * size - 1)) - 1])
        assert (from_big_endian(big_endian(values, size)) == values).all()
