import itertools
import math

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.protocols.paper.nets.lattice import DualRootLattice
from coterie.protocols.paper.nets.sizes import net_points, packing_ratio


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 8])
def test_closest_point_is_the_closest(dimension):
    lattice = DualRootLattice.of(dimension)
    places = np.random.default_rng(dimension).uniform(-3, 3, (60, dimension))
    for place, name in zip(places, lattice.closest(places), strict=True):
        near = lattice.within(place, 1.001 * lattice.covering_radius)
        distances = np.linalg.norm(lattice.points(near) - place, axis=1)
        assert near[distances.argmin()].tolist() == name.tolist()


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_within_lists_every_point(dimension):
    lattice = DualRootLattice.of(dimension)
    place = np.full(dimension, 0.3)
    names = np.array(list(itertools.product(range(-8, 9), repeat=dimension)))
    inside = np.linalg.norm(lattice.points(names) - place, axis=1) <= 1.7
    assert lattice.within(place, 1.7).tolist() == names[inside].tolist()


@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_measured_radii_are_the_formulas(dimension):
    lattice = DualRootLattice.of(dimension)
    # The deepest hole of A*_d: (0, 1, …, d)/(d+1), centered.
    hole = (np.arange(dimension + 1) / (dimension + 1) - dimension / 2 / (dimension + 1)) @ lattice.basis.T
    distance = np.linalg.norm(hole - lattice.points(lattice.closest(hole[None])))
    assert distance == pytest.approx(lattice.covering_radius, rel=1e-12)
    places = np.random.default_rng(0).uniform(-9, 9, (20_000, dimension))
    away = np.linalg.norm(places - lattice.points(lattice.closest(places)), axis=1)
    assert away.max() <= lattice.covering_radius * (1 + 1e-12)
    near = lattice.within(np.zeros(dimension), 2 * lattice.covering_radius)
    lengths = np.sort(np.linalg.norm(lattice.points(near), axis=1))
    assert lengths[1] / 2 == pytest.approx(packing_ratio(dimension) * lattice.covering_radius, rel=1e-12)


def test_ratio_of_radii_is_at_most_three_up_to_dimension_25():
    ratios = [1 / packing_ratio(d) for d in range(1, 27)]
    assert ratios == pytest.approx([math.sqrt((d + 2) / 3) for d in range(1, 27)])
    assert max(ratios[:25]) <= 3 + 1e-12
    assert ratios[25] > 3


@pytest.mark.parametrize(("dimension", "ball"), [(1, 2), (2, math.pi), (3, 4 * math.pi / 3)])
def test_points_of_a_net_are_counted_by_volume(dimension, ball):
    lattice = DualRootLattice.of(dimension)
    wide = ball * (3 + lattice.covering_radius) ** dimension
    found = net_points(dimension, 3.0, lattice.covering_radius)
    assert found == pytest.approx(wide / abs(np.linalg.det(lattice.generator)))


def test_a_tie_has_no_margin_and_a_lattice_point_a_wide_one():
    lattice = DualRootLattice.of(2)
    middle = lattice.points(np.array([[1, 0]])) / 2
    assert lattice.closest_with_margin(middle)[1] == pytest.approx(0, abs=1e-12)
    assert lattice.closest_with_margin(np.zeros((1, 2)))[1][0] > 0.5


def test_refusals():
    with pytest.raises(PlanError, match="dimension must be in 1"):
        DualRootLattice.of(0)
    with pytest.raises(PlanError, match="at most 4194304 are listed"):
        DualRootLattice.of(12).within(np.zeros(12), 6.0)
