"""kMeansDecoder (the paper's Algorithm 4): two oracles in, k centers out.

    f̃, ṽ -> T = BuildTree(f̃) -> centers c' of S_T in the projected space by any solver 𝒜
    -> φ: each leaf to its closest c'_j -> ṽ^j = Σ ṽ_z, ñ^j = Σ f̃_z over the leaves of part j
    -> c_j = ṽ^j / max{1, ñ^j}, drawn back to the unit ball

With strays at 0 this is the paper's decoder to the letter: all leaves count, ñ unclamped. Where it chooses 𝒜
itself and all nodes are expanded, it exchanges leaves by unclamped counts, too
(`paper.approximation`). With strays > 0
(`constants="practical"`) frequencies that noise alone explains count as zero, expansions that lost their
people are undone (`paper.tree.prune`), and only the leaves above the floor are pooled: hundreds of empty
leaves would bury ñ and ṽ under their noise. Where the oracle's vectors are lifted to length 1, ñ is the
length of a part's sum, and a leaf must stand above the noise in its other coordinates, too: one that only
its count makes a leaf would take a center from people; and centers are shrunk outside the directions in which
people's second moment stands clear. All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.cluster import KMeans

from coterie.centers.tight.subspace import shrink_in_blocks, signal_subspace
from coterie.errors import DecodeError
from coterie.protocols.paper.coreset import WeightedPointSet, nearest, representative_point_set
from coterie.protocols.paper.local_search import LocalSearch, exchange
from coterie.protocols.paper.nets.nets import NetFamily
from coterie.protocols.paper.tree.build import BuildParameters, WeighedTree, build_tree
from coterie.protocols.paper.tree.net_tree import NetTree
from coterie.protocols.paper.tree.oracle import (
    FrequencyOracle,
    LiftedSumOracle,
    SharedRowOracle,
    VectorSumOracle,
)
from coterie.protocols.paper.tree.prune import pruned

_DOUBT: Final = 2.0  # deviations by which counts must exceed lengths before parts are taken to be broad
_STRAY: Final = 0.01  # chance that an empty leaf stands clear by the coordinates that do not count
_LEAST: Final = 0.01  # of the deviation of all leaves' count: less than that an exchange need not gain
_LOOSEST: Final = 1.5  # by which a broad part's sum may be shorter than its people are many


class Solver(Protocol):
    """A k-means solver in scikit-learn's manner (𝒜): `KMeans`, `MiniBatchKMeans` and the like."""

    cluster_centers_: NDArray[np.float64]

    def fit(
        self, X: NDArray[np.float64], y: None = None, sample_weight: NDArray[np.float64] | None = None
    ) -> object:
        """Find centers of weighted points."""


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
    pooled : ndarray of bool, shape (leaves,)
        Which leaves were added up; all of them in the paper, but one where several share a row.
    shared : int
        Leaves whose people, if they have any, are counted at another leaf that shares their row.
    """

    centers: NDArray[np.float64]
    weights: NDArray[np.float64]
    tree: NetTree
    coreset: WeightedPointSet
    projected_centers: NDArray[np.float64]
    parts: NDArray[np.int64]
    pooled: NDArray[np.bool_]
    shared: int = 0

    @property
    def pooled_leaves(self) -> NDArray[np.int64]:  # (k,)
        """How many leaves were added up in each part."""
        return np.bincount(self.parts[self.pooled], minlength=len(self.centers))

    def part_noise(self, deviation: Callable[[int], float]) -> NDArray[np.float64]:  # (k,)
        """Return the deviation of each part's sum, for the deviation of one leaf by its level."""
        each = [np.full(len(where), deviation(number) ** 2) for number, _, where in self.tree.leaves()]
        variances = np.concatenate(each)[self.pooled]
        summed = np.bincount(self.parts[self.pooled], weights=variances, minlength=len(self.centers))
        return np.sqrt(summed)


