"""Reports in some directions of the space, with earlier ones of whole points and without."""

from dataclasses import replace

import numpy as np
import pytest

from coterie import Plan, Population, decode
from coterie.centers.directions import InDirections
from coterie.centers.population import shrunk_mean
from coterie.centers.solution import Solution
from coterie.centers.spectrum import spectrum
from coterie.engines import simulate
from coterie.errors import DecodeError
from coterie.plan.follow_up import UNSURE
from coterie.protocols.codeword import decode as codeword
from coterie.protocols.codeword.oracles.rows import everybody, mean_rest, rows_of

DIMENSION, CLUSTERS, PEOPLE = 40, 4, 300_000
AWAY = 0.15  # of everybody, in a direction that tells no groups apart


def places():
    means = np.zeros((CLUSTERS, DIMENSION))
    means[:, :2] = 0.5 * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    means[:, -1] = AWAY
    return means


def people(seed=0):
    rng = np.random.default_rng(seed)
    wide = np.linspace(0.3, 0.02, DIMENSION) / 4
    return places()[rng.integers(0, CLUSTERS, 4000)] + wide * rng.standard_normal((4000, DIMENSION))


PLAN = Plan.design(DIMENSION, CLUSTERS, 2.0, PEOPLE)
BASIS = np.eye(DIMENSION)[:12]


@pytest.fixture(scope="module")
def first():
    return simulate(PLAN, people(), PEOPLE, random_state=0)


@pytest.fixture(scope="module")
def second(first):
    seen = Population(people(), np.ones(4000) / 4000, PLAN.id, (PLAN.id,), 0.0, BASIS)
    plan = PLAN.follow_up(seen, PEOPLE)
    assert plan.coordinates == 12
    return simulate(plan, people(), PEOPLE, random_state=1)


def worst(result):
    return np.linalg.norm(places()[:, None] - result.centers[None], axis=2).min(axis=1).max()


@pytest.mark.slow
def test_both_waves_are_read_in_the_whole_space(first, second):
    result = decode([first, second], random_state=0)
    assert result.centers.shape == (CLUSTERS, DIMENSION)
    assert worst(result) < 0.12
    own = people()
    nearest = ((own[:, None] - result.centers) ** 2).sum(axis=2).argmin(axis=1)
    missed = [np.linalg.norm(own[nearest == k].mean(axis=0) - result.centers[k]) for k in range(CLUSTERS)]
    assert (missed <= result.errors).all()
    assert result.mean[-1] == pytest.approx(AWAY, abs=5 * result.mean_error)  # only the first wave saw it
    true = 1 - ((own - result.centers[nearest]) ** 2).sum() / ((own - own.mean(axis=0)) ** 2).sum()
    assert result.explained.low <= true <= result.explained.high
    assert result.population.points.shape[1] == DIMENSION


@pytest.mark.slow
def test_without_whole_points_the_result_says_what_nobody_reported(second):
    result = decode(second, random_state=0)
    assert any("Nobody reported what lies outside" in note for note in result.notes)
    middle = np.array(second.plan.center)[12:]
    np.testing.assert_allclose(result.centers[:, 12:] - middle, 0, atol=1e-6)
    assert np.linalg.norm(places()[:, None, :12] - result.centers[:, :12], axis=2).min(axis=1).max() < 0.12


