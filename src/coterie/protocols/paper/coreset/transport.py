"""Generalized Monge transport cost (the paper's Definition "Generalized L²₂ Transport Cost").

    mt(Ψ, S, S') = Σ_y w_S(y)·‖Ψ(y) - y‖² + Σ_x |w_S(Ψ⁻¹(x)) - w_S'(x)|        mt(S, S') = min over Ψ

Ψ sends each point whole, so the optimum is an integer program. Some best Ψ sends y to a point of S' or
leaves it where it is: anywhere else y is as unmatched, and has moved besides. With a_yx ∈ {0, 1} for "y goes
to x", e_x for the difference at x and u_y = 1 - Σ_x a_yx for "y stays":

    min Σ a_yx·w(y)‖x-y‖² + Σ e_x + Σ u_y·w(y),   e_x ≥ ±(Σ_y a_yx·w(y) - w'(x))

A y that lies on a point of S' and stays is a_yy = 1, at no distance. For small sets only: splitting weights
in halves of equal sum is a special case, so no fast way is known.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, kron
from scipy.sparse import eye_array as identity

from coterie.errors import DecodeError
from coterie.protocols.paper.coreset.cost import squared_distances
from coterie.protocols.paper.coreset.points import WeightedPointSet

MAX_PAIRS: Final = 1 << 12  # pairs (y, x) of the exact optimum


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