def k_means_decoder(
    nets: NetFamily,
    frequencies: FrequencyOracle,
    vectors: VectorSumOracle,
    parameters: BuildParameters,
    *,
    solver: Solver | None = None,
    proved: bool = False,
    complete: bool = False,
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
    proved : bool
        Take `LocalSearch` where no solver is given: it has an approximation ratio.
    complete : bool
        Every node is expanded, whatever the oracle says. Then `proved` takes exchanges among the leaves with
        their unclamped counts, whose noise adds up as a root.
    random_state : int, RandomState or None
        The analyst's seed, for the default solver.
    """
    weighed = build_tree(nets, frequencies, parameters)
    if parameters.strays > 0:
        weighed = pruned(weighed)
    noisy, weights = weighed.leaf_frequencies(), weighed.leaf_weights()
    lifted: NDArray[np.float64] | None = None
    if parameters.strays > 0 and isinstance(vectors, LiftedSumOracle):
        heavy = weights > 0
        each = _over_leaves(weighed, np.cumsum(heavy) - 1, heavy, int(heavy.sum()), vectors.lifted_part_sums)
        lifted = np.zeros((len(heavy), each.shape[1]))  # of other leaves
        lifted[heavy] = each
        weights = np.where(_clear(lifted, vectors), weights, 0.0)
    shared, pooled = 0, weights > 0 if parameters.strays > 0 else np.ones(len(weights), dtype=np.bool_)
    if isinstance(vectors, SharedRowOracle):
        shared, pooled = _one_leaf_a_row(weighed, pooled, vectors)
        weights, noisy = np.where(pooled, weights, 0.0), np.where(pooled, noisy, 0.0)
    coreset = representative_point_set(weighed.tree, weights)
    if proved and complete and solver is None:
        least = _LEAST * frequencies.deviation(nets.levels) * math.sqrt(len(noisy))
        found = coreset.points[exchanged_leaves(coreset.points, noisy, parameters.clusters, least)]
    else:
        found = _solve(coreset, noisy, parameters.clusters, solver, proved, random_state)
    parts = nearest(coreset.points, found)
    count = len(found)
    if lifted is not None and isinstance(vectors, LiftedSumOracle):
        part_sums = np.zeros((count, lifted.shape[1]))
        np.add.at(part_sums, parts[pooled], lifted[pooled])
        held = np.bincount(parts[pooled], minlength=count)
        part_weights = _counts_by_length(vectors, part_sums, held, frequencies.deviation(nets.levels))
        centers = vectors.lifted_mean(part_sums, part_weights)
        # James and Stein: towards the mean of everybody, by what noise explains, above all outside the
        # directions in which people's second moment stands clear.
        noise = held * (vectors.lifted_deviation / np.maximum(part_weights, 1.0)) ** 2
        middle = part_weights @ centers / part_weights.sum()
        centers = shrink_in_blocks(centers, noise, middle, signal_subspace(vectors.moment, len(middle)))
    else:
        part_weights = np.bincount(parts[pooled], noisy[pooled], minlength=count).astype(np.float64)
        sums = _over_leaves(weighed, parts, pooled, count, vectors.part_sums)
        centers = sums / np.maximum(1.0, part_weights)[:, None]
    lengths = np.linalg.norm(centers, axis=1, keepdims=True)
    centers = centers / np.maximum(1.0, lengths)
    return NetTreeOutcome(centers, part_weights, weighed.tree, coreset, found, parts, pooled, shared)


def exchanged_leaves(
    points: NDArray[np.float64], counts: NDArray[np.float64], clusters: int, least: float
) -> NDArray[np.int64]:
    """Return which leaves no exchange of one for another makes cheaper by `least`, by unclamped counts.

    Examples
    --------
    >>> leaves = np.array([[-0.9], [-0.8], [0.5], [0.6]])
    >>> leaves[exchanged_leaves(leaves, np.array([20.0, 40.0, 50.0, -10.0]), 2, 0.1), 0].tolist()
    [-0.8, 0.5]
    """
    start = np.argsort(-counts, kind="stable")[:clusters]  # the heaviest
    return np.sort(exchange(points, counts, start, least)[0])


def _solve(
    coreset: WeightedPointSet,
    noisy: NDArray[np.float64],
    clusters: int,
    solver: Solver | None,
    proved: bool,
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
        if proved:
            solver = LocalSearch(clusters, random_state=random_state)
        else:
            solver = cast("Solver", KMeans(clusters, n_init=10, random_state=random_state))
    solver.fit(points[kept], sample_weight=weights[kept])
    return checked_centers(solver, points.shape[1], clusters)


def checked_centers(solver: Solver, dimension: int, clusters: int) -> NDArray[np.float64]:
    """Return what a solver found, (k', d) with 1 ≤ k' ≤ k, or raise DecodeError."""
    found = np.asarray(solver.cluster_centers_, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != dimension or not np.isfinite(found).all():
        raise DecodeError(
            f"the solver's cluster_centers_ must be finite, (k, {dimension}), got {found.shape}"
        )
    if not 1 <= len(found) <= clusters:
        raise DecodeError(f"the solver found {len(found)} centers where the plan asks for {clusters}")
    return found


def _one_leaf_a_row(
    weighed: WeighedTree, kept: NDArray[np.bool_], vectors: SharedRowOracle
) -> tuple[int, NDArray[np.bool_]]:
    """Return how many leaves may have people who are counted elsewhere, and which of those kept count any."""
    kept, shared = kept.copy(), 0
    for number, paths, place in weighed.tree.leaf_paths():
        mine = kept[place]  # a part of `kept` itself
        if number > 0 and mine.any():
            mine[mine], doubtful = vectors.readers(number, paths[mine])
            shared += int(doubtful.sum())
    return shared, kept


def _clear(lifted: NDArray[np.float64], vectors: LiftedSumOracle) -> NDArray[np.bool_]:
    """Return which leaves stand above noise without their count: (leaves, D) -> (leaves,); all if none do.

    An empty leaf is one because its count came out high; the other D - 1 coordinates are then still noise.
    """
    rest = np.delete(lifted, vectors.counting, axis=1)
    energies = np.einsum("ij,ij->i", rest, rest) / vectors.lifted_deviation**2
    clear = energies > chi2.isf(_STRAY, rest.shape[1])
    return np.asarray(clear if clear.any() else np.ones_like(clear))


def _counts_by_length(
    vectors: LiftedSumOracle,
    lifted: NDArray[np.float64],
    leaves: NDArray[np.int64],
    count_deviation: float,
) -> NDArray[np.float64]:
    """Return the people of each part by the length of its lifted sum: (k, D), (k,) -> (k,).

    A lifted vector has length 1, so the sum of a tight part has as many as it has people, with the noise of
    one direction; of broad parts it is shorter by a factor that is much the same for all, and that the
    counting coordinates, summed over all parts, know.
    """
    noise = lifted.shape[1] * leaves * vectors.lifted_deviation**2
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->i", lifted, lifted) - noise, 1.0))
    counted, whole = float(vectors.lifted_counts(lifted).sum()), float(lengths.sum())
    # Leaves are chosen by counts that came out high, so an excess by chance must not count.
    chance = _DOUBT * count_deviation * float(leaves.sum()) ** 0.5
    looseness = min(max((counted - chance) / whole, 1.0), _LOOSEST)
    return np.asarray(looseness * lengths)


def _over_leaves(
    weighed: WeighedTree,
    parts: NDArray[np.int64],
    pooled: NDArray[np.bool_],
    count: int,
    part_sums: Callable[[int, NDArray[np.int64], NDArray[np.int64], int], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return ṽ^j: the vector sums over the pooled leaves of each part, (count, d)."""
    sums = [
        part_sums(number, paths[pooled[place]], parts[place][pooled[place]], count)
        for number, paths, place in weighed.tree.leaf_paths()
    ]
    if not sums:
        raise DecodeError("a tree without leaves cannot be decoded")
    return np.asarray(sum(sums))
