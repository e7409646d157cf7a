import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.reproduction.coresets import cost
from coterie.errors import DecodeError
from coterie.protocols.paper.coreset import WeightedPointSet
from coterie.protocols.paper.k_means import Solver
from coterie.protocols.paper.local_search import LocalSearch, exchange


def best_places(points, weights, clusters):
    """Return the best places and whose they are, by trying every way to divide the points."""
    found = (math.inf, None, None)
    for parts in itertools.product(range(clusters), repeat=len(points)):
        of = np.array(parts)
        sums = np.bincount(of, weights, minlength=clusters)
        if not sums.all():
            continue
        places = np.stack([np.bincount(of, weights * x, minlength=clusters) for x in points.T], axis=1)
        places /= sums[:, None]
        found = min(found, (float(weights @ ((points - places[of]) ** 2).sum(1)), parts, places.tolist()))
    return found[0], np.array(found[1]), np.array(found[2])


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.integers(4, 7))
def test_every_step_of_the_proof_holds_where_no_exchange_gains(seed, clusters, count):
    generator = np.random.default_rng(seed)
    points, weights = generator.normal(0, 1, (count, 2)) ** 3, generator.uniform(0.01, 5, count)
    best, of, places = best_places(points, weights, clusters)
    for place, group in ((place, of == o) for o, place in enumerate(places)):
        own = weights[group] @ ((points[group] - place) ** 2).sum(1)
        entering = [weights[group] @ ((points[group] - p) ** 2).sum(1) for p in points[group]]
        assert min(entering) <= 2 * own + 1e-12  # step 1
    chosen, _ = exchange(points, weights, generator.choice(count, clusters, replace=False))
    apart = ((points[:, None] - points[chosen][None]) ** 2).sum(2)
    found = float(weights @ apart.min(axis=1))
    nearest = ((places[:, None] - points[chosen][None]) ** 2).sum(2).argmin(axis=1)  # s(o)
    moved = float(weights @ apart[np.arange(count), nearest[of]])  # R
    assert -1e-3 * found <= 2 * best - 3 * found + 2 * moved + 1e-9  # step 2
    assert moved <= 2 * best + 2 * math.sqrt(best * found) + found + 1e-9  # step 3
    assert found <= LocalSearch.ratio * best + 1e-9


def test_the_ratio_solves_the_last_step():
    x = math.sqrt(LocalSearch.ratio)
    assert 6 + 4 * x <= 0.999 * x * x < 6.1 + 4 * x


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(5, 12))
def test_no_exchange_is_left(seed, clusters, count):
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
    with pytest.raises(DecodeError, match="no 4 different centers"):
        LocalSearch(4).fit(np.zeros((3, 1)))
