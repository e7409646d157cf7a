"""The directions in which people differ, from rows whose population is known."""

from dataclasses import replace

import numpy as np
import pytest

from coterie import Plan
from coterie.centers.spectrum import covariance, spectrum
from coterie.engines import simulate as simulate_table
from coterie.plan.views import Halfspaces
from coterie.protocols.codeword.oracles.rows import rows_of

DIMENSION = 24


@pytest.fixture(scope="module")
def through_the_middle():
    return (Halfspaces(4096, (0,) * 4096, 1),)


def on_axes(lengths):
    """People at plus and minus so far along the first axes, in equal numbers."""
    axes = np.diag(lengths) @ np.eye(len(lengths), DIMENSION)
    return np.concatenate([axes, -axes])


def test_it_is_the_second_moment_over_the_length_whatever_the_data(simulate, through_the_middle):
    """E[x·xᵀ/|x|] of half the people 0.8 and half 0.4 from the middle is 0.4 and 0.2; its trace is E|x|."""
    (view,) = simulate(on_axes([0.8, 0.4]), 10**10, views=through_the_middle)
    seen = spectrum([view], np.zeros(DIMENSION), 0.4)
    assert seen.basis.shape == (DIMENSION, 2)
    length = np.sqrt(0.4)  # root mean square
    np.testing.assert_allclose(np.sort(seen.variances), [length * 0.2, length * 0.4], rtol=0.15)
    np.testing.assert_allclose(np.linalg.norm(seen.basis[:2], axis=0), 1, atol=0.02)


def test_the_subspace_stands_clear_of_noise(simulate, round_groups):
    points, centers = round_groups(4, DIMENSION)
    seen = spectrum(simulate(points, 10**6)[:1], points.mean(axis=0), 0.64)
    assert seen.basis.shape[1] in (3, 4)
    np.testing.assert_allclose(seen.basis.T @ seen.basis, np.eye(seen.basis.shape[1]), atol=1e-9)
    offsets = centers - centers.mean(axis=0)
    lost = offsets - offsets @ seen.basis @ seen.basis.T
    assert np.linalg.norm(lost) < 0.2 * np.linalg.norm(offsets)


def test_noise_alone_has_no_directions(simulate):
    nobody = np.zeros((1, DIMENSION))  # everybody in the middle: each row is its noise, and a constant
    found = [spectrum(simulate(nobody, 10**4, seed)[:1], nobody[0], 0.5).basis.shape[1] for seed in range(20)]
    assert sum(found) <= 6  # of 480; the edge of the noise is exact for large matrices only


def test_rows_beside_the_middle_count_by_what_they_see(simulate):
    """The default design has half of its rows there; the trace is E|x| all the same."""
    for length in (0.8, 0.4):
        points = on_axes([length] * 4)
        view = simulate(points, 10**10)[0]
        seen = spectrum([view], np.zeros(DIMENSION), length**2)
        assert seen.variances.sum() == pytest.approx(length**2, rel=0.1)


def test_what_noise_hides_falls_with_the_people(simulate):
    points = on_axes([0.8, 0.4])
    edges = [
        spectrum(simulate(points, people)[:1], np.zeros(DIMENSION), 0.4).edge for people in (10**4, 10**6)
    ]
    assert edges[0] / edges[1] == pytest.approx(10, rel=0.1)  # as its square root


def test_what_noise_adds_to_an_eigenvalue_is_taken_out(simulate, through_the_middle):
    """Observed eigenvalues are λ + s²d/λ, an eighth too large here; what is kept is λ·(1 - s²d/λ²)."""

    def seen(people, seed=0):
        (view,) = simulate(on_axes([0.8]), people, seed, views=through_the_middle)
        return spectrum([view], np.zeros(DIMENSION), 0.64).variances.max()

    ratio = np.mean([seen(1500, seed) for seed in range(12)]) / seen(10**10)
    assert 0.75 < ratio < 0.97


