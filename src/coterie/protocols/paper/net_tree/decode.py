"""Decoding protocols over a net tree: a table to oracles, oracles to centers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.aggregate.base import Table
from coterie.centers.solution import Solution, solution_of_parts
from coterie.errors import DecodeError
from coterie.plan import Plan
from coterie.protocols.paper.k_means import NetTreeOutcome, Solver, k_means_decoder
from coterie.protocols.paper.net_tree.oracles.codeword_levels import CodewordLevels
from coterie.protocols.paper.net_tree.oracles.explicit_hist import ExplicitHist
from coterie.protocols.paper.net_tree.oracles.explicit_hist_vector import ExplicitHistVector
from coterie.protocols.paper.net_tree.oracles.signs import PathMasks
from coterie.protocols.paper.net_tree.parameters import CodewordTreeParameters
from coterie.protocols.paper.net_tree.report import NetTreeStream, net_tree_parameters, unpack_answers
from coterie.protocols.paper.net_tree.report_codeword import CodewordTreeStream, codeword_tree_parameters
from coterie.protocols.paper.net_tree.table import NetTreeTable
from coterie.protocols.paper.net_tree_sums.confirmed import ConfirmedTreeSums
from coterie.protocols.paper.net_tree_sums.oracle import TreeSums
from coterie.protocols.paper.nets.nets import NetFamily
from coterie.protocols.paper.nets.projection import Projection
from coterie.protocols.paper.tree.build import BuildParameters
from coterie.protocols.paper.tree.oracle import FrequencyOracle, VectorSumOracle
from coterie.protocols.paper.tree.parameters import TreeDecoding, TreeParameters
from coterie.protocols.shares.table import VectorSumTable
from coterie.randomizers.sphere import djw_norm
from coterie.wire.layout import ID_BYTES

_REPORTS_AT_A_TIME: Final = 1 << 16
_CLEAR: Final = 5.0  # deviations that the count of everybody in the leaves may be short by
_LOST: Final = 0.05  # share of the people whose absence from all leaves is worth a word


class TreeVectorOracle(VectorSumOracle, Protocol):
    """A vector sum oracle that states its noise."""

    def vector_deviation(self, level: int) -> float:
        """Return the root mean square length of an empty node's sum."""
        ...


def tree_of(plan: Plan) -> TreeParameters:
    """Return the parameters of a plan over a net tree, or say that it is none."""
    if not isinstance(plan.parameters, TreeParameters):
        raise DecodeError(f"protocol {plan.protocol} has no net tree")
    return plan.parameters


def nets_of(plan: Plan) -> NetFamily:
    """Return the plan's nets, the same that its encoder uses."""
    return tree_of(plan).nets(plan.randomness_key)


def projection_of(plan: Plan) -> Projection:
    """Return the plan's public subspace, the same that its encoder uses."""
    return tree_of(plan).projection(plan.randomness_key, plan.dimension)


def oracles_of(table: NetTreeTable) -> tuple[ExplicitHist, ExplicitHistVector]:
    """Return the two oracles of the reports in a table."""
    plan = table.plan
    parameters = net_tree_parameters(plan)
    reports = table.reports
    people, levels = len(reports), parameters.levels
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
    digit_bits = (parameters.ratio**parameters.projected - 1).bit_length()
    return (
        ExplicitHist(counts, masks, parameters.count_response, digit_bits),
        ExplicitHistVector(
            vectors,
            masks,
            djw_norm(stream.lifted, parameters.vector_response.scale),
            lambda piece, level: stream.directions(ids[piece], level),
            digit_bits,
            plan.dimension,
        ),
    )


