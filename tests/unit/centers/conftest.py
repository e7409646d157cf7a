"""Rows drawn from their law: what a table of n reports would say, without encoding anybody."""

import math
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from coterie.centers import population
from coterie.plan.views import CrossPolytope, Halfspaces
from coterie.protocols.codeword.design import spread_offsets
from coterie.protocols.codeword.oracles.rows import Frame, Lift, ViewRows

COUNT_WEIGHT = int(0.3 * 2**20)
GAIN = 0.4  # κ at ε = 1


@pytest.fixture
def few_atoms(monkeypatch):
    """A population of 1,000 atoms instead of 2,000, for speed."""
    monkeypatch.setattr(population, "ATOMS", 600)


@pytest.fixture(scope="session")
def default_views():
    """The default design in small: seven people in eight on halfspaces, one on cells."""
    return (Halfspaces(512, spread_offsets(512, 128), 7), CrossPolytope(32, 1))


def rows_of_view(view, number, points, people, rng):
    """The rows of one view for people at `points`, in equal shares, as so many reports tell them."""
    dimension = points.shape[1]
    geometry = view.geometry(lambda name: sha256(name.encode()).digest()[:16], number, dimension)
    own = people / view.rows if isinstance(view, Halfspaces) else people  # reports that serve one number
    deviations = np.full(view.rows, 1 / (GAIN * math.sqrt(own)))
    empty = ViewRows(
        vectors=np.zeros((view.rows, dimension + 2)),
        deviations=deviations,
        people=int(people),
        geometry=geometry,
        kept=np.arange(view.rows),
        frame=Frame(np.zeros(dimension), 1.0),
        lift=Lift.from_count_weight(COUNT_WEIGHT, dimension),
    )
    expected = empty.predicted(points, np.full(len(points), 1 / len(points)))
    return replace(empty, vectors=expected + deviations[:, None] * rng.standard_normal(expected.shape))


@pytest.fixture(scope="session")
def simulate(default_views):
    """Return what a table says about people at given points: (n, d) -> rows of each view."""

    def rows(points, people=10**6, seed=0, views=default_views):
        rng = np.random.default_rng(seed)
        tickets = sum(view.weight for view in views)
        return [
            rows_of_view(view, number, points, people * view.weight / tickets, rng)
            for number, view in enumerate(views)
        ]

    return rows


@pytest.fixture(scope="session")
def round_groups():
    """Return people in k round groups, and the groups' centers: random directions, length 0.8."""

    def people(clusters, dimension, spread=0.05, shares=None, seed=0, count=4000):
        rng = np.random.default_rng(seed)
        centers = rng.standard_normal((clusters, dimension))
        centers *= 0.8 / np.linalg.norm(centers, axis=1, keepdims=True)
        parts = np.full(clusters, 1 / clusters) if shares is None else np.array(shares)
        labels = np.repeat(np.arange(clusters), np.round(count * parts).astype(int))
        scatter = rng.standard_normal((len(labels), dimension)) * spread / math.sqrt(dimension)
        return population.into_ball(centers[labels] + scatter), centers

    return people
