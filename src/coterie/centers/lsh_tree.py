"""Decoding the `lsh-tree` protocol: table to levels, levels to leaves, leaves to k-means++ (Section 5).

    f̃, ṽ of all nodes -> branch where f̃ ≥ 1.5·⌊n/k⌋ -> each leaf is the point ṽ/f̃, drawn back to the unit
    ball, of weight f̃ -> weighted k-means++ with Lloyd's steps on the leaves

A leaf whose frequency came out at or below zero has no weight and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.aggregate.lsh_tree import LshTreeTable
from coterie.centers.k_means_decoder import Solver, checked_centers
from coterie.centers.result import Population, Result
from coterie.centers.solution import into_ball, weighted_kmeans
from coterie.coreset.cost import nearest
from coterie.oracles.lsh_levels import LevelSums, level_sums
from coterie.plan import Plan
from coterie.tree.lsh_tree import lsh_leaves
from coterie.wire.lsh_tree import lsh_tree_parameters

_CLEAR: Final = 2.0  # standard deviations by which a center's weight must stand out to be supported


@dataclass(frozen=True, slots=True, eq=False)
class LshLeaves:
    """The leaves of a tree as weighted points of the unit ball."""

    points: NDArray[np.float64]  # (m, d)
    weights: NDArray[np.float64]  # (m,), people, positive
    count_deviations: NDArray[np.float64]  # (m,), of the weights
    vector_deviations: NDArray[np.float64]  # (m,), root mean square error of the sums


@dataclass(frozen=True, slots=True, eq=False)
class LshTreeOutcome:
    """What the decoder of `lsh-tree` built: its leaves, and which center each went to."""

    leaves: LshLeaves
    parts: NDArray[np.int64]  # (m,)


def decode_lsh_tree(
    aggregate: Aggregate, generator: np.random.Generator, *, solver: Solver | None = None
) -> Result:
    """Find the centers of an `lsh-tree` aggregate; `solver` stands in for the paper's k-means++."""
    table, plan = cast("LshTreeTable", aggregate.table), aggregate.plan
    leaves = leaves_of(level_sums(table), branch_threshold(plan, aggregate.count))
    points, weights = _enough(leaves, plan.clusters)
    if solver is None:
        labels = weighted_kmeans(points, weights, plan.clusters, generator)
    else:
        solver.fit(points, sample_weight=weights)
        labels = nearest(points, checked_centers(solver, plan.dimension, plan.clusters))
    return _result(aggregate, leaves, labels[: len(leaves.weights)])


def branch_threshold(plan: Plan, count: int) -> float:
    """Return the frequency from which on a node is branched: 1.5·⌊n/k⌋ in the paper."""
    return lsh_tree_parameters(plan).threshold * (count // plan.clusters)


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


def _result(aggregate: Aggregate, leaves: LshLeaves, labels: NDArray[np.int64]) -> Result:
    plan, clusters = aggregate.plan, aggregate.plan.clusters
    members = np.zeros((clusters, len(labels)))
    members[labels, np.arange(len(labels))] = 1.0
    weights = members @ leaves.weights  # (k,)
    centers = members @ (leaves.weights[:, None] * leaves.points) / np.maximum(weights, 1.0)[:, None]
    centers[weights == 0] = leaves.points[leaves.weights.argmax()]
    count_noise = np.sqrt(members @ leaves.count_deviations**2)
    vector_noise = np.sqrt(members @ leaves.vector_deviations**2)
    lengths = np.linalg.norm(centers, axis=1)
    errors = np.minimum(np.hypot(vector_noise, count_noise * lengths) / np.maximum(weights, 1.0), 2.0)
    supported = int(np.count_nonzero((weights > _CLEAR * count_noise) & (weights > 0)))
    middle = np.zeros(plan.dimension) if plan.center is None else np.array(plan.center)
    return Result(
        centers=middle + plan.radius * centers,
        weights=weights / weights.sum(),
        errors=plan.radius * errors,
        supported=supported,
        notes=_notes(plan, supported, errors),
        count=aggregate.count,
        guarantee=plan.guarantee,
        plan_id=plan.id,
        population=Population(
            middle + plan.radius * leaves.points,
            leaves.weights / leaves.weights.sum(),
            plan.study_id,
            (plan.id,),
        ),
        tree=LshTreeOutcome(leaves, labels),
    )


def _notes(plan: Plan, supported: int, errors: NDArray[np.float64]) -> tuple[str, ...]:
    notes = []
    if supported < plan.clusters:
        notes.append(
            f"{supported} of {plan.clusters} centers stand clear of noise; ask for fewer clusters, "
            "collect more reports or use protocol codeword"
        )
    if float(np.sqrt(np.mean(errors**2))) > 0.5:
        notes.append(
            "the centers' errors exceed half the radius of the ball: at this epsilon and number of reports "
            "the algorithm of the paper's experiments says little; protocol codeword needs far fewer reports"
        )
    return tuple(notes)
