import dataclasses
import hashlib

import numpy as np
import pytest

from coterie.geometry.ball import SCALE
from coterie.geometry.halfspaces import HalfspaceSigns, mean_coordinate, turn_size
from coterie.geometry.rotation import Rotation

ROWS = 1024
WIDEST_GAP = 15.0  # degrees: no direction of the plane or of space is further from every normal
WIDEST_STEP = 0.06  # of the ball's radius: between neighbouring thresholds of a line
FEWEST_OF_A_SIGN = 0.4  # share of the rows of a line; about a fourteenth have a normal of 0


def keys(count, seed=0):
    return [hashlib.sha256(f"{seed}/{block}".encode()).digest()[:16] for block in range(count)]


def make(rows, dimension, seed=0, offsets=None):
    offsets = [0] * rows if offsets is None else offsets
    return HalfspaceSigns.from_keys(keys(-(-rows // turn_size(dimension)), seed), offsets, dimension)


def quantized_points(people, dimension, seed=0):
    points = np.random.default_rng(seed).normal(size=(people, dimension))
    points *= np.random.default_rng(seed + 1).random((people, 1)) / np.linalg.norm(
        points, axis=1, keepdims=True
    )
    return np.trunc(points * SCALE)


@pytest.mark.parametrize(
    ("rows", "dimension"), [(1, 1), (64, 3), (256, 3), (512, 100), (256, 129), (4096, 1500)]
)
def test_heights_are_entries_of_the_stacked_rotations(rows, dimension):
    rng = np.random.default_rng(rows)
    size = turn_size(dimension)
    offsets = rng.integers(-size * SCALE // 8, size * SCALE // 8, rows)
    sides = make(rows, dimension, offsets=offsets)
    points, masks = quantized_points(40, dimension), rng.integers(0, rows, 40)
    turned = np.concatenate(
        [Rotation.from_key(key, size).apply(points) for key in keys(-(-rows // size))], axis=1
    )[:, :rows]
    expected = turned[np.arange(40), masks]
    kept = make(rows, dimension, offsets=offsets)
    kept.nearly(points / SCALE)
    assert (kept.kept is None) == (rows * dimension > 1 << 22)
    for way in (sides, kept):
        assert (way.heights(points, masks) == expected).all()
        assert (way.odd(points, masks) == (expected < offsets[masks])).all()
        assert (way.of(points) == np.where(turned >= offsets, 1, -1)).all()
        assert (way.integer_normals() @ points.T == turned.T).all()
    assert sides.odd(points[:0], masks[:0]).shape == (0,)


def test_normals_are_kept_once_that_is_worth_it():
    """Hold that one point makes no matrix, and that many do."""
    sides = make(300, 200)
    points, masks = quantized_points(100, 200), np.arange(100)
    expected = np.concatenate([sides.heights(points, masks) for _ in range(3)])
    assert sides.kept is None
    again = np.concatenate([sides.heights(points, masks) for _ in range(3)])
    assert sides.kept is not None  # 400 transforms are what it takes itself
    assert (again == expected).all()


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 3, 100, 3000])
def test_the_largest_values_are_exact(dimension):
    sides = make(128, dimension)
    normals = sides.integer_normals().astype(np.int64)
    points = np.trunc(SCALE * normals / np.maximum(1, np.linalg.norm(normals, axis=1, keepdims=True)))
    masks = np.arange(128)
    exact = [
        sum(a * b for a, b in zip(row, point, strict=True))
        for row, point in zip(normals.tolist(), points.astype(np.int64).tolist(), strict=True)
    ]
    for way in (sides, dataclasses.replace(sides, kept=sides.integer_normals())):
        assert way.heights(points, masks).tolist() == exact
    assert max(map(abs, exact)) <= sides.size * SCALE


def test_a_point_on_the_hyperplane_counts_as_above():
    slope = int(make(8, 1).integer_normals()[3, 0])
    assert slope != 0
    point = np.array([[1000.0]])
    for offset, odd in ((1000 * slope, 0), (1000 * slope + 1, 1), (1000 * slope - 1, 0)):
        sides = make(8, 1, offsets=[offset] * 8)
        for way in (sides, dataclasses.replace(sides, kept=None)):
            assert way.odd(point, np.array([3])).tolist() == [odd]
            assert way.of(point)[0, 3] == 1 - 2 * odd


@pytest.mark.parametrize("dimension", [2, 100])
def test_normals_and_offsets_are_those_of_the_unit_ball(dimension):
    offsets = np.random.default_rng(0).integers(-(2**23), 2**23, 256)
    sides = make(256, dimension, offsets=offsets)
    points = quantized_points(50, dimension)
    heights = points / SCALE @ sides.normals.T - sides.offsets
    assert (np.where(heights >= 0, 1, -1) == sides.of(points)).all()
    assert (sides.of(points) == 1).any()
    assert (sides.of(points) == -1).any()
    block = sides.normals[:128]
    assert (block.T @ block == np.eye(dimension)).all()  # orthonormal columns: exact, powers of two


def test_a_key_for_every_rotation():
    with pytest.raises(ValueError, match="256 rows take 2 keys, got 1"):
        HalfspaceSigns.from_keys([bytes(16)], [0] * 256, 100)


# ---------------------------------------------------------------- normals point everywhere


@pytest.mark.parametrize("seed", range(4))
def test_a_line_is_cut_from_both_sides_and_everywhere(seed):
    normals = make(ROWS, 1, seed).normals[:, 0]
    assert (normals > 0).mean() > FEWEST_OF_A_SIGN
    assert (normals < 0).mean() > FEWEST_OF_A_SIGN
    some = normals != 0
    thresholds = np.linspace(-0.1, 0.1, ROWS)[some] / normals[some]
    inside = np.sort(thresholds[np.abs(thresholds) < 1])
    assert np.diff([-1, *inside, 1]).max() < WIDEST_STEP


@pytest.mark.parametrize("seed", range(4))
def test_normals_of_the_plane_leave_no_gap(seed):
    normals = make(ROWS, 2, seed).normals
    normals = normals[normals.any(axis=1)]
    angles = np.sort(np.degrees(np.arctan2(normals[:, 1], normals[:, 0])))
    assert np.diff([*angles, angles[0] + 360]).max() < WIDEST_GAP


@pytest.mark.parametrize("seed", range(4))
def test_normals_of_space_leave_no_gap(seed):
    normals = make(ROWS, 3, seed).normals
    normals = normals[normals.any(axis=1)]
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    directions = np.random.default_rng(0).normal(size=(4000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    nearest = np.degrees(np.arccos(np.minimum(1, (directions @ normals.T).max(axis=1))))
    assert nearest.max() < WIDEST_GAP


def test_one_small_rotation_would_leave_gaps():
    """Why S is at least 128: the rows of a rotation of size 4 are a handful of directions of the plane."""
    rows = Rotation.from_key(bytes(16), 4).matrix(2)
    angles = np.sort(np.degrees(np.arctan2(rows[:, 1], rows[:, 0])))
    assert np.diff([*angles, angles[0] + 360]).max() > 4 * WIDEST_GAP


def test_the_mean_coordinate_is_that_of_the_sphere():
    points = np.random.default_rng(0).standard_normal((200_000, 5))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    assert mean_coordinate(5) == pytest.approx(np.abs(points[:, 0]).mean(), rel=0.01)


@pytest.mark.parametrize("kept", [True, False])
def test_single_precision_agrees_but_next_to_the_hyperplane(kept):
    generator = np.random.default_rng(3)
    sides = HalfspaceSigns.from_keys([bytes([1] * 16)], generator.integers(-(2**22), 2**22, 128), dimension=7)
    points = generator.standard_normal((500, 7)) / 4
    quantized = points * SCALE
    if not kept:
        sides = dataclasses.replace(sides, kept=None)
    signs = sides.nearly(points)
    assert signs.dtype == np.float32
    far = np.abs(sides.normals @ points.T - sides.offsets[:, None]).T > 1e-6
    assert far.mean() > 0.99
    assert (signs == sides.of(quantized))[far].all()
    assert set(np.unique(signs)) == {-1.0, 1.0}
