"""kMeansDecoder (the paper's Algorithm 4): reports in, k centers out.

    f̃, ṽ from the reports -> T = BuildTree(f̃) -> centers c' of S_T in the projected space by any solver 𝒜
    -> φ: each leaf to its closest c'_j -> ṽ^j = Σ ṽ_z, ñ^j = Σ f̃_z over the leaves of part j
    -> c_j = ṽ^j / max{1, ñ^j}, drawn back to the unit ball

With the plan's strays at 0 this is the paper's decoder to the letter: all leaves count, ñ unclamped. With
strays > 0 (`constants="practical"`) frequencies that noise alone explains count as zero, expansions that lost
their people are undone (`coterie.tree.prune`), and only the leaves above the floor are pooled: hundreds of
empty leaves would bury ñ and ṽ under their noise. All of it is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from coterie.aggregate.net_tree import NetTreeTable
from coterie.coreset.cost import nearest
from coterie.coreset.points import WeightedPointSet
from coterie.coreset.representative import representative_point_set
from coterie.errors import DecodeError
from coterie.geometry.nets import NetFamily
from coterie.oracles.base import FrequencyOracle, VectorSumOracle
from coterie.oracles.explicit_hist import ExplicitHist
from coterie.oracles.explicit_hist_vector import ExplicitHistVector
from coterie.oracles.signs import PathMasks
from coterie.plan import Plan
from coterie.randomizers.sphere import djw_norm
from coterie.tree.build import BuildParameters, WeighedTree, build_tree
from coterie.tree.net_tree import NetTree
from coterie.tree.prune import pruned
from coterie.wire.net_tree import NetTreeStream, net_tree_numbers, unpack_answers
from coterie.wire.stream import ID_BYTES

_REPORTS_AT_A_TIME = 1 << 16


class Solver(Protocol):
    """A k-means solver in scikit-learn's manner (𝒜): `KMeans`, `MiniBatchKMeans` and the like."""

    cluster_centers_: NDArray[np.float64]

    def fit(self, X: NDArray[np.float64], y: None = None, sample_weight: NDArray[np.float64] | None = None) -> object:
        """Find centers of weighted points."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class NetTreeOutcome:
    """What kMeansDecoder finds.

    Attributes
    ----------
    centers : ndarray of float64, shape (k, d)
        In units of the public ball: inside the unit ball around its center.
    weights : ndarray of float64, shape (k,)
        ñ of each part, unclamped.
    tree : NetTree
        The tree that was built.
    coreset : WeightedPointSet
        S_T in the projected, scaled space.
    projected_centers : ndarray of float64, shape (k, d')
        What the solver found on the coreset.
    parts : ndarray of int64, shape (leaves,)
        φ: the part of each leaf.
    """

    centers: NDArray[np.float64]
    weights: NDArray[np.float64]
    tree: NetTree
    coreset: WeightedPointSet
    projected_centers: NDArray[np.float64]
    parts: NDArray[np.int64]


def nets_of(plan: Plan) -> NetFamily:
    """Return the plan's nets, the same that its encoder uses."""
    numbers = net_tree_numbers(plan)
    return NetFamily.from_key(plan.public_key("net"), numbers.projected, numbers.levels, numbers.ratio)


def oracles_of(table: NetTreeTable) -> tuple[ExplicitHist, ExplicitHistVector]:
    """Return the two oracles of the reports in a table."""
    plan = table.plan
    numbers = net_tree_numbers(plan)
    reports = table.reports
    people, levels = len(reports), numbers.levels
    stream = NetTreeStream(plan)
    ids = np.ascontiguousarray(reports[:, :ID_BYTES])
    counts = np.empty((levels, people), dtype=np.int8)
    vectors = np.empty((levels, people), dtype=np.int8)
    masks = PathMasks(np.empty(people, dtype=np.int64), np.empty((people, levels), dtype=np.int64, order="F"))
    for start in range(0, people, _REPORTS_AT_A_TIME):
        piece = slice(start, start + _REPORTS_AT_A_TIME)
        choices = stream.choices(ids[piece])
        answers = unpack_answers(reports[piece], levels)
        counts[:, piece] = (answers[:, :levels] * choices.count_signs).T
        vectors[:, piece] = (answers[:, levels:] * choices.vector_signs).T
        masks.root[piece], masks.digits[piece] = choices.root_masks, choices.digit_masks
    digit_bits = (numbers.ratio**numbers.projected - 1).bit_length()
    return (
        ExplicitHist(counts, masks, numbers.count_response, digit_bits),
        ExplicitHistVector(
            vectors,
            masks,
            djw_norm(stream.lifted, numbers.vector_response.scale),
            lambda piece, level: stream.directions(ids[piece], level),
            digit_bits,
            plan.dimension,
        ),
    )


def k_means_decoder(
    nets: NetFamily,
    frequencies: FrequencyOracle,
    vectors: VectorSumOracle,
    parameters: BuildParameters,
    *,
    solver: Solver | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> NetTreeOutcome:
    """Build the tree, cluster its coreset, and average each part in the original space (kMeansDecoder).

    Parameters
    ----------
    nets : NetFamily
        L_0, …, L_T.
    frequencies, vectors : FrequencyOracle, VectorSumOracle
        f̃ and ṽ.
    parameters : BuildParameters
        k, a, Γ and the strays.
    solver : Solver, optional
        𝒜; by default scikit-learn's KMeans with ten starts.
    random_state : int, RandomState or None
        The analyst's seed, for the default solver.
    """
    weighed = build_tree(nets, frequencies, parameters)
    if parameters.strays > 0:
        weighed = pruned(weighed)
    noisy, weights = weighed.leaf_frequencies(), weighed.leaf_weights()
    coreset = representative_point_set(weighed.tree, weights)
    found = _solve(coreset, noisy, parameters.clusters, solver, random_state)
    parts = nearest(coreset.points, found)
    pooled = weights > 0 if parameters.strays > 0 else np.ones(len(parts), dtype=np.bool_)
    count = len(found)
    part_sums = _part_sums(weighed, vectors, parts, pooled, count)
    part_weights = np.bincount(parts[pooled], weights=noisy[pooled], minlength=count)
    centers = part_sums / np.maximum(1.0, part_weights)[:, None]
    lengths = np.linalg.norm(centers, axis=1, keepdims=True)
    centers = centers / np.maximum(1.0, lengths)
    return NetTreeOutcome(centers, part_weights, weighed.tree, coreset, found, parts)


def decode_net_tree(
    table: NetTreeTable,
    *,
    parameters: BuildParameters | None = None,
    solver: Solver | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> NetTreeOutcome:
    """Decode the reports of a table; `parameters` are the plan's unless given."""
    if not table.count:
        raise DecodeError("there are no reports to decode")
    if parameters is None:
        parameters = parameters_of(table.plan)
    frequencies, vectors = oracles_of(table)
    return k_means_decoder(
        nets_of(table.plan), frequencies, vectors, parameters, solver=solver, random_state=random_state
    )


def parameters_of(plan: Plan) -> BuildParameters:
    """Return the plan's parameters of BuildTree."""
    numbers = net_tree_numbers(plan)
    return BuildParameters(plan.clusters, numbers.expansion, numbers.rounds, numbers.strays)


def _solve(
    coreset: WeightedPointSet,
    noisy: NDArray[np.float64],
    clusters: int,
    solver: Solver | None,
    random_state: int | np.random.RandomState | None,
) -> NDArray[np.float64]:
    """Return the centers that 𝒜 finds on the coreset, (k', d')."""
    points, weights = coreset.points, coreset.weights.copy()
    # 𝒜 needs at least k points: where fewer have weight, the heaviest of the others get next to none.
    if np.count_nonzero(weights) < clusters:
        top = np.argsort(-noisy, kind="stable")[:clusters]
        weights[top] = np.maximum(weights[top], 1e-6)
    kept = weights > 0
    if solver is None:
        clusters = min(clusters, int(kept.sum()))
        solver = cast("Solver", KMeans(clusters, n_init=10, random_state=random_state))
    solver.fit(points[kept], sample_weight=weights[kept])
    found = np.asarray(solver.cluster_centers_, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != points.shape[1] or not np.isfinite(found).all():
        raise DecodeError(f"the solver's cluster_centers_ must be finite, (k, {points.shape[1]}), got {found.shape}")
    return found


def _part_sums(
    weighed: WeighedTree,
    vectors: VectorSumOracle,
    parts: NDArray[np.int64],
    pooled: NDArray[np.bool_],
    count: int,
) -> NDArray[np.float64]:
    """Return ṽ^j: the vector sums over the pooled leaves of each part, (count, d)."""
    total: NDArray[np.float64] | None = None
    before = 0
    for number, level, where in weighed.tree.leaves():
        mine = slice(before, before + len(where))
        before += len(where)
        kept = pooled[mine]
        sums = vectors.part_sums(number, level.paths[where][kept], parts[mine][kept], count)
        total = sums if total is None else total + sums
    if total is None:
        raise DecodeError("a tree without leaves cannot be decoded")
    return total
