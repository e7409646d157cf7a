import numpy as np
import pytest

from coterie.geometry.ball import SCALE, quantize
from coterie.geometry.cells import CrossPolytopeCells, NetCells
from coterie.geometry.rotation import Rotation


@pytest.fixture
def points():
    points = np.random.default_rng(0).normal(size=(200, 6))
    return quantize(points / np.linalg.norm(points, axis=1, keepdims=True), None, 1.0)[0]


@pytest.mark.parametrize("size", [4, 8, 16])
def test_cross_polytope_cells_are_the_largest_of_the_first_coordinates_and_its_sign(points, size):
    rotation = Rotation.from_key(bytes(16), max(size, 8))
    cells = CrossPolytopeCells.from_key(bytes(16), size, 6).of(points)
    for turned, cell in zip(rotation.apply(points)[:, :size], cells, strict=True):
        sizes = [abs(value) for value in turned.tolist()]
        assert cell == 2 * sizes.index(max(sizes)) + (turned[sizes.index(max(sizes))] < 0)
    assert cells.dtype == np.int64
    assert len(set(cells.tolist())) > size


def test_cross_polytope_ties_go_to_the_smallest_index():
    rotation = Rotation.from_key(b"makes equal sums", 4)
    cells = CrossPolytopeCells.from_key(b"makes equal sums", 4, 1)
    sizes = np.abs(rotation.apply(np.array([[7.0]]))[0]).tolist()
    assert sizes.count(max(sizes)) > 1
    assert cells.of(np.array([[7.0]]))[0] // 2 == sizes.index(max(sizes))
    assert cells.of(np.array([[0.0]])).tolist() == [0]


def test_net_cells_are_the_nearest_point_and_ties_go_to_the_smallest_index(points):
    net = np.random.default_rng(1).integers(-SCALE, SCALE + 1, size=(32, 6))
    net[20] = net[3]
    cells = NetCells.from_points(net).of(points)
    for point, cell in zip(points.astype(int).tolist(), cells, strict=True):
        costs = [sum((p - q) ** 2 for p, q in zip(row, point, strict=True)) for row in net.tolist()]
        assert cell == costs.index(min(costs))
    assert 20 not in cells
    assert NetCells.from_points([[4], [-4]]).of(np.array([[0.0]])).tolist() == [0]


def test_net_distances_are_exact_at_the_largest_coordinates():
    # Squared distances that differ by one grid step among 2^40.
    net = [[SCALE] * 64, [SCALE] * 63 + [SCALE - 1]]
    point = np.full((1, 64), SCALE / 8)
    assert NetCells.from_points(net).of(point).tolist() == [1]
