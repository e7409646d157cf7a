import numpy as np
import pytest

from coterie.geometry.ball import SCALE, quantize
from coterie.protocols.paper.lsh_tree.simhash import SimHash

FALSE_ALARM = 5.0  # standard deviations


def test_codes_of_a_level_are_prefixes():
    deep = SimHash.from_key(bytes(range(16)), dimension=7, levels=6)
    flat = SimHash.from_key(bytes(range(16)), dimension=7, levels=3)
    points = np.rint(SCALE / 3 * np.random.default_rng(0).standard_normal((100, 7)))
    np.testing.assert_array_equal(deep.codes(points) >> 3, flat.codes(points))


def test_first_hyperplane_is_the_most_significant_bit():
    hashes = SimHash.from_key(bytes(16), dimension=5, levels=4)
    points = np.rint(1000 * np.random.default_rng(1).standard_normal((50, 5)))
    np.testing.assert_array_equal(hashes.codes(points) >> 3, points @ hashes.normals[:, 0] < 0)


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.0])
def test_collisions_have_the_angle_s_probability(angle):
    keys = np.random.default_rng(2)
    pair = np.array([[1.0, 0.0, 0.0], [np.cos(angle), np.sin(angle), 0.0]])
    quantized, _ = quantize(pair, None, 1.0)
    differ, tries = 0, 0
    for _ in range(250):
        codes = SimHash.from_key(keys.bytes(16), 3, 14).codes(quantized)
        differ += int(codes[0] ^ codes[1]).bit_count()
        tries += 14
    share = angle / np.pi
    deviation = np.sqrt(share * (1 - share) / tries)
    assert abs(differ / tries - share) < FALSE_ALARM * deviation
    assert abs(differ / tries - 1.5 * share) > FALSE_ALARM * deviation  # and not another law


def test_keys_matter_and_repeat():
    first, again, other = (SimHash.from_key(key, 4, 3) for key in (bytes(16), bytes(16), b"x" * 16))
    np.testing.assert_array_equal(first.normals, again.normals)
    assert (first.normals != other.normals).any()
    assert (first.normals == np.rint(first.normals)).all()