def test_where_everybody_is_is_no_difference(simulate):
    """One tight group off the middle: its direction is the mean's, not one in which people differ."""
    points = np.tile(0.6 * np.eye(1, DIMENSION), (10, 1))
    view = simulate(points, 10**7)[0]
    raw, less = (spectrum([view], mean, 0.36).variances for mean in (np.zeros(DIMENSION), points[0]))
    assert raw.max() > 0.2
    assert less.sum() < 0.2 * raw.max()


def test_a_ball_elsewhere_tells_the_same_of_how_people_differ():
    """An earlier plan's ball, smaller and off the middle, seen from the last one: each part of its table."""
    rng = np.random.default_rng(5)
    points = 0.1 * rng.standard_normal((4000, DIMENSION)) * np.where(np.arange(DIMENSION) < 2, 3.0, 0.5)
    points += 0.2 * np.eye(1, DIMENSION)
    last = Plan.design(DIMENSION, 2, 4.0, 10**7)
    earlier = Plan.design(
        DIMENSION, 2, 4.0, 10**7, center=[0.1, *[0.0] * (DIMENSION - 1)], radius=0.9, seed=1
    )
    mean, square = points.mean(axis=0), float((points**2).sum(axis=1).mean())
    true = np.linalg.eigvalsh(np.cov(points.T))[-2:]
    found = []
    for plan in (last, earlier):
        (view,) = (one for one in rows_of(drawn(plan, points), last) if one.halfspaces)
        parts = replace(view, moment=None), only_moment(view), view
        seen = [spectrum([part], mean, square) for part in parts]
        for each in seen:
            np.testing.assert_allclose(np.linalg.norm(each.basis[:2, -2:]), np.sqrt(2), atol=0.02)
        found.append([np.sort(each.variances)[-2:] for each in seen])
    for own, other in zip(*found, strict=True):
        np.testing.assert_allclose(own, other, rtol=0.1)
    for one in found:
        np.testing.assert_allclose(one[1], true, rtol=0.05)  # halfspaces count long vectors less


def test_a_smaller_ball_counts_only_where_there_is_no_other():
    """Everybody outside it is clipped to its surface; and noise may leave lengths less than none there."""
    points = on_axes([0.8, 0.4])
    last, narrow = (
        Plan.design(DIMENSION, 2, 4.0, 10**7),
        Plan.design(DIMENSION, 2, 4.0, 10**7, radius=0.2, seed=1),
    )
    views = [
        next(one for one in rows_of(drawn(plan, points), last) if one.halfspaces) for plan in (last, narrow)
    ]
    alone, both = (spectrum(some, np.zeros(DIMENSION), 0.4) for some in (views[:1], views))
    np.testing.assert_array_equal(alone.variances, both.variances)
    assert spectrum(views[1:], 0.05 * np.eye(1, DIMENSION)[0], 0.001).edge > 0


def drawn(plan, points):
    return simulate_table(plan, points, 10**7, random_state=2).table


def only_moment(view):
    """The same view with rows that nobody can read."""
    return replace(view, deviations=1e3 * view.deviations)


def test_halfspaces_that_hold_everybody_tell_nothing_and_the_second_moment_tells_all():
    plan = Plan.design(2, 1, 4.0, 100, seed=3)
    halves = rows_of(simulate_table(plan, np.full((1, 2), 0.3), 100, random_state=0).table)[0]
    lengths = np.linalg.norm(halves.geometry.normals[halves.kept], axis=1)
    outside = np.flatnonzero(halves.geometry.offsets[halves.kept] > lengths)  # of the ball
    own = {name: getattr(halves, name)[outside] for name in ("vectors", "deviations", "kept")}
    wide = covariance([replace(halves, **own)], np.zeros(2), 1e-9)  # as if all were in the middle
    assert np.trace(wide) == pytest.approx(1e-9)
    assert np.isfinite(wide).all()
