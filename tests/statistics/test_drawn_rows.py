"""Rows that the benchmarks draw from their law are like those of real reports."""

import numpy as np
import pytest

from benchmarks.protocol import drawn_rows
from coterie import Plan
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import play
from coterie.protocols.codeword.oracles.rows import rows_of

USERS, DIMENSION, GROUPS = 60_000, 4, 3
# 1,088 rows of 6 coordinates: the mean square of as many normal deviates is 1 ± 0.0175, and 6.8 of these are
SLACK = 0.12


@pytest.fixture(scope="module")
def study():
    plan = Plan.design(DIMENSION, GROUPS, 2.0, USERS, seed=5)
    points, _, _ = gaussian_mixture(USERS, DIMENSION, GROUPS, separation=8, random_state=5)
    return plan, points


def noise_in_deviations(views, points):
    """Return the mean square of (rows - what the people make of them), in the deviations the rows state."""
    weights = np.full(len(points), 1 / len(points))
    off = [(v.vectors - v.predicted(points, weights)) / v.deviations[:, None] for v in views]
    return float(np.mean(np.concatenate(off) ** 2))


def test_drawn_rows_and_reports_have_the_noise_they_state(study):
    plan, points = study
    real = rows_of(play(plan, points, SimulationCoins(5)).table)
    drawn = drawn_rows(plan, points, USERS, np.random.default_rng(5))
    assert [view.vectors.shape for view in drawn] == [view.vectors.shape for view in real]
    for views in (real, drawn):
        found = noise_in_deviations(views, points)
        assert abs(found - 1) < SLACK
        for wrong in (0.9, 1.1):
            assert abs(found / wrong**2 - 1) > SLACK
    for ours, theirs in zip(drawn, real, strict=True):
        assert abs(ours.people - theirs.people) < 6 * np.sqrt(USERS / 4)
        np.testing.assert_allclose(ours.deviations.mean(), theirs.deviations.mean(), rtol=0.02)


def test_drawn_rows_do_not_depend_on_how_often_a_point_is_listed(study):
    plan, points = study
    once = drawn_rows(plan, points[:500], USERS, np.random.default_rng(6))
    twice = drawn_rows(plan, np.repeat(points[:500], 2, axis=0), USERS, np.random.default_rng(6))
    for first, second in zip(once, twice, strict=True):
        np.testing.assert_allclose(first.vectors, second.vectors, atol=1e-9)


def test_noise_is_larger_where_people_are():
    """At ε = 8, four crowds in two directions; 1,024 rows tell a variance within 4.4 %, 6.8 times that is."""
    people, dimension = 20_000, 20
    plan = Plan.design(dimension, 2, 8.0, people, seed=7)
    places = 0.95 * np.concatenate([np.eye(dimension)[:2], -np.eye(dimension)[:2]])
    view = rows_of(play(plan, np.repeat(places, people // 4, axis=0), SimulationCoins(7)).table)[0]
    weights = np.full(4, 0.25)
    rows = view.predicted(places, weights)
    found = np.mean(((view.vectors - rows) / view.deviations[:, None]) ** 2, axis=0)
    said = np.diag(view.noise_covariance(places, weights, rows))
    assert np.abs(found / said - 1).max() < 0.3
    assert (found[:2] > 1.6).all()
    assert found[2:dimension].mean() < 0.8
