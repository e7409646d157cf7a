"""How many groups: found where the reports tell, and not more than that."""

import numpy as np
import pytest

from coterie import LocalKMeans, Plan, ShuffleKMeans, UnsupportedCentersWarning, decode
from coterie.centers.choose import most_clusters
from coterie.coins import SimulationCoins
from coterie.engines import play
from coterie.errors import DecodeError


def ring(groups, people, spread=0.05, seed=0):
    angles = 2 * np.pi * np.arange(people) / groups
    rng = np.random.default_rng(seed)
    return 0.7 * np.column_stack([np.cos(angles), np.sin(angles)]) + spread * rng.standard_normal((people, 2))


def table_of(points, clusters=3, epsilon=4.0, **design):
    plan = Plan.design(points.shape[1], clusters, epsilon, len(points), **design)
    return play(plan, points, SimulationCoins(0))


@pytest.mark.parametrize("groups", [1, 2, 4, 5])
def test_the_number_of_groups_is_found(groups):
    result = decode(table_of(ring(groups, 20_000)), clusters="auto", random_state=0)
    assert len(result.centers) == groups
    assert result.supported == groups


def test_it_is_found_in_many_dimensions():
    rng = np.random.default_rng(1)
    centers = 0.8 * np.linalg.qr(rng.standard_normal((30, 4)))[0].T
    points = centers[np.arange(40_000) % 4] + 0.01 * rng.standard_normal((40_000, 30))
    assert len(decode(table_of(points, 6, 2.0), clusters="auto", random_state=0).centers) == 4


def test_nothing_but_noise_is_one_group():
    points = np.zeros((3000, 40))
    assert len(decode(table_of(points, 5, 0.5), clusters="auto", random_state=0).centers) == 1


def test_no_more_than_twice_the_plan_and_two_are_looked_for():
    assert most_clusters(1) == 4
    result = decode(table_of(ring(6, 40_000, spread=0.02), clusters=1), clusters="auto", random_state=0)
    assert len(result.centers) == 4


def test_without_halfspaces_the_centers_that_stand_clear_are_counted():
    rng = np.random.default_rng(2)
    centers = 0.9 * np.linalg.qr(rng.standard_normal((40, 2)))[0].T
    points = centers[np.arange(4000) % 2]
    table = table_of(points, 4, 2.0, shape="tight")
    assert not any(type(view).__name__ == "Halfspaces" for view in table.plan.parameters.views)
    planned = decode(table, random_state=0)
    assert planned.supported < 4
    assert len(decode(table, clusters="auto", random_state=0).centers) == max(planned.supported, 1)


def test_another_number_than_the_plans_can_be_asked_for():
    table = table_of(ring(4, 20_000))
    four = decode(table, clusters=4, random_state=0)
    assert four.centers.shape == (4, 2)
    assert four.supported == 4
    assert np.isfinite(four.errors).all()
    np.testing.assert_array_equal(
        decode(table, random_state=0).centers, decode(table, clusters=3, random_state=0).centers
    )


@pytest.mark.parametrize("clusters", [0, -1, 4097, 2.0, True, "many", [2]])
def test_a_number_that_cannot_be_is_refused(clusters):
    table = table_of(ring(2, 100))
    with pytest.raises(DecodeError, match="clusters must be an integer from 1 to 4096"):
        decode(table, clusters=clusters)


@pytest.mark.parametrize("protocol", ["net-tree", "lsh-tree"])
def test_trees_find_the_plans_number_only(protocol):
    table = table_of(ring(2, 2000), 2, 8.0, protocol=protocol)
    with pytest.raises(DecodeError, match=rf"protocol {protocol} finds the plan's 2 clusters only"):
        decode(table, clusters=3)
    assert len(decode(table, clusters=2).centers) == 2


@pytest.mark.parametrize(("model", "epsilon"), [(LocalKMeans, 4.0), (ShuffleKMeans, 0.5)])
def test_the_estimators_choose_too(model, epsilon):
    points = ring(3, 20_000)
    fitted = model("auto", epsilon=epsilon, radius=1.0, random_state=0).fit(points)
    assert fitted.cluster_centers_.shape == (3, 2)
    assert fitted.transform(points[:5]).shape == (5, 3)
    assert fitted.plan_.clusters == 8
    assert fitted.get_feature_names_out().shape == (3,)


def test_a_curators_sums_choose_by_what_stands_clear():
    fitted = ShuffleKMeans("auto", variant="central", epsilon=2.0, radius=1.0, random_state=0)
    assert 3 <= len(fitted.fit(ring(3, 20_000)).cluster_centers_) <= 8


def test_few_rows_plan_for_no_more_clusters_than_rows():
    with pytest.warns(UnsupportedCentersWarning, match="Only 0 of 1 centers"):
        fitted = LocalKMeans("auto", radius=1.0, random_state=0).fit(ring(2, 5))
    assert fitted.plan_.clusters == 5
