"""Decoding the `lsh-tree` protocol: table to levels, levels to leaves, leaves to k-means++ (Section 5).

    f̃, ṽ of all nodes -> branch where f̃ ≥ 1.5·⌊n/k⌋ -> each leaf is the point ṽ/f̃, drawn back to the unit
    ball, of weight f̃ -> weighted k-means++ with Lloyd's steps on the leaves

A leaf whose frequency came out at or below zero has no weight and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.centers.refit import weighted_kmeans
from coterie.centers.solution import Solution, into_ball
from coterie.plain.checks import checked_real
from coterie.protocols.paper.coreset import nearest
from coterie.protocols.paper.k_means import Solver, checked_centers
from coterie.protocols.paper.lsh_tree.oracle import LevelSums, level_sums
from coterie.protocols.paper.lsh_tree.table import LshTreeTable
from coterie.protocols.paper.lsh_tree.tree import lsh_leaves
from coterie.protocols.paper.parts import solution_of_parts

THRESHOLD: Final = 1.5  # times ⌊n/k⌋, the paper's


class LshLeaves(NamedTuple):
    """The leaves of a tree as weighted points of the unit ball."""

    points: NDArray[np.float64]  # (m, d)
    weights: NDArray[np.float64]  # (m,), people, positive
    count_deviations: NDArray[np.float64]  # (m,), of the weights
    vector_deviations: NDArray[np.float64]  # (m,), root mean square error of the sums


class LshTreeOutcome(NamedTuple):
    """What the decoder of `lsh-tree` built: its leaves, and which center each went to."""

    leaves: LshLeaves
    parts: NDArray[np.int64]  # (m,)


def decode_lsh_tree(
    tables: Sequence[Aggregate],
    clusters: int,
    rng: np.random.Generator,
    *,
    solver: Solver | None = None,
    threshold: float = THRESHOLD,
) -> Solution:
    """Find the centers of an `lsh-tree` table; `solver` stands in for the paper's k-means++.

    A node is branched where its noisy frequency is at least `threshold` times ⌊n/k⌋.
    """
    table, plan = cast("LshTreeTable", tables[-1].table), tables[-1].plan
    times = checked_real("threshold", threshold, 0.0, 1e9)
    leaves = leaves_of(level_sums(table), times * (table.count // plan.clusters))
    points, weights = _enough(leaves, clusters)
    if solver is None:
        labels = weighted_kmeans(points, weights, clusters, rng)
    else:
        solver.fit(points, sample_weight=weights)
        labels = nearest(points, checked_centers(solver, plan.dimension, clusters))
    return _solution(leaves, labels[: len(leaves.weights)], clusters)


def leaves_of(levels: list[LevelSums], threshold: float) -> LshLeaves:
    """Build the tree and return its leaves of positive weight."""
    found = lsh_leaves([level.frequencies for level in levels], threshold)
    weights = np.concatenate([level.frequencies[codes] for level, codes in zip(levels, found, strict=True)])
    sums = np.concatenate([level.vectors[codes] for level, codes in zip(levels, found, strict=True)])
    sizes = [len(codes) for codes in found]
    counts = np.repeat([level.count_deviation for level in levels], sizes)
    vectors = np.repeat([level.vector_deviation for level in levels], sizes)
    kept = weights > 0
    if not kept.any():  # nothing but noise: the heaviest leaf stands for all
        kept[weights.argmax()] = True
    weights = np.maximum(weights[kept], 1.0)
    return LshLeaves(into_ball(sums[kept] / weights[:, None]), weights, counts[kept], vectors[kept])


def _enough(leaves: LshLeaves, clusters: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Repeat the heaviest leaf, at next to no weight, where there are fewer leaves than clusters."""
    missing = max(clusters - len(leaves.weights), 0)
    heaviest = leaves.points[[leaves.weights.argmax()]]
    return (
        np.concatenate([leaves.points, np.repeat(heaviest, missing, axis=0)]),
        np.concatenate([leaves.weights, np.full(missing, 1e-9)]),
    )


def _solution(leaves: LshLeaves, labels: NDArray[np.int64], clusters: int) -> Solution:
    members = np.zeros((clusters, len(labels)))
    members[labels, np.arange(len(labels))] = 1.0
    weights = members @ leaves.weights  # (k,)
    centers = members @ (leaves.weights[:, None] * leaves.points) / np.maximum(weights, 1.0)[:, None]
    centers[weights == 0] = leaves.points[leaves.weights.argmax()]
    noise = (
        np.sqrt(members @ leaves.count_deviations**2),
        np.sqrt(members @ leaves.vector_deviations**2),
    )
    population = (leaves.points, leaves.weights / leaves.weights.sum())
    return solution_of_parts(centers, weights, noise, population, LshTreeOutcome(leaves, labels))
