"""Noisy vector sums by bucket under a local budget, from their exact mean and normal limit.

ExplicitHistVector with PrivUnit: every person's answer enters every bucket with a sign, so the sum of bucket
j over n people is Σ_{people of j} w_i + noise, whose coordinates have variance n/(D·m²), m PrivUnit's gain.
It is a sum of n independent bounded vectors; at the sizes of these studies its normal limit is as good as
exact. Vectors are lifted: (a·x, b, rest), so that one sum counts too.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.privunit import PrivUnit

COUNT_SHARE: Final = 0.3  # b


def true_sums(
    points: NDArray[Any], labels: NDArray[Any], buckets: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return vector sums and counts by bucket: (n, d), (n,) -> (buckets, d), (buckets,)."""
    from scipy.sparse import csr_array

    people = len(points)
    members = csr_array(
        (np.ones(people, dtype=points.dtype), (labels, np.arange(people))), shape=(buckets, people)
    )
    return np.asarray(members @ points, dtype=np.float64), np.bincount(labels, minlength=buckets).astype(
        float
    )


def local_sums(
    points: NDArray[Any],
    labels: NDArray[Any],
    buckets: int,
    epsilon: float,
    generator: np.random.Generator,
    *,
    count_share: float = COUNT_SHARE,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return noisy vector sums (buckets, d) and counts (buckets,) that n people give at local ε.

    With `count_share` 0 the counts are the true ones: for a bound.
    """
    people, dimension = points.shape
    sums, counts = true_sums(points, labels, buckets)
    lifted = dimension + (2 if count_share else 1)
    deviation = math.sqrt(people / lifted) / PrivUnit.best(lifted, epsilon).gain
    sums = sums + deviation / math.sqrt(1 - count_share**2) * generator.standard_normal(sums.shape)
    if count_share:
        counts = counts + deviation / count_share * generator.standard_normal(counts.shape)
    return sums, counts


def known_partition(
    points: NDArray[Any], labels: NDArray[Any], clusters: int, epsilon: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return means that are off only by the noise of k vector sums at full ε: the clusters are known.

    The bound for a scheme of one linear level that has to find the clusters first.
    """
    sums, counts = local_sums(points, labels, clusters, epsilon, generator, count_share=0.0)
    return sums / np.maximum(counts, 1.0)[:, None]
