"""The naive way: every person adds noise to the own point, the server runs k-means++ on what arrives.

    gaussian   (ε, δ)-local: N(0, σ²) in every coordinate, sensitivity 2 in L2
    laplace    ε-local: Laplace of scale 2√d/ε in every coordinate, sensitivity 2√d in L1
    privunit   ε-local: the unbiased unit-vector randomizer of smallest variance

The paper's footnote says that this finds nothing at n = 10⁶, and so it is: the noise of a point is some 25
times as long as the point, and the closest center to it is a matter of chance. Centers are drawn back to the
unit ball at the end, which is free and helps a little.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.calibration import gaussian_deviation
from benchmarks.baselines.in_the_open import lloyd
from benchmarks.baselines.privunit import PrivUnit
from coterie.centers.solution import into_ball

DELTA: Final = 1e-6

_PEOPLE_AT_A_TIME: Final = 1 << 14
_SAMPLE: Final = 20_000  # people that k-means++ draws its start from
_STEPS: Final = 5  # of Lloyd on everybody: on noise further ones change nothing that matters

Randomize = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def gaussian(
    points: NDArray[Any], clusters: int, epsilon: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return centers from points with Gaussian noise, (n, d) -> (k, d); (ε, 10⁻⁶)-local."""
    deviation = gaussian_deviation(epsilon, DELTA, 2.0)
    return _cluster(points, clusters, generator, lambda x: x + deviation * generator.standard_normal(x.shape))


def laplace(
    points: NDArray[Any], clusters: int, epsilon: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return centers from points with Laplace noise, (n, d) -> (k, d); ε-local."""
    scale = 2 * math.sqrt(points.shape[1]) / epsilon
    return _cluster(points, clusters, generator, lambda x: x + generator.laplace(scale=scale, size=x.shape))


def privunit(
    points: NDArray[Any], clusters: int, epsilon: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return centers from PrivUnit-randomized points, (n, d) -> (k, d); ε-local."""
    mechanism = PrivUnit.best(points.shape[1] + 1, epsilon)

    def randomize(x: NDArray[np.float64]) -> NDArray[np.float64]:
        filler = np.sqrt(np.maximum(0.0, 1 - np.einsum("ij,ij->i", x, x)))
        unit = np.column_stack([x, filler])
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        return mechanism.simulate(unit, generator)[:, :-1]

    return _cluster(points, clusters, generator, randomize)


def _cluster(
    points: NDArray[Any], clusters: int, generator: np.random.Generator, randomize: Randomize
) -> NDArray[np.float64]:
    from sklearn.cluster import kmeans_plusplus

    noisy = np.empty(points.shape, dtype=np.float32)
    for start in range(0, len(points), _PEOPLE_AT_A_TIME):
        piece = slice(start, start + _PEOPLE_AT_A_TIME)
        noisy[piece] = randomize(points[piece].astype(np.float64))
    some = noisy[generator.choice(len(noisy), min(_SAMPLE, len(noisy)), replace=False)]
    start, _ = kmeans_plusplus(some, clusters, random_state=int(generator.integers(1 << 31)))
    centers = lloyd(noisy, start, _STEPS)
    return into_ball(centers)
