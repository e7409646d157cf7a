"""Data for simulations and benchmarks: the paper's Gaussian mixture, and the digits that scikit-learn ships.

The mixture (Section 5 of the paper), for k clusters and separation r in dimension d:

    centers    uniform on the sphere of radius 1 - 1/r    (the text's "1 - Θ(r)" is a slip)
    points     center + σ·g, g standard normal, n/k to a center; σ such that E‖σ·g‖ = 1/r exactly:
               E‖g‖ = √2·Γ((d+1)/2)/Γ(d/2), so σ = 1/(r·E‖g‖), a little more than 1/(r·√d)
    ball       points outside the unit ball are projected onto its surface

Nothing here is fetched from a network.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from coterie.errors import PointError
from coterie.plain.checks import MOST_PEOPLE, checked_integer, checked_real
from coterie.plain.pieces import pieces
from coterie.plan.public import MAX_CLUSTERS, MAX_DIMENSION

RandomState = int | np.random.Generator | None

_CHUNK: Final = 1 << 14  # points moved at a time


def gaussian_mixture(
    n: int,
    dimension: int,
    clusters: int,
    separation: float,
    random_state: RandomState = None,
    *,
    dtype: DTypeLike = np.float64,
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.int64]]:
    """Make the paper's mixture of Gaussians in the unit ball.

    Parameters
    ----------
    n : int
        Number of points, at least `clusters`. Where `clusters` does not divide it, the first get one more.
    dimension, clusters : int
        d and k.
    separation : float
        r, at least 1: the cloud around a center has expected radius 1/r. The paper uses 100.
    random_state : int, numpy Generator or None
        The analyst's seed.
    dtype : numpy dtype
        float64 or float32 for the points.

    Returns
    -------
    points : ndarray, shape (n, d)
        Clusters take turns, so that every stretch of rows holds them all.
    true_centers : ndarray of float64, shape (k, d)
        The centers drawn. (Projection into the ball moves the means a little inward.)
    labels : ndarray of int64, shape (n,)
        Which center each point was made from.

    Examples
    --------
    >>> points, true_centers, labels = gaussian_mixture(1000, 100, 8, separation=8, random_state=0)
    >>> points.shape, true_centers.shape, np.bincount(labels).tolist()
    ((1000, 100), (8, 100), [125, 125, 125, 125, 125, 125, 125, 125])
    """
    dimension = checked_integer("dimension", dimension, 1, MAX_DIMENSION)
    clusters = checked_integer("clusters", clusters, 1, MAX_CLUSTERS)
    n = checked_integer("n", n, clusters, MOST_PEOPLE)
    separation = checked_real("separation", separation, 1.0, 1e12)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise PointError(f"dtype must be float32 or float64, got {np.dtype(dtype)}")
    generator = np.random.default_rng(random_state)

    directions = generator.standard_normal((clusters, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    true_centers = (1 - 1 / separation) * directions
    labels = np.arange(n) % clusters
    deviation = 1 / (separation * mean_norm(dimension))  # σ
    points = np.empty((n, dimension), dtype=dtype)
    for piece in pieces(n, _CHUNK):
        cloud = deviation * generator.standard_normal((len(labels[piece]), dimension))
        cloud += true_centers[labels[piece]]
        points[piece] = cloud / np.maximum(np.linalg.norm(cloud, axis=1, keepdims=True), 1)
    return points, true_centers, labels


def mean_norm(dimension: int) -> float:
    """Return E‖g‖ = √2·Γ((d+1)/2)/Γ(d/2) of a standard normal vector g.

    Examples
    --------
    >>> round(mean_norm(1), 6), round(mean_norm(100), 4)  # √(2/π), a little below 10
    (0.797885, 9.975)
    """
    return math.sqrt(2) * math.exp(math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2))


def digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return scikit-learn's 1,797 handwritten digits: pixels (1797, 64) from 0 to 16, and which digit.

    Examples
    --------
    >>> points, labels = digits()
    >>> points.shape, len(set(labels.tolist()))
    ((1797, 64), 10)
    """
    from sklearn.datasets import load_digits

    points, labels = load_digits(return_X_y=True)
    return points.astype(np.float64), labels.astype(np.int64)
