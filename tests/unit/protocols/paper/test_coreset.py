import itertools

import numpy as np
import pytest

from benchmarks.reproduction.coresets import (
    coreset_excess,
    cost,
    optimal_transport,
    partition_cost,
    partition_means,
    transport_cost,
)
from coterie.errors import DecodeError
from coterie.protocols.paper.coreset import WeightedPointSet, nearest

LINE = WeightedPointSet.of([[0.0], [1.0], [3.0]], [1.0, 2.0, 1.0])
NOBODY = WeightedPointSet(np.empty((0, 1)), np.empty(0))


def test_total_and_mean():
    assert LINE.total == 4
    assert LINE.mean.tolist() == [1.25]
    assert len(LINE) == 3


def test_weighted_is_repeated():
    repeated = WeightedPointSet.of([[0.0], [1.0], [1.0], [3.0]])
    assert repeated.points.tolist() == LINE.points.tolist()
    assert repeated.weights.tolist() == LINE.weights.tolist()


@pytest.mark.parametrize(
    ("points", "weights", "message"),
    [
        ([[0.0], [0.0]], [1.0, 1.0], "repeat"),
        ([[0.0]], [-1.0], "at least zero"),
        ([[np.nan]], [1.0], "finite"),
        ([[0.0]], [1.0, 2.0], "need weights"),
    ],
)
def test_a_set_is_valid_once_built(points, weights, message):
    with pytest.raises(DecodeError, match=message):
        WeightedPointSet(np.array(points), np.array(weights))


def test_an_empty_set_has_no_mean():
    with pytest.raises(DecodeError, match="no mean"):
        _ = NOBODY.mean


def test_costs_by_hand():
    centers = np.array([[0.0], [2.0]])
    assert cost(LINE, centers) == 2 * 1 + 1 * 1
    assert partition_cost(LINE, np.array([0, 0, 1]), centers) == 2 + 1
    assert partition_means(LINE, np.array([0, 0, 1]), 3).ravel() == pytest.approx([2 / 3, 3.0, 0.0])
    assert partition_cost(LINE, np.array([0, 0, 1])) == pytest.approx(2 / 3)
    assert nearest(LINE.points, centers).tolist() == [0, 0, 1]


def test_coreset_excess_sees_both_sides():
    doubled = WeightedPointSet(LINE.points, 2 * LINE.weights)
    somewhere = [np.array([[0.5]])]
    assert coreset_excess(LINE, LINE, somewhere, 0.0) == pytest.approx(0)
    assert coreset_excess(doubled, LINE, somewhere, 0.5) > 0
    assert coreset_excess(LINE, doubled, somewhere, 0.4) > 0
    assert coreset_excess(doubled, LINE, somewhere, 1.0) <= 0


def brute_force(source, target):
    """Try every mapping to the target's points and to the point itself."""
    best = np.inf
    for choice in itertools.product(range(len(target) + 1), repeat=len(source)):
        images = source.points.copy()
        for row, place in enumerate(choice):
            if place:
                images[row] = target.points[place - 1]
        best = min(best, transport_cost(images, source, target))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_the_best_of_all_mappings(seed):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 5, 2)
    source = WeightedPointSet.of(generator.uniform(-1, 1, (sizes[0], 2)), generator.uniform(0, 2, sizes[0]))
    target = WeightedPointSet.of(generator.uniform(-1, 1, (sizes[1], 2)), generator.uniform(0, 2, sizes[1]))
    found, images = optimal_transport(source, target)
    assert found == pytest.approx(brute_force(source, target), abs=1e-7)
    assert transport_cost(images, source, target) == pytest.approx(found)


def test_transport_of_a_set_to_itself_is_free_and_to_nothing_costs_all():
    assert optimal_transport(LINE, LINE)[0] == pytest.approx(0)
    assert optimal_transport(LINE, NOBODY)[0] == LINE.total
    assert optimal_transport(NOBODY, LINE)[0] == LINE.total


def test_the_exact_optimum_refuses_large_sets():
    many = WeightedPointSet.of(np.arange(100.0)[:, None])
    with pytest.raises(DecodeError, match="small sets"):
        optimal_transport(many, many)
    with pytest.raises(DecodeError, match="images must have shape"):
        transport_cost(many.points[:3], many, many)
