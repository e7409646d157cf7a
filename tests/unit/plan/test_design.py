import contextlib

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.geometry.spread import spread_points
from coterie.plan import Plan
from coterie.plan.views import CrossPolytope, Halfspaces, Net
from coterie.privacy import largest_odds
from coterie.protocols import PROTOCOLS, design_options
from coterie.protocols.codeword.design import (
    CELLS,
    HALFSPACE_SHARE,
    TURNS,
    WHOLE,
    choose_embedding,
    spread_offsets,
)


def design(dimension=100, epsilon=1.0, clusters=8, expected_users=10**6, **changes):
    return Plan.design(dimension, clusters, epsilon, expected_users, **changes).parameters


@pytest.mark.parametrize(("epsilon", "cap"), [(0.5, 108), (1.0, 89), (2.0, 55), (4.0, 17), (6.0, 4)])
def test_the_cap_is_the_best_one(epsilon, cap):
    parameters = design(epsilon=epsilon)
    assert (parameters.codewords, parameters.cap, parameters.odds) == (256, cap, largest_odds(epsilon))


@pytest.mark.parametrize(
    ("dimension", "epsilon", "embedding"),
    [
        (1, 1.0, 128),
        (100, 1.0, 128),
        (101, 1.0, 256),  # 1.25·103 > 128
        (3000, 1.0, 4096),
        (100, 6.0, 128),
        (100, 6.5, 512),
        (20, 8.0, 128),
        (3000, 8.0, 4096),
    ],
)
def test_the_embedding(dimension, epsilon, embedding):
    assert choose_embedding(dimension, epsilon) == embedding


def test_every_allowed_epsilon_and_dimension_has_a_plan():
    for epsilon in (1e-7, 0.01, 7.9, 16.0):
        assert design(epsilon=epsilon).odds == largest_odds(epsilon)
    for dimension in (17, 3000):
        halfspaces, cells = design(dimension=dimension).views
        assert isinstance(halfspaces, Halfspaces)
        assert isinstance(cells, CrossPolytope)


@pytest.mark.parametrize("dimension", [1, 2, 8, 12])
def test_low_dimensions_get_a_net_inside_the_ball(dimension):
    halfspaces, net = design(dimension=dimension).views
    assert isinstance(halfspaces, Halfspaces)
    assert isinstance(net, Net)
    points = np.array(net.points)
    assert points.shape == (CELLS, dimension)
    assert (np.square(points).sum(axis=1) <= 2**40).all()
    assert len(np.unique(points, axis=0)) == len(points)


def test_a_net_is_spread_and_depends_on_the_seed_alone():
    points = spread_points(256, dimension=2, seed=5)
    assert points == spread_points(256, dimension=2, seed=5)
    assert points != spread_points(256, dimension=2, seed=6)
    net = np.array(points) / 2**20
    angle, length = np.random.default_rng(0).uniform(size=(2, 20_000))
    people = np.sqrt(length)[:, None] * np.stack(
        [np.cos(2 * np.pi * angle), np.sin(2 * np.pi * angle)], axis=1
    )
    nearest = np.sqrt(np.square(people[:, None] - net).sum(axis=2).min(axis=1))
    # 256 cells of area π/256 each: a disc of that area has radius 1/16.
    assert nearest.max() < 3 / 16
    assert np.sqrt(np.mean(nearest**2)) < 1 / 16


def test_most_people_serve_halfspaces_and_the_others_a_few_cells():
    halfspaces, cells = design().views
    assert (halfspaces.rows, halfspaces.weight) == (TURNS * 128, HALFSPACE_SHARE)
    assert (cells.rows, cells.weight) == (CELLS, 1)
    assert design(clusters=32).views == design().views  # the default does not depend on the noise
    assert design(shape="broad").views == design().views


def test_halfspaces_see_directions_lengths_and_everybody():
    offsets = np.array(spread_offsets(1024, 128))
    whole = offsets == -128 * 2**20  # no point of the ball is below them
    assert whole.sum() == 1024 // WHOLE
    assert (offsets == 0).sum() == 512 - whole.sum()  # through the middle
    beside = offsets[~whole & (offsets != 0)]
    assert abs(np.median(beside)) < 0.15 * beside.std()  # on either side of it
    assert beside.std() == pytest.approx(0.5 * 2**20 * np.sqrt(128), rel=0.2)
    heights = np.abs(np.array(design().views[0].offsets))
    assert heights.max() <= 128 * 2**20


def test_tight_groups_among_much_noise_get_cells_alone():
    def cells(**changes):
        return [(view.rows, view.weight) for view in design(shape="tight", **changes).views]

    assert cells(clusters=16) == [(256, 1), (512, 1)]
    assert cells(clusters=32) == [(512, 1)]
    assert cells(dimension=3000, clusters=100, expected_users=10**7) == [(1024, 1)]
    quiet = design(shape="tight", clusters=8)  # such a study needs no design of its own
    assert quiet.views == design(clusters=8).views


def test_a_shape_must_be_known():
    with pytest.raises(PlanError, match="shape"):
        design(shape="long")


WRONG = ("word", float("nan"), float("inf"), None, -1, 0, 10**30, 0.5)


@pytest.mark.parametrize(
    ("protocol", "model"), [(name, model) for name in PROTOCOLS for model in PROTOCOLS[name].models]
)
def test_a_wrong_option_of_a_design_is_an_error_of_the_plan(protocol, model):
    delta = 0.0 if model == "local" else 1e-6
    for name in design_options(protocol, model):
        for value in WRONG:
            with contextlib.suppress(PlanError):  # anything else fails the test
                Plan.design(2, 2, 1.0, 1000, protocol=protocol, model=model, delta=delta, **{name: value})


def test_an_option_of_another_design_says_where_it_belongs():
    with pytest.raises(PlanError, match=r"no option 'minimum_batch'; .*codeword \(shuffle\)"):
        Plan.design(2, 2, 1.0, 1000, minimum_batch=5)
    with pytest.raises(PlanError, match=r"no option 'colour'; known: shape$"):
        Plan.design(2, 2, 1.0, 1000, colour=5)
