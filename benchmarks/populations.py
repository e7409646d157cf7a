"""The people of the benchmarks: points of the unit ball, and the means of their groups, if there are any.

A *source* is the data of a study. Where it has as many points as there are people, each is one person; else
people are drawn from it with replacement (real data, and studies of more people than points are kept).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from benchmarks import real_data
from benchmarks.harness import Study
from coterie import Result
from coterie.centers.repeats import own_means
from coterie.datasets import gaussian_mixture
from coterie.metrics import normalized_objective

SAMPLE = 50_000  # points on which the best non-private centers are looked for
_CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class Source:
    """Points, and the true means where there are any."""

    points: NDArray[Any]  # (m, d)
    means: NDArray[np.float64] | None  # (k, d)

    @property
    def dimension(self) -> int:
        """Coordinates of a point (d)."""
        return int(self.points.shape[1])

    def people(self, users: int, seed: int) -> NDArray[Any]:
        """Return one point per person: (n, d)."""
        if users == len(self.points):
            return self.points
        drawn: NDArray[Any] = self.points[
            np.random.default_rng([seed, 2]).integers(len(self.points), size=users)
        ]
        return drawn


def source_of(study: Study, seed: int, folder: Path, size: int | None = None) -> Source:
    """Return the data of a study: `size` points (one per person unless said), or all of a real set."""
    if study.data in real_data.NAMES:
        return Source(real_data.load(study.data, folder), None)
    size = size or study.users
    if study.data == "mixture":
        points, means, _ = gaussian_mixture(
            size, study.dimension, study.clusters, study.separation, seed, dtype=np.float32
        )
        return Source(points, means)
    means, deviations, turns = _groups(study.data, np.random.default_rng([seed, 0]))
    rng = np.random.default_rng([seed, 1])
    points = np.empty((size, means.shape[1]), dtype=np.float32)
    for start in range(0, size, _CHUNK):
        labels = turns[np.arange(start, min(start + _CHUNK, size)) % len(turns)]
        cloud = deviations[labels, None] * rng.standard_normal((len(labels), means.shape[1]))
        points[start : start + _CHUNK] = real_data.clipped(means[labels] + cloud)
    return Source(points, means)


def _groups(
    name: str, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return means (k, d), the deviation of a coordinate in each group (k,), and whose turn it is."""
    if name == "line":  # one dimension
        return np.array([[0.7], [-0.7]]), np.full(2, 0.1), np.arange(2)
    if name == "ring":  # four groups in the plane
        angles = np.arange(4) * math.pi / 2 + 2 * math.pi * rng.random()
        return 0.7 * np.column_stack([np.cos(angles), np.sin(angles)]), np.full(4, 0.1), np.arange(4)
    if name == "near":  # three tight groups 0.03 apart, away from the middle
        angles = np.arange(3) * 2 * math.pi / 3 + 2 * math.pi * rng.random()
        turn = 2 * math.pi * rng.random()
        middle = 0.4 * np.array([math.cos(turn), math.sin(turn)])
        corners = 0.03 / math.sqrt(3) * np.column_stack([np.cos(angles), np.sin(angles)])
        return middle + corners, np.full(3, 0.002), np.arange(3)
    direction = rng.standard_normal(100)
    direction /= np.linalg.norm(direction)
    if name == "ray":  # two tight groups in one direction
        return np.outer([0.3, 0.9], direction), np.full(2, 0.0005), np.arange(2)
    if name == "nested":  # a third of the people in a tight group inside a broad one
        return np.outer([0.6, 0.3], direction), np.array([0.002, 0.03]), np.array([0, 1, 1])
    raise SystemExit(f"no data named {name}")


def non_private(source: Source, clusters: int, seed: int, starts: int = 3) -> NDArray[np.float64]:
    """Return the best centers found in the open, from k-means++ starts and the true means: (k, d)."""
    points = source.points[:SAMPLE]  # groups take turns, so that a stretch of rows is a fair sample
    solvers = [KMeans(clusters, n_init=starts, random_state=seed).fit(points)]
    if source.means is not None and len(source.means) == clusters:
        solvers.append(KMeans(clusters, init=source.means.astype(points.dtype), n_init=1).fit(points))
    best = min(solvers, key=lambda solver: solver.inertia_).cluster_centers_
    return np.asarray(best, dtype=np.float64)


def one_center(points: NDArray[Any]) -> float:
    """Return the cost of the best single center, the mean."""
    return normalized_objective(points, points.mean(axis=0, keepdims=True, dtype=np.float64))


def true_groups(
    result: Result, points: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and share of the people whom each group of a result stands for: (k, d), (k,).

    Those are the people nearest to its center; where no groups are told apart, the first is everybody.
    """
    if np.ptp(result.centers, axis=0).any():  # not everybody's mean over and over
        return own_means((points, np.ones(len(points))), result.centers)
    return np.tile(points.mean(axis=0), (len(result.centers), 1)), np.eye(len(result.centers))[0]


def groups_found(
    centers: NDArray[np.float64], means: NDArray[np.float64], reach: float, *, alone: bool
) -> int:
    """Return how many means have a center (`alone`: just one) within `reach` of the way to the next mean."""
    between = np.linalg.norm(means[:, None] - means, axis=2)
    np.fill_diagonal(between, np.inf)
    near = np.linalg.norm(means[:, None] - centers, axis=2) < reach * between.min(axis=1)[:, None]
    counts = near.sum(axis=1)
    return int(((counts == 1) if alone else (counts >= 1)).sum())
