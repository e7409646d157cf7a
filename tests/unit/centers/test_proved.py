"""What the cells of a net prove: places by exchanges, whose shares may be negative, and what is kept."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from coterie import Plan, simulate
from coterie.centers import explain as explaining
from coterie.centers.answer import Answer
from coterie.centers.proved import exchanged, find_in_net, proved_worse
from coterie.centers.repeats import Found
from coterie.protocols.codeword.approximation import ADDED, EARLY, RATIO
from coterie.protocols.codeword.oracles.net_costs import NetCosts, net_costs
from coterie.protocols.codeword.oracles.rows import rows_of

PEOPLE = 10**10  # where the guarantee says something: e is 0.03
PLACES = np.array([[-0.7], [-0.2], [0.3], [0.8]])


@pytest.fixture(scope="module")
def views():
    plan = Plan.design(1, 4, 1.0, PEOPLE)
    points = np.repeat(PLACES, 25, axis=0) + np.random.default_rng(0).normal(0, 0.02, (100, 1))
    return rows_of(simulate(plan, points, PEOPLE, random_state=0).table)


def costs(seed, noise):
    """Random shares around random places, as noise of this deviation shows them, and the true ones."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-0.7, 0.7, (9, 2))
    true = rng.dirichlet(np.full(9, 0.3))
    return [NetCosts(places, true + rng.normal(0, each, 9), 1e-6, 0.5) for each in (0.0, noise)]


@pytest.mark.parametrize("seed", range(12))
def test_exchanges_of_noisy_shares_are_as_good_as_the_noise_of_an_exchange_allows(seed):
    true, noisy = costs(seed, 0.1)
    places = range(len(true.places))

    def cost(known, chosen):
        return known.of(known.places[list(chosen)])

    found = exchanged(noisy, 3)
    assert len(set(found.tolist())) == 3
    now = cost(noisy, found)
    for leaving, coming in itertools.product(range(3), set(places) - set(found.tolist())):
        other = [place for number, place in enumerate(found) if number != leaving] + [coming]
        assert cost(noisy, other) >= now - EARLY * noisy.slack(3) / 3
    wrong = noisy.shares - true.shares
    apart = ((true.places[:, None] - true.places) ** 2).sum(axis=2)
    sets = [apart[:, list(chosen)].min(axis=1) for chosen in itertools.combinations(places, 3)]
    changes = max(abs(wrong @ (one - two)) for one, two in itertools.combinations(sets, 2))  # E', at least
    best = min(cost(true, chosen) for chosen in itertools.combinations(places, 3))
    assert cost(true, found) <= RATIO * best + ADDED * 3 * changes


def test_ratio_and_what_noise_adds_are_the_least_that_the_proof_has():
    y, added = np.meshgrid(np.linspace(0, 1, 300), np.linspace(0, 3, 300))
    proved = (2 * y + np.sqrt(10 * y**2 + added)) ** 2  # of x² ≤ 4xy + 6y² + F
    room = RATIO * y**2 + ADDED * added - proved
    assert room.min() >= -1e-12
    assert room[0, -1] < 1e-12  # where nothing is added κ is met,
    assert np.isclose(((2 + math.sqrt(10 + 1e-6)) ** 2 - RATIO) / 1e-6, ADDED, rtol=1e-4)  # and λ beside it


def test_more_places_than_there_are_cells_are_all_of_them():
    assert exchanged(costs(0, 0.0)[0], 20).tolist() == list(range(9))


def test_right_answers_are_kept_and_wrong_ones_are_not(views):
    assert not proved_worse(views, PLACES, 4)
    assert not proved_worse(views, PLACES + 0.05, 4)
    assert proved_worse(views, np.full((4, 1), 0.9), 4)
    assert not proved_worse(views, PLACES[:1] * 0, 1)  # one center where one is asked for
    found = find_in_net(views, 4, np.random.default_rng(0), 1)
    reach = net_costs(views).reach
    assert np.abs(np.sort(found.answer.centers, axis=0) - PLACES).max() <= 2 * reach
    assert np.isclose(found.answer.shares.sum(), 1)


def test_what_is_kept_is_told_by_two_reaches_and_noise(views):
    known = net_costs(views)
    slack = known.slack(4)
    best = known.of(known.places[exchanged(known, 4)])
    limit = (math.sqrt(max(best, 0) + slack) + 2 * known.reach) ** 2 + slack
    away = [np.minimum(PLACES + shift, 1) for shift in np.linspace(0.1, 1, 181)]
    told = np.array([known.of(centers) for centers in away])
    nearest = np.argsort(np.abs(told - limit))[:12]  # where a wrong limit would show first
    assert told[nearest].min() < limit < told[nearest].max()
    assert [proved_worse(views, away[each], 4) for each in nearest] == (told[nearest] > limit).tolist()


def test_few_people_prove_nothing():
    plan = Plan.design(2, 4, 1.0, 10**6)
    points = np.random.default_rng(0).uniform(-0.6, 0.6, (100, 2))
    views = rows_of(simulate(plan, points, 10**6, random_state=0).table)
    assert net_costs(views).slack(4) > 1
    assert not proved_worse(views, np.full((4, 2), 0.7), 4)
    assert net_costs([view for view in views if view.halfspaces]) is None
    assert not proved_worse(views[:1], np.full((4, 2), 0.7), 4)


@pytest.mark.slow
def test_an_answer_that_is_proved_worse_is_replaced_and_a_right_one_is_not(views):
    def wrong(views, clusters, rng, members):
        centers = np.linspace(0.85, 0.95, clusters)[:, None]
        shares = np.full(clusters, 1 / clusters)
        answer = Answer(centers, shares, centers, shares)
        return Found(answer, (centers, shares), np.eye(1), 0.0, 0.0, clear=np.ones(clusters, dtype=bool))

    rng = np.random.default_rng
    replaced = explaining.explain(views, 4, rng(0), find=wrong, repeats=2)
    assert np.abs(np.sort(replaced.centers, axis=0) - PLACES).max() <= 0.1
    right = explaining.explain(views, 4, rng(0), repeats=0)
    assert np.abs(np.sort(right.centers, axis=0) - PLACES).max() <= 0.02
    nobody = explaining.explain(views, 4, rng(0), find=lambda *_: None, repeats=2)  # one center is worse, too
    assert not nobody.one_group


def test_a_net_outside_the_ball_and_one_that_counts_nobody_say_nothing(views):
    plan = Plan.design(1, 4, 1.0, PEOPLE)
    cells = views[1]
    assert net_costs([cells]) is not None
    for other in (
        SimpleNamespace(geometry=cells.geometry, own_ball=False, lift=cells.lift),
        SimpleNamespace(geometry=cells.geometry, own_ball=True, lift=SimpleNamespace(count=0.0)),
    ):
        assert net_costs([other]) is None
    assert math.isfinite(plan.approximation().ratio)
