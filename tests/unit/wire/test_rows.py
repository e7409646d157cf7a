import dataclasses

import numpy as np
import pytest

from coterie.plan import Plan
from coterie.plan.views import CrossPolytope, Halfspaces, Net
from coterie.wire.rows import Rows

BASE = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100).parameters
POINTS = ((0, 0), (1, 0), (0, 1), (1, 1))


def rows_of(*views):
    return Rows.of(dataclasses.replace(BASE, views=views))


def block(*first_bytes):
    return np.array([[*first_bytes, *([0] * (16 - len(first_bytes)))]], dtype=np.uint8)


@pytest.mark.parametrize(
    ("views", "first_bytes", "row", "flip"),
    [
        ((CrossPolytope(128),), (0xFF, 0xFE, 0x01, 0x02, 0xFE, 0x00), 2, 0),
        ((CrossPolytope(1024),), (0xFF, 0xFE, 0x01, 0x02, 0x01, 0xFF), 0x102, 1),
        # weights 3 and 1: tickets 0, 1, 2 and 3; four cells each
        ((CrossPolytope(2, 3), Net(POINTS, 1)), (0, 0, 0, 7, 0, 0x02), 3, 0),
        ((CrossPolytope(2, 3), Net(POINTS, 1)), (0, 0, 0, 7, 0, 0x03), 7, 0),
        ((CrossPolytope(2, 3), Net(POINTS, 1)), (0, 0, 0, 7, 0, 0xFF), 7, 0),
        # views of different sizes: rows 0..7 and 8..11
        ((CrossPolytope(4), Net(POINTS)), (0, 0, 0, 0xFE, 3, 0x00), 6, 1),
        ((CrossPolytope(4), Net(POINTS)), (0, 0, 0, 0xFE, 3, 0x01), 10, 1),
        ((CrossPolytope(4), Halfspaces(2, (0, 0), 3)), (0, 0, 0, 0xFF, 3, 0x02), 9, 1),
    ],
)
def test_rows_and_flips_are_read_as_the_wire_format_says(views, first_bytes, row, flip):
    rows, flips = rows_of(*views).read(block(*first_bytes))
    assert rows.tolist() == [row]
    assert flips.tolist() == [flip]


def test_every_row_is_as_likely_as_the_views_weight_says():
    rows = rows_of(CrossPolytope(4, 1), Net(POINTS, 3))
    blocks = np.random.default_rng(0).integers(0, 256, size=(48_000, 16), dtype=np.uint8)
    counts = np.bincount(rows.read(blocks)[0], minlength=rows.count)
    expected = np.array([48_000 / 4 / 8] * 8 + [48_000 * 3 / 4 / 4] * 4)
    assert rows.count == 12
    assert (np.abs(counts - expected) < 6 * np.sqrt(expected)).all()


@pytest.mark.parametrize("views", [(CrossPolytope(4),), (CrossPolytope(4, 1), Net(POINTS, 3))])
def test_a_row_is_its_view_and_mask(views):
    rows = rows_of(*views)
    blocks = np.random.default_rng(0).integers(0, 256, size=(1000, 16), dtype=np.uint8)
    numbers, masks, flips = rows.places(blocks)
    starts = np.array([part.start for part in rows.parts])
    joined, same = rows.read(blocks)
    np.testing.assert_array_equal(joined, starts[numbers] + masks)
    np.testing.assert_array_equal(flips, same)
    assert set(numbers.tolist()) == set(range(len(views)))
    assert (masks < np.array([view.rows for view in views])[numbers]).all()
