"""A `codeword` table drawn from its law: what millions of people would send, without encoding anybody.

A table is a sum over people, so all that it knows of them are sums. A report of a person with lifted vector w
that serves row r adds a codeword v with

    E[v] = κ·φ_r(x)·y,      Cov[v] = (c - κ²)·y·yᵀ outside the diagonal, 1 - E[v]² on it

where y = R·w and c = c₂/(1 - Σy⁴), so that E⟨v, y⟩² = 1 + c₂ (κ, c₂ and R as in `codeword.oracles`). Here
the reports are dealt to the rows as ids deal them. Who serves a row is chance, too: its n reports are of n
people drawn from all, and v has mean μ = κ·E[φ_r·y] and covariance c·E[y·yᵀ] - μ·μᵀ outside the diagonal. The
row gets that common part of its noise as a normal vector, and then each coordinate as n coins of the right
bias, so that every sum is one that n reports can have. The second moment is drawn likewise, entry by entry.
What differs from real reports: noise beyond its covariance, and that people's points are not rounded to the
grid. `tests/statistics/test_table_law.py` compares the two.

Time grows with the number of different points, not of people. With PyTorch the products run on `device`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.errors import bringing
from coterie.geometry.hadamard import fwht
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.plain.pieces import pieces
from coterie.plan import Plan
from coterie.protocols.codeword.oracles.rows import all_rows, unit_points
from coterie.protocols.codeword.oracles.second_moment import embedding_matrix
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.protocols.codeword.table import CodewordTable
from coterie.wire.rows import Rows

_PIECE: Final = 1 << 13  # points at a time

Tell = Callable[[int], None]


def drawn_codeword_table(
    plan: Plan,
    points: NDArray[Any],
    people: int,
    rng: np.random.Generator,
    *,
    device: str | None = None,
    tell: Tell | None = None,
) -> Aggregate:
    """Return the table of `people` reports, of people who are each like one of the points.

    Parameters
    ----------
    plan : Plan
        Of protocol codeword.
    points : ndarray, shape (m, d)
        What people are like, all equally often.
    people : int
        Reports in the table.
    rng : numpy Generator
        Of the simulation.
    device : str, optional
        Where PyTorch does the products, "cuda" for instance; numpy does them by default.
    tell : callable, optional
        Called with a number of points when so many more are through.
    """
    aggregate = Aggregate(plan)
    table = aggregate.table = CodewordTable.zero(plan)
    parameters = table.parameters
    gain = parameters.randomizer.gain(parameters.embedding)  # κ
    turn = embedding_matrix(plan, parameters)  # R, (P, D)
    tickets = np.array([view.weight for view in parameters.views], dtype=np.float64)
    means, square, fourth = _sums_of(plan, turn, points, device, tell)
    shared = turn @ square @ turn.T  # E[y·yᵀ], (P, P)
    joint = parameters.randomizer.second_gain(parameters.embedding) / (1 - fourth)  # c
    root, inverse = _root(joint * shared)
    served = rng.multinomial(people, tickets / tickets.sum())
    for mean, part, count in zip(means, Rows.of(parameters).parts, served, strict=True):
        rows = len(mean)
        counts = rng.multinomial(int(count), np.full(rows, 1 / rows))
        table.counts[part] = counts
        leans = gain * (mean @ turn.T)  # μ, (M, P)
        drawn = _less(rng.standard_normal((rows, root.shape[1])), leans @ inverse.T)
        expected = counts[:, None] * leans + np.sqrt(counts)[:, None] * (drawn @ root.T)
        table.sums[part] = _coins(counts[:, None], expected, rng)
    if table.second is not None:
        table.second[:] = _second_moment(people, joint * shared, rng)
    return aggregate


def _coins(
    counts: NDArray[Any], expected: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw sums of so many ±1 with these expectations."""
    counts = np.broadcast_to(counts, expected.shape)
    chances = np.clip((1 + expected / np.maximum(counts, 1)) / 2, 0.0, 1.0)
    return np.asarray(2 * rng.binomial(counts, chances) - counts)


def _second_moment(
    people: int, mean: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:  # (P, P) -> (P, P)
    upper = np.triu_indices(len(mean), 1)
    second = np.zeros(mean.shape, dtype=np.int64)
    second[upper] = _coins(np.array(people), people * mean[upper], rng)
    second += second.T
    np.fill_diagonal(second, people)
    return second


def _root(covariance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return L with L·Lᵀ = covariance, and its pseudo-inverse: (P, P) -> (P, r), (r, P)."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-12 * max(float(values[-1]), 1e-300)
    sizes = np.sqrt(values[kept])
    return np.asarray(vectors[:, kept] * sizes), np.asarray((vectors[:, kept] / sizes).T)


def _less(standard: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vectors of covariance I - m·mᵀ, row by row, from standard normal ones: (M, r), (M, r)."""
    squares = np.clip((means**2).sum(axis=1), 1e-300, 1.0)  # |m|² ≤ 1: the mean of v·vᵀ holds that of v
    along = (standard * means).sum(axis=1) * (1 - np.sqrt(1 - squares)) / squares
    return np.asarray(standard - along[:, None] * means)


def _sums_of(
    plan: Plan, turn: NDArray[np.float64], points: NDArray[Any], device: str | None, tell: Tell | None
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64], float]:
    """Return E[φ·w] of every row, a list of (M, D), E[w·wᵀ], (D, D), and E[Σy⁴]."""
    lifted, multiply = plan.coordinates + EXTRA_COORDINATES, _product(device)
    asked = CodewordParameters.of(plan).views
    views = [all_rows(plan, number, np.zeros((view.rows, lifted))) for number, view in enumerate(asked)]
    square, fourth = np.zeros((lifted, lifted)), 0.0
    for piece in pieces(len(points), _PIECE):
        local = unit_points(plan, points[piece])
        vectors = views[0].lift.of(local)
        square += vectors.T @ vectors / len(points)
        fourth += float(((vectors @ turn.T) ** 4).sum()) / len(points)
        for view in views:
            view.vectors[:] += multiply(view.features(local), vectors) / len(points)
        if tell is not None:
            tell(len(local))
    # A row of a partition is a sign for every cell: what it sees is a sum over cells.
    return [view.vectors if view.halfspaces else fwht(view.vectors.T).T for view in views], square, fourth


def _product(device: str | None) -> Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]:
    """Return what multiplies φᵀ·w: (n, M), (n, D) -> (M, D)."""
    if device is None:
        return lambda features, vectors: np.asarray(features.T.astype(np.float64) @ vectors)
    with bringing("torch"):
        import torch

    def multiply(features: NDArray[Any], vectors: NDArray[Any]) -> NDArray[np.float64]:
        left = torch.as_tensor(features, device=device, dtype=torch.float32)
        right = torch.as_tensor(vectors, device=device, dtype=torch.float32)
        return np.asarray((left.T @ right).cpu().numpy(), dtype=np.float64)

    return multiply
