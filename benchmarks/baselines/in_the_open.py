"""Without privacy: k-means with everybody's points in the open, and one center for all."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

_SAMPLE: Final = 20_000  # people to try the starts on
_STARTS: Final = 5
_STEPS: Final = 10  # of Lloyd on everybody, from the best start


def k_means(points: NDArray[Any], clusters: int, seed: int) -> NDArray[np.float64]:
    """Return the centers of k-means in the open, (n, d) -> (k, d): best start on a sample, then everybody.

    Examples
    --------
    >>> k_means(np.repeat([[0.0], [1.0]], 50, axis=0), 2, seed=0).round(3).tolist()
    [[1.0], [0.0]]
    """
    some = np.random.default_rng(seed).choice(len(points), min(_SAMPLE, len(points)), replace=False)
    start = KMeans(clusters, n_init=_STARTS, random_state=seed).fit(points[some]).cluster_centers_
    return lloyd(points, start)


def lloyd(points: NDArray[Any], start: NDArray[Any], steps: int = _STEPS) -> NDArray[np.float64]:
    """Return the centers after a few of Lloyd's steps from given ones: (n, d), (k, d) -> (k, d)."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    solver = KMeans(len(start), init=start.astype(points.dtype), n_init=1, max_iter=steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        centers: NDArray[np.float64] = solver.fit(points).cluster_centers_.astype(np.float64)
    return centers


def one_center(points: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean, the best single center: (n, d) -> (1, d)."""
    mean: NDArray[np.float64] = points.mean(axis=0, dtype=np.float64)[None]
    return mean