def codeword_oracle(table: NetTreeTable) -> CodewordLevels:
    """Return both oracles of the codewords in a table."""
    plan, reports = table.plan, table.reports
    stream = CodewordTreeStream(plan)
    ids = np.ascontiguousarray(reports[:, :ID_BYTES])
    parameters = codeword_tree_parameters(plan)
    people = len(reports)
    levels = np.empty(people, dtype=np.int64)
    signs = np.empty(people, dtype=np.int8)
    masks = PathMasks(
        np.empty(people, dtype=np.int64), np.empty((people, parameters.levels), dtype=np.int64, order="F")
    )
    for start in range(0, people, _REPORTS_AT_A_TIME):
        piece = slice(start, start + _REPORTS_AT_A_TIME)
        choices = stream.choices(ids[piece])
        levels[piece], signs[piece] = choices.levels, choices.signs
        masks.root[piece], masks.digits[piece] = choices.root_masks, choices.digit_masks
    indices = reports[:, ID_BYTES].astype(np.int64)

    def turned(chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        return stream.turned_back(ids[chosen], indices[chosen]) * signs[chosen, None]

    return CodewordLevels(parameters, plan.dimension, levels, masks, turned)


def tree_oracles(table: Table, *, floored: bool) -> tuple[FrequencyOracle, TreeVectorOracle]:
    """Return f̃ and ṽ of a table of a protocol over a net tree, for a decoder with a noise floor or none."""
    if isinstance(table, NetTreeTable):
        if isinstance(table.plan.parameters, CodewordTreeParameters):
            oracle = codeword_oracle(table)
            return oracle, oracle
        return oracles_of(table)
    if isinstance(table, VectorSumTable):
        sums = TreeSums(table)
        if floored:
            return ConfirmedTreeSums(sums), sums
        return sums, sums
    raise DecodeError(f"this decoder needs a table of a net tree, got {type(table).__name__}")


def decode_net_tree(
    tables: Sequence[Aggregate],
    clusters: int,
    rng: np.random.Generator,
    *,
    solver: Solver | None = None,
    **options: Any,
) -> Solution:
    """Find the centers of a table of a protocol over a net tree: `net-tree` or `net-tree-sums`.

    Parameters
    ----------
    tables : sequence of one Aggregate
        At least one report.
    clusters : int
        k, the plan's.
    rng : numpy Generator
        The analyst's, for the default solver.
    solver : Solver, optional
        𝒜, any k-means solver in scikit-learn's manner; `LocalSearch` for constants="theory", else KMeans.
    **options
        Of BuildTree, as in `paper.tree.parameters.TreeDecoding`: constants, alpha, expansion, rounds, strays.

    Returns
    -------
    Solution
        Its points are S_T, the leaves with their shares. After a projection a leaf's point is the one place
        of the public subspace that projects onto it; it carries no noise, only its share does. `tree` holds
        what the decoder built on the way.
    """
    table, plan = tables[-1].table, tables[-1].plan
    decoding = TreeDecoding.of(tree_of(plan), plan.facts, options)
    frequencies, vectors = tree_oracles(table, floored=decoding.strays > 0)
    outcome = k_means_decoder(
        nets_of(plan),
        frequencies,
        vectors,
        BuildParameters(plan.clusters, decoding.expansion, decoding.rounds, decoding.strays),
        solver=solver,
        proved=decoding.solver_ratio < math.inf,
        random_state=int(rng.integers(1 << 31)),
    )
    outcome = _with_all_clusters(outcome, clusters)
    # A part without leaves has no people of its own, whatever its center weighs.
    weights = np.where(outcome.pooled_leaves > 0, outcome.weights, 0.0)
    noise = (outcome.part_noise(frequencies.deviation), outcome.part_noise(vectors.vector_deviation))
    solution = solution_of_parts(
        outcome.centers, weights, noise, _population_of(plan, table.count, outcome), outcome
    )
    if isinstance(vectors, TreeSums):
        lost = 1 - (weights.sum() + _CLEAR * np.linalg.norm(noise[0])) / table.count
        solution = replace(solution, notes=(*solution.notes, *_about_buckets(outcome.shared, float(lost))))
    return solution


def _about_buckets(shared: int, lost: float) -> list[str]:
    """Say what leaves of one bucket hide: whose people are counted elsewhere, and nobody's people."""
    notes = []
    if shared:
        notes.append(
            f"{shared} of the tree's leaves share a bucket with another leaf nearby: people of theirs are "
            "counted there, and two groups may be one center. More buckets keep them apart."
        )
    if lost > _LOST:
        notes.append(
            f"At least {lost:.0%} of the people are in no leaf that stands clear of the noise: they are "
            "spread thin, or groups far apart share a bucket. More buckets keep groups apart."
        )
    return notes


def _population_of(
    plan: Plan, count: int, outcome: NetTreeOutcome
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the leaves as points of the unit ball, (N, d), and their shares of all people, (N,)."""
    projection = projection_of(plan)
    shares = outcome.coreset.weights / count
    if not (shares > 0).any():  # nothing but noise: nobody knows which leaf has more people
        shares = np.full(len(shares), 1 / len(shares))
    points = outcome.coreset.points[shares > 0] @ projection.basis.T / projection.scale
    return points, shares[shares > 0]


def _with_all_clusters(outcome: NetTreeOutcome, clusters: int) -> NetTreeOutcome:
    """Repeat the heaviest center, without weight, where the solver found fewer than k."""
    missing = clusters - len(outcome.centers)
    if missing <= 0:
        return outcome
    heaviest = int(outcome.weights.argmax())
    return replace(
        outcome,
        centers=np.concatenate([outcome.centers, np.repeat(outcome.centers[[heaviest]], missing, axis=0)]),
        weights=np.concatenate([outcome.weights, np.zeros(missing)]),
    )
