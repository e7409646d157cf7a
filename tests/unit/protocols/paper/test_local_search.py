import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.errors import DecodeError
from coterie.protocols.paper.coreset import WeightedPointSet
from coterie.protocols.paper.coreset.cost import cost
from coterie.protocols.paper.k_means import Solver
from coterie.protocols.paper.local_search import LocalSearch, exchange


def best_of_points(points, weights, clusters):
    people = WeightedPointSet.of(points, weights)
    return min(
        cost(people, points[list(chosen)]) for chosen in itertools.combinations(range(len(points)), clusters)
    )


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(5, 12))
def test_no_exchange_is_left_and_the_ratio_holds(seed, clusters, count):
    generator = np.random.default_rng(seed)
    points, weights = generator.uniform(-1, 1, (count, 2)), generator.uniform(0.01, 5, count)
    start = generator.choice(count, clusters, replace=False)
    chosen, _ = exchange(points, weights, start)
    people = WeightedPointSet.of(points, weights)
    found = cost(people, points[chosen])
    for leaving, entering in itertools.product(range(clusters), range(count)):
        other = chosen.copy()
        other[leaving] = entering
        assert cost(people, points[other]) >= found * (1 - 1.1e-3 / clusters)
    assert found <= 81.2 * best_of_points(points, weights, clusters) + 1e-12


def test_it_leaves_a_start_that_lloyd_cannot_leave():
    # Two far clusters and one center each in the middle of nowhere: Lloyd stops at 100 times the best cost.
    points = np.array([[-10.0, 0], [-10, 0.1], [10, 0], [10, 0.1], [0, 30]])
    chosen, made = exchange(points, np.ones(5), np.array([0, 1, 2]))
    assert made >= 1
    assert set(chosen.tolist()) & {0, 1}
    assert set(chosen.tolist()) & {2, 3}
    assert 4 in chosen


def test_it_is_a_solver_and_says_its_ratio():
    solver: Solver = LocalSearch(2, random_state=0)
    solver.fit(np.array([[0.0], [0.2], [1.0]]), sample_weight=np.array([1.0, 1.0, 5.0]))
    assert np.sort(solver.cluster_centers_[:, 0]) == pytest.approx([0.1, 1.0])
    assert LocalSearch.ratio < 200
    with pytest.raises(DecodeError, match="no 4 different centers"):
        LocalSearch(4).fit(np.zeros((3, 1)))
