"""Data for simulations and benchmarks: the paper's Gaussian mixture and small sets that scikit-learn ships.

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


def iris() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return scikit-learn's 150 irises: four lengths in centimetres (150, 4), and which species.

    Examples
    --------
    >>> iris()[0].shape
    (150, 4)
    """
    from sklearn.datasets import load_iris

    points, labels = load_iris(return_X_y=True)
    return points.astype(np.float64), labels.astype(np.int64)


def into_unit_ball(points: NDArray[Any]) -> NDArray[np.float64]:
    """Shift the mean to the origin and scale the farthest point onto the unit sphere: (n, d) -> (n, d).

    For benchmarks: shift and scale are taken from the points and are not private.

    Examples
    --------
    >>> into_unit_ball(np.array([[1.0, 0.0], [5.0, 0.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    shifted: NDArray[np.float64] = points - points.mean(axis=0, dtype=np.float64)
    largest = np.linalg.norm(shifted, axis=1).max(initial=0.0)
    return shifted / largest if largest > 0 else shifted


def resample_to_users(points: NDArray[Any], n: int, random_state: RandomState = None) -> NDArray[Any]:
    """Draw n rows with replacement, one a simulated person: (m, d) -> (n, d).

    Examples
    --------
    >>> resample_to_users(iris()[0], 1000, random_state=0).shape
    (1000, 4)
    """
    n = checked_integer("n", n, 1, MOST_PEOPLE)
    if points.ndim != 2 or not len(points):
        raise PointError(f"points must have shape (m, d) with m >= 1, got shape {points.shape}")
    return points[np.random.default_rng(random_state).integers(len(points), size=n)]
