"""With a trusted curator: our tree with central noise, and diffprivlib's k-means as a peer.

*Our tree.* The SimHash tree of `lsh-tree`, everybody at the deepest level, vectors lifted by a counting
coordinate. Replacing a person changes one cell's sum by at most 2 or two cells' by 1 each, so Gaussian noise
for sensitivity 2 on the whole table is (ε, δ)-private. Decoding is that of `lsh-tree`.

*diffprivlib* (Holohan et al. 2019) runs Lloyd's steps with a split budget. It is optional: it has not
followed scikit-learn and imports only beside older versions of it, which `coterie[peers]` pins.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.calibration import gaussian_deviation
from benchmarks.baselines.sums import COUNT_SHARE, true_sums
from coterie.centers.refit import weighted_kmeans
from coterie.errors import MissingExtraError
from coterie.geometry.ball import quantize
from coterie.protocols.paper.lsh_tree.decode import leaves_of
from coterie.protocols.paper.lsh_tree.oracle import LevelSums
from coterie.protocols.paper.lsh_tree.simhash import SimHash

DELTA: Final = 1e-6

_LEVELS_BEYOND: Final = 3
_THRESHOLD: Final = 1.5
_PEOPLE_AT_A_TIME: Final = 1 << 14


def central_tree(
    points: NDArray[Any], clusters: int, epsilon: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return centers from our tree with a trusted curator, (n, d) -> (k, d); (ε, 10⁻⁶)-central.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> central_tree(np.repeat([[0.9, 0.0], [-0.9, 0.0]], 5000, axis=0), 2, 1.0, rng).shape
    (2, 2)
    """
    dimension = points.shape[1]
    depth = (clusters - 1).bit_length() + _LEVELS_BEYOND
    hashes = SimHash.from_key(generator.bytes(16), dimension, depth)
    codes = np.concatenate(
        [
            hashes.codes(quantize(points[start : start + _PEOPLE_AT_A_TIME].astype(np.float64), None, 1.0)[0])
            for start in range(0, len(points), _PEOPLE_AT_A_TIME)
        ]
    )
    sums, counts = true_sums(points, codes, 1 << depth)
    deviation = gaussian_deviation(epsilon, DELTA, 2.0)
    point = math.sqrt(1 - COUNT_SHARE**2)  # a
    sums = sums + deviation / point * generator.standard_normal(sums.shape)
    counts = counts + deviation / COUNT_SHARE * generator.standard_normal(counts.shape)
    levels = [LevelSums(counts, sums, deviation / COUNT_SHARE, deviation / point * math.sqrt(dimension))]
    for _ in range(depth - 1):
        below = levels[0]
        levels.insert(
            0,
            LevelSums(
                below.frequencies.reshape(-1, 2).sum(axis=1),
                below.vectors.reshape(-1, 2, dimension).sum(axis=1),
                below.count_deviation * math.sqrt(2),
                below.vector_deviation * math.sqrt(2),
            ),
        )
    leaves = leaves_of(levels, _THRESHOLD * (len(points) // clusters))
    if len(leaves.weights) <= clusters:
        missing = clusters - len(leaves.weights)
        return np.concatenate([leaves.points, np.repeat(leaves.points[:1], missing, axis=0)])
    labels = weighted_kmeans(leaves.points, leaves.weights, clusters, generator)
    weights = np.bincount(labels, weights=leaves.weights, minlength=clusters)
    totals = np.zeros((clusters, dimension))
    np.add.at(totals, labels, leaves.weights[:, None] * leaves.points)
    return totals / np.maximum(weights, 1e-9)[:, None]


def diffprivlib_k_means(
    points: NDArray[Any], clusters: int, epsilon: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return the centers of diffprivlib's central k-means, (n, d) -> (k, d); needs `coterie[peers]`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from diffprivlib.models import KMeans
    except ImportError:
        raise MissingExtraError("diffprivlib", "peers") from None
    box = (-np.ones(points.shape[1]), np.ones(points.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver = KMeans(
            clusters, epsilon=epsilon, bounds=box, random_state=int(generator.integers(1 << 31))
        ).fit(np.asarray(points, dtype=np.float64))
    return np.asarray(solver.cluster_centers_, dtype=np.float64)
