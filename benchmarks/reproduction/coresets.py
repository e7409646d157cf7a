"""What the paper says of weighted point sets: k-means cost, the coreset inequality, transport.

    cost_S(C)     = Σ w(x)·min_{c∈C} ‖x - c‖²
    cost_S(φ, C)  = Σ w(x)·‖x - c_φ(x)‖²          cost_S(φ) = min over C, attained at the parts' means
    S' is a (k, γ, t)-coreset of S when, for every C of k centers,
                    (1-γ)·cost_S(C) - t ≤ cost_S'(C) ≤ (1+γ)·cost_S(C) + t

The definition speaks of every C; `coreset_excess` measures it on the sets of centers it is given, so a
positive number refutes a coreset and a number ≤ 0 is evidence for one.

Generalized Monge transport cost (the paper's Definition "Generalized L²₂ Transport Cost"):

    mt(Ψ, S, S') = Σ_y w_S(y)·‖Ψ(y) - y‖² + Σ_x |w_S(Ψ⁻¹(x)) - w_S'(x)|        mt(S, S') = min over Ψ

Ψ sends each point whole, so the optimum is an integer program. Some best Ψ sends y to a point of S' or
leaves it where it is: anywhere else y is as unmatched, and has moved besides. With a_yx ∈ {0, 1} for "y goes
to x", e_x for the difference at x and u_y = 1 - Σ_x a_yx for "y stays":

    min Σ a_yx·w(y)‖x-y‖² + Σ e_x + Σ u_y·w(y),   e_x ≥ ±(Σ_y a_yx·w(y) - w'(x))

A y that lies on a point of S' and stays is a_yy = 1, at no distance. For small sets only: splitting weights
in halves of equal sum is a special case, so no fast way is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, kron
from scipy.sparse import eye_array as identity

from coterie.errors import DecodeError
from coterie.protocols.paper.coreset import WeightedPointSet, squared_distances
from coterie.protocols.paper.tree.net_tree import NetTree

MAX_PAIRS: Final = 1 << 12  # pairs (y, x) of the exact optimum


def cost(points: WeightedPointSet, centers: NDArray[np.float64]) -> float:
    """Return the k-means cost of centers (k, d).

    Examples
    --------
    >>> people = WeightedPointSet.of([[0.0], [1.0], [4.0]])
    >>> cost(people, np.array([[0.5], [4.0]]))
    0.5
    """
    return float(points.weights @ squared_distances(points.points, centers).min(axis=1))


def partition_cost(
    points: WeightedPointSet, parts: NDArray[np.int64], centers: NDArray[np.float64] | None = None
) -> float:
    """Return the cost of a partition.

    Parameters
    ----------
    points : WeightedPointSet
        m points.
    parts : ndarray of int64, shape (m,)
        φ: the number of each point's part.
    centers : ndarray of float64, shape (k, d), optional
        The parts' centers; by default their means, which cost least.
    """
    if parts.shape != (len(points),):
        raise DecodeError(f"parts must have shape ({len(points)},), got {parts.shape}")
    if centers is None:
        centers = partition_means(points, parts, int(parts.max(initial=0)) + 1)
    away = points.points - centers[parts]
    return float(points.weights @ np.einsum("ij,ij->i", away, away))


def partition_means(points: WeightedPointSet, parts: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return the mean of every part, (count, d); zero for a part without weight."""
    masses = np.bincount(parts, weights=points.weights, minlength=count)
    sums = np.zeros((count, points.points.shape[1]))
    np.add.at(sums, parts, points.weights[:, None] * points.points)
    return sums / np.where(masses > 0, masses, 1.0)[:, None]


def coreset_excess(
    candidate: WeightedPointSet,
    original: WeightedPointSet,
    center_sets: Iterable[NDArray[np.float64]],
    gamma: float,
    slack: float = 0.0,
) -> float:
    """Return by how much `candidate` misses being a (k, γ, t)-coreset on the given centers.

    Parameters
    ----------
    candidate, original : WeightedPointSet
        S' and S.
    center_sets : iterable of ndarray, shape (k, d)
        The sets of centers C to try.
    gamma, slack : float
        γ and t of the definition.

    Returns
    -------
    float
        The largest excess over either side of the inequality; at most zero when all of them hold.

    Examples
    --------
    >>> people = WeightedPointSet.of([[0.0], [0.2], [1.0]])
    >>> rounded = WeightedPointSet.of([[0.1], [1.0]], [2.0, 1.0])
    >>> coreset_excess(rounded, people, [np.array([[0.0]]), np.array([[0.5]])], 0.1) <= 0
    True
    """
    worst = -np.inf
    for centers in center_sets:
        true, seen = cost(original, centers), cost(candidate, centers)
        worst = max(worst, (1 - gamma) * true - slack - seen, seen - (1 + gamma) * true - slack)
    return worst