def test_rows_of_whole_points_are_seen_through_the_directions(first, second):
    seen = codeword.seen_in([first, second])
    own, through = seen.views[: len(seen.views) // 2], seen.views[len(seen.views) // 2 :]
    assert all(view.own_ball for view in own)
    assert not any(view.own_ball for view in through)
    inner = np.random.default_rng(3).standard_normal((2000, 12)) / 6
    weights = np.full(2000, 1 / 2000)
    for view, whole in zip(through, rows_of(first.table, second.plan), strict=True):
        assert view.vectors.shape[1] == 14
        np.testing.assert_allclose(view.vectors[:, :12], whole.vectors[:, :DIMENSION] @ seen._basis)
        # what the view predicts of points is what it would be for whole people around them
        outer = view.frame.local(inner)
        told = (view.geometry, view.lift.of(outer))
        np.testing.assert_allclose(view.lifted(inner)[:, -2:], told[1][:, -2:])
        np.testing.assert_allclose(
            outer @ seen._basis * view.frame.scale + view.frame.shift, inner, atol=1e-9
        )
        assert view.predicted(inner, weights).shape == view.vectors.shape


def test_directions_are_known_better_by_the_second_moment_too():
    """Twelve true ones, of which 20,000 people tell little: what each way finds of people's spread."""
    rng = np.random.default_rng(3)
    wide = np.concatenate([np.full(12, 0.2), np.full(DIMENSION - 12, 0.05)])
    points = wide * rng.standard_normal((2000, DIMENSION))
    plan = Plan.design(DIMENSION, CLUSTERS, 3.0, 20_000)
    found = []
    for seed in range(3):
        table = simulate(plan, points, 20_000, random_state=seed).table
        views = rows_of(table)
        (view,) = (one for one in views if one.halfspaces)
        about = shrunk_mean(views), 1 - mean_rest(views) ** 2
        alone, both = (spectrum([one], *about).leading for one in (replace(view, moment=None), view))
        np.testing.assert_allclose(both @ both.T, np.eye(len(both)), atol=1e-9)
        found.append([((points @ each.T) ** 2).sum() / (points**2).sum() for each in (alone, both)])
    assert all(both > alone for alone, both in found)


def test_directions_are_named_where_no_groups_were_found(first):
    """However badly they are known: that is when others find groups by them, and only then."""
    few = simulate(PLAN, people(), 1000, random_state=0)
    named, unnamed = (
        codeword.explained([table], CLUSTERS, np.random.default_rng(0), repeats=0) for table in (few, first)
    )
    assert named.one_group
    assert named.directions.shape == (12, DIMENSION)
    assert unnamed.supported.all()
    assert unnamed.directions is None


def test_tables_of_the_same_directions_are_one_body_of_rows(first, second):
    third = replace(second.plan, seed=1)
    more = simulate(third, people(), PEOPLE, random_state=2)
    seen = codeword.seen_in([first, second, more])
    assert [view.own_ball for view in seen.views] == [True] * 4 + [False] * 2


def test_what_cannot_be_read_together_is_refused(first, second):
    with pytest.raises(DecodeError, match="decoded before plans with directions"):
        codeword.rows_of_all([second, first])
    others = replace(second.plan, directions=second.plan.directions[::-1])
    with pytest.raises(DecodeError, match="the same directions, or none"):
        codeword.rows_of_all([simulate(others, people(), 1000, random_state=3), second])


@pytest.mark.slow
def test_groups_found_in_directions_are_confirmed_in_the_whole_space(first, second):
    found = decode([first, second], random_state=0)
    plan = second.plan.follow_up(found, PEOPLE, confirm=True)
    assert (plan.version, plan.confirms) == (1, True)
    result = decode([first, second, simulate(plan, people(), PEOPLE, random_state=4)], random_state=0)
    assert worst(result) < 0.12
    np.testing.assert_allclose(result.confirmed.groups[0].center, found.centers[0], atol=1e-4)
    spread = result.population.points.std(axis=0)
    np.testing.assert_allclose(spread[:2], 0.5, atol=0.15)  # in the original units


def test_directions_of_different_lengths_are_not_decoded(second):
    longer = tuple(tuple((1 + (i == 0)) * x for x in row) for i, row in enumerate(second.plan.directions))
    with pytest.raises(DecodeError, match="not orthogonal and of one length"):
        InDirections(replace(second.plan, directions=longer), rows_of(second.table), [])


def test_that_the_mean_outside_is_not_known_counts_in_the_errors(first, second, monkeypatch):
    """Of one group whose place inside the directions is known: what is left is everybody's mean outside."""
    seen = codeword.seen_in([first, second])
    monkeypatch.setattr(InDirections, "_hidden", lambda self, clusters: 0.0)
    place, one = np.zeros((1, 12)), np.ones(1)
    known = Solution(place, one, np.zeros(1), one > 0, place, one)
    deviation = everybody(rows_of(first.table, second.plan))[1]
    said = seen.outward(known)
    assert said.errors[0] == pytest.approx(UNSURE * deviation * np.sqrt(DIMENSION - 12))
    np.testing.assert_allclose(said.profile @ said.profile, 1)
    np.testing.assert_allclose(BASIS @ said.profile, 0, atol=1e-3)
    assert InDirections(second.plan, seen.own, []).outward(known).errors[0] == 0  # nobody told of it
