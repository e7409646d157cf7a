import numpy as np
import pytest

from coterie.geometry.rotation import Rotation


def plain_rotation(key_signs, vector, size):
    """Two rounds of signs and butterflies, in Python integers."""
    values = [*vector, *([0] * (size - len(vector)))]
    for signs in key_signs:
        values = [int(sign) * value for sign, value in zip(signs, values, strict=True)]
        values = [sum((-1) ** (i & j).bit_count() * values[j] for j in range(size)) for i in range(size)]
    return values


@pytest.mark.parametrize(("size", "width"), [(1, 1), (4, 3), (64, 64), (128, 100)])
def test_exact_integers(size, width):
    rotation = Rotation.from_key(bytes(range(16)), size)
    vector = np.random.default_rng(size).integers(-(2**20), 2**20, size=width)
    expected = plain_rotation((rotation.first, rotation.second), vector.tolist(), size)
    assert rotation.apply(vector.astype(float)).tolist() == expected
    assert (rotation.matrix(width) @ vector).tolist() == expected


@pytest.mark.parametrize(("size", "width"), [(128, 102), (1024, 300)])  # by matrix, by transforms
def test_the_fast_way_is_the_same(size, width):
    rotation = Rotation.from_key(b"sixteen bytes ok", size)
    vectors = np.random.default_rng(1).integers(-(2**20), 2**20, size=(5, width)).astype(float)
    assert (rotation.for_width(width)(vectors) == rotation.apply(vectors)).all()
    assert (rotation.for_width(width, 50)(vectors) == rotation.apply(vectors)[:, :50]).all()


def test_columns_are_orthogonal():
    matrix = Rotation.from_key(bytes(16), 128).matrix(100)
    assert (matrix.T @ matrix == 128**2 * np.eye(100)).all()


def test_signs_are_the_bits_of_the_keys_stream():
    # AES-128 under the zero key of the zero block begins 66 e9 4b d4: bits 0110 0110 1110 1001 …
    rotation = Rotation.from_key(bytes(16), 8)
    assert rotation.first.tolist() == [1, -1, -1, 1, 1, -1, -1, 1]
    assert rotation.second.tolist() == [-1, -1, -1, 1, -1, 1, 1, -1]


def test_other_keys_give_other_rotations():
    first, second = (Rotation.from_key(bytes([i] * 16), 128).first for i in (1, 2))
    assert (first != second).any()


def test_the_size_is_a_power_of_two():
    with pytest.raises(ValueError, match="power of two"):
        Rotation.from_key(bytes(16), 100)
