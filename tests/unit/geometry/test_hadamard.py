import numpy as np
import pytest

from coterie.geometry.hadamard import fwht, hadamard_matrix


@pytest.mark.parametrize("size", [1, 2, 8, 64, 128, 256, 4096, 8192])
def test_matches_the_definition(size):
    values = np.random.default_rng(size).integers(-1000, 1000, size=(3, size)).astype(float)
    before = values.copy()
    rows = [0, size // 3, size - 1]
    signs = np.array([[(-1) ** (i & j).bit_count() for j in range(size)] for i in rows])
    assert (fwht(values)[:, rows] == values @ signs.T).all()
    assert (fwht(fwht(values)) == size * values).all()
    assert (values == before).all()


def test_any_number_of_axes():
    values = np.random.default_rng(0).normal(size=(2, 3, 128))
    assert fwht(values).shape == (2, 3, 128)
    np.testing.assert_allclose(fwht(values)[1, 2], fwht(values[1, 2]))
    assert fwht(np.empty((0, 128))).shape == (0, 128)


def test_sizes_must_be_powers_of_two():
    with pytest.raises(ValueError, match="power of two"):
        fwht(np.zeros((2, 6)))
    with pytest.raises(ValueError, match="power of two"):
        hadamard_matrix(0)


def test_shared_matrices_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        hadamard_matrix(4)[0, 0] = 5