def leaf_indices(tree: NetTree, places: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the index of each place's leaf, in the order of `NetTree.leaf_points`: (n, d) -> (n,)."""
    index: dict[tuple[int, ...], int] = {}
    for number, level, where in tree.leaves():
        for name in level.names[where].tolist():
            index[number, *name] = len(index)
    found = np.full(len(places), -1 if tree.nodes > 1 else 0, dtype=np.int64)  # the root alone
    for number, names in enumerate(tree.nets.representatives(places), 1):
        here = [index.get((number, *name), -1) for name in names.tolist()]
        found = np.where(found < 0, here, found)
    return found


def images_in(tree: NetTree, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Ψ_T: where each place's leaf lies, (n, d) -> (n, d)."""
    return tree.leaf_points()[leaf_indices(tree, places)]


def transport_cost(images: NDArray[np.float64], source: WeightedPointSet, target: WeightedPointSet) -> float:
    """Return mt(Ψ, S, S') of the mapping that sends source point i to row i of `images`, (m, d).

    Examples
    --------
    >>> source = WeightedPointSet.of([[0.0], [1.0]])
    >>> target = WeightedPointSet.of([[0.5]], [2.5])
    >>> transport_cost(np.array([[0.5], [0.5]]), source, target)
    1.0
    """
    if images.shape != source.points.shape:
        raise DecodeError(f"images must have shape {source.points.shape}, got {images.shape}")
    away = images - source.points
    moved = float(source.weights @ np.einsum("ij,ij->i", away, away))
    # One list of places; arrived mass counts up, wanted mass counts down.
    places = np.concatenate([images, target.points])
    masses = np.concatenate([source.weights, -target.weights])
    _, group = np.unique(places, axis=0, return_inverse=True)
    return moved + float(np.abs(np.bincount(group.reshape(-1), masses)).sum())


def optimal_transport(
    source: WeightedPointSet, target: WeightedPointSet
) -> tuple[float, NDArray[np.float64]]:
    """Return mt(S, S') and a mapping that attains it, exactly, for small sets.

    Parameters
    ----------
    source, target : WeightedPointSet
        S with m points and S' with m' points, m·m' at most 4096.

    Returns
    -------
    cost : float
        mt(S, S').
    images : ndarray of float64, shape (m, d)
        Where the best mapping sends each source point.

    Examples
    --------
    >>> source = WeightedPointSet.of([[0.0], [0.9]])
    >>> target = WeightedPointSet.of([[0.1], [1.0]])
    >>> round(optimal_transport(source, target)[0], 6)
    0.02
    """
    people, places = len(source), len(target)
    if people * places > MAX_PAIRS:
        raise DecodeError(
            f"the exact optimum is for small sets, at most {MAX_PAIRS} pairs of points; "
            f"got {people} times {places}. transport_cost gives the cost of one mapping of any size"
        )
    if not people or not places:
        return source.total + target.total, source.points.copy()
    distances = squared_distances(source.points, target.points)  # (m, m')
    # Moving y to x instead of leaving it costs w·‖x-y‖² and saves the penalty w; the constant Σ w
    # changes nothing.
    pairs = (source.weights[:, None] * (distances - 1.0)).reshape(-1)
    arrives = kron(source.weights[None, :], identity(places))  # (m', m·m')
    each_once = kron(identity(people), np.ones((1, places)))  # (m, m·m')
    slack = identity(places)
    blocks: Any = [[each_once, None], [arrives, -slack], [arrives, slack]]
    low = np.concatenate([np.zeros(people), np.full(places, -np.inf), target.weights])
    high = np.concatenate([np.ones(people), target.weights, np.full(places, np.inf)])
    solved = milp(
        np.concatenate([pairs, np.ones(places)]),
        constraints=LinearConstraint(block_array(blocks, format="csr"), low, high),
        integrality=np.concatenate([np.ones(people * places), np.zeros(places)]),
        bounds=Bounds(0, np.concatenate([np.ones(people * places), np.full(places, np.inf)])),
        options={"mip_rel_gap": 0.0},
    )
    if solved.x is None:
        raise DecodeError(f"the solver found no optimum: {solved.message}")
    chosen = solved.x[: people * places].reshape(people, places)
    images = source.points.copy()
    goes = chosen.max(axis=1) > 0.5
    images[goes] = target.points[chosen[goes].argmax(axis=1)]
    return transport_cost(images, source, target), images
