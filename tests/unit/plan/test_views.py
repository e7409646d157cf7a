import hashlib

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.geometry.halfspaces import HalfspaceSigns
from coterie.plan.views import CrossPolytope, Halfspaces, Net, checked_views

SQUARE = ((0, 0), (2**20, 0), (0, -(2**20)), (5, 7))


def test_rows_of_each_kind():
    assert [view.rows for view in (CrossPolytope(8), Net(SQUARE), Halfspaces(2, (0, 5)))] == [16, 4, 2]


def test_the_json_form_is_that_of_the_wire_format():
    listed = [
        {"cells": "cross-polytope", "size": 8, "weight": 1},
        {"cells": "net", "points": [[0, 1], [2, -3]], "weight": 2},
        {"cells": "halfspaces", "rows": 2, "offsets": [0, -7], "weight": 5},
    ]
    views = checked_views(listed)
    assert [view.to_dict() for view in views] == listed
    assert views[2] == Halfspaces(2, (0, -7), 5)
    assert hash(views[2]) == hash(Halfspaces(2, [0, -7], 5))  # a list becomes a tuple


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ((), "number of net points must be in"),
        (((0,),) * 3, "number of net points must be a power of two"),
        (((0, 1), (1,)), "all have the plan's dimension"),
        (((), ()), "all have the plan's dimension"),
        (((2**20 + 1,),), "net point 0 must be in"),
        (((0,), (0.5,)), "net point 1 must be an integer"),
        ((7,), "net point 0 must be a list"),
    ],
)
def test_refuses_nets(points, message):
    with pytest.raises(PlanError, match=message):
        Net(points)


@pytest.mark.parametrize("size", [0, 3, 2**16, 4.0, None])
def test_refuses_rotations(size):
    with pytest.raises(PlanError, match="view size must be"):
        CrossPolytope(size)


@pytest.mark.parametrize("weight", [0, 257, 1.0, True])
def test_refuses_weights(weight):
    with pytest.raises(PlanError, match="view weight must be"):
        CrossPolytope(4, weight)
    with pytest.raises(PlanError, match="view weight must be"):
        Net(SQUARE, weight)
    with pytest.raises(PlanError, match="view weight must be"):
        Halfspaces(1, (0,), weight)


@pytest.mark.parametrize(
    ("rows", "offsets", "message"),
    [
        (0, (), r"rows of halfspaces must be in \[1, 65536\]"),
        (3, (0, 0, 0), "rows of halfspaces must be a power of two"),
        (2**17, (0,) * 2**17, r"rows of halfspaces must be in \[1, 65536\]"),
        (2.0, (0, 0), "rows of halfspaces must be an integer"),
        (2, (0,), "offsets must be 2, one a row, got 1"),
        (2, (0, 0, 0), "offsets must be 2, one a row, got 3"),
        (2, 0, "offsets must be a list"),
        (2, (0, 0.5), "offset 1 must be an integer"),
        (2, (0, True), "offset 1 must be an integer"),
        (1, (2**32 + 1,), "offset 0 must be in"),
        (1, (-(2**32) - 1,), "offset 0 must be in"),
    ],
)
def test_refuses_halfspaces(rows, offsets, message):
    with pytest.raises(PlanError, match=message):
        Halfspaces(rows, offsets)


@pytest.mark.parametrize(("dimension", "largest"), [(1, 2**27), (128, 2**27), (129, 2**28), (3000, 2**32)])
def test_offsets_reach_as_far_as_the_rotation_does(dimension, largest):
    for sign in (1, -1):
        Halfspaces(1, (sign * largest,)).check_dimension("views[0]", dimension)
    if largest < 2**32:
        with pytest.raises(PlanError, match=r"views\[0\]: offset 1 must be in"):
            Halfspaces(2, (0, -largest - 1)).check_dimension("views[0]", dimension)


def test_every_rotation_of_halfspaces_has_its_own_key():
    keys = {}

    def key_of(label):
        return keys.setdefault(label, hashlib.sha256(label.encode()).digest()[:16])

    sides = Halfspaces(512, tuple(range(512))).geometry(key_of, 3, 200)
    assert list(keys) == ["view/3/0", "view/3/1"]  # S = 256
    again = HalfspaceSigns.from_keys(list(keys.values()), range(512), 200)
    assert (sides.integer_normals() == again.integer_normals()).all()
    assert (sides.bounds == np.arange(512)).all()
