"""Decoding protocols over a net tree: a table to oracles, oracles to centers, centers to a result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.aggregate.base import Table
from coterie.aggregate.net_tree import NetTreeTable
from coterie.aggregate.vector_sums import VectorSumTable
from coterie.centers.k_means_decoder import NetTreeOutcome, Solver, k_means_decoder
from coterie.centers.result import Population, Result
from coterie.errors import DecodeError
from coterie.geometry.nets import NetFamily
from coterie.geometry.projection import Projection
from coterie.oracles.base import FrequencyOracle, VectorSumOracle
from coterie.oracles.codeword_levels import CodewordLevels
from coterie.oracles.confirmed import ConfirmedTreeSums
from coterie.oracles.explicit_hist import ExplicitHist
from coterie.oracles.explicit_hist_vector import ExplicitHistVector
from coterie.oracles.signs import PathMasks
from coterie.oracles.tree_sums import TreeSums
from coterie.plan import Plan
from coterie.plan.codeword import ID_BYTES
from coterie.plan.net_tree_codeword import CodewordTreeParameters
from coterie.plan.tree_shape import TreeShape, shape_of
from coterie.privacy import Guarantee
from coterie.randomizers.sphere import djw_norm
from coterie.tree.build import BuildParameters
from coterie.wire.net_tree import NetTreeStream, net_tree_parameters, unpack_answers
from coterie.wire.net_tree_codeword import CodewordTreeStream, codeword_tree_parameters

_REPORTS_AT_A_TIME: Final = 1 << 16
_CLEAR: Final = 2.0  # standard deviations by which a part must stand out to be supported


class TreeVectorOracle(VectorSumOracle, Protocol):
    """A vector sum oracle that states its noise."""

    def vector_deviation(self, level: int) -> float:
        """Return the root mean square length of an empty node's sum."""
        ...


def shape_of_plan(plan: Plan) -> TreeShape:
    """Return the shape of the plan's tree."""
    return shape_of(plan.parameters, plan.protocol)


def nets_of(plan: Plan) -> NetFamily:
    """Return the plan's nets, the same that its encoder uses."""
    shape = shape_of_plan(plan)
    return NetFamily.from_key(plan.randomness_key("net"), shape.projected, shape.levels, shape.ratio)


def projection_of(plan: Plan) -> Projection:
    """Return the plan's public subspace, the same that its encoder uses."""
    shape = shape_of_plan(plan)
    return Projection.from_key(plan.randomness_key("subspace"), plan.dimension, shape.projected, shape.scale)


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


def tree_oracles(table: Table) -> tuple[FrequencyOracle, TreeVectorOracle]:
    """Return f̃ and ṽ of a table of a protocol over a net tree, as its plan's decoder sees them."""
    if isinstance(table, NetTreeTable):
        if isinstance(table.plan.parameters, CodewordTreeParameters):
            oracle = codeword_oracle(table)
            return oracle, oracle
        return oracles_of(table)
    if isinstance(table, VectorSumTable):
        sums = TreeSums(table)
        if shape_of_plan(table.plan).strays > 0:
            return ConfirmedTreeSums(sums, nets_of(table.plan), projection_of(table.plan)), sums
        return sums, sums
    raise DecodeError(f"this decoder needs a table of a net tree, got {type(table).__name__}")


def decode_net_tree(
    aggregate: Aggregate,
    generator: np.random.Generator,
    *,
    solver: Solver | None = None,
    parameters: BuildParameters | None = None,
) -> Result:
    """Decode an aggregate of a protocol over a net tree: `net-tree` or `net-tree-sums`.

    Parameters
    ----------
    aggregate : Aggregate
        At least one report.
    generator : numpy Generator
        The analyst's seed, for the default solver.
    solver : Solver, optional
        𝒜, any k-means solver in scikit-learn's manner.
    parameters : BuildParameters, optional
        Of BuildTree; the plan's by default.

    Returns
    -------
    Result
        Its population is S_T, the leaves with their shares. After a projection a leaf's point is the one
        place of the public subspace that projects onto it. `tree` holds what the decoder built on the way.
    """
    if not aggregate.count:
        raise DecodeError("there are no reports to decode")
    plan = aggregate.plan
    frequencies, vectors = tree_oracles(aggregate.table)
    outcome = k_means_decoder(
        nets_of(plan),
        frequencies,
        vectors,
        parameters_of(plan) if parameters is None else parameters,
        solver=solver,
        random_state=int(generator.integers(1 << 31)),
    )
    return result_of(plan, aggregate.count, outcome, frequencies.deviation, vectors.vector_deviation)


def parameters_of(plan: Plan) -> BuildParameters:
    """Return the plan's parameters of BuildTree."""
    shape = shape_of_plan(plan)
    return BuildParameters(plan.clusters, shape.expansion, shape.rounds, shape.strays)


def result_of(
    plan: Plan,
    count: int,
    outcome: NetTreeOutcome,
    count_deviation: Callable[[int], float],
    vector_deviation: Callable[[int], float],
) -> Result:
    """Put an outcome into the plan's coordinates, with errors and cautions.

    The last two are the deviations of one node's count and vector sum, by level.
    """
    outcome = _with_all_clusters(outcome, plan.clusters)
    middle = np.zeros(plan.dimension) if plan.center is None else np.array(plan.center)
    leaves = outcome.pooled_leaves  # (k,)
    weights = np.maximum(outcome.weights, 0.0)
    count_noise, vector_noise = (
        outcome.part_noise(deviation) for deviation in (count_deviation, vector_deviation)
    )
    lengths = np.linalg.norm(outcome.centers, axis=1)
    errors = np.minimum(np.hypot(vector_noise, count_noise * lengths) / np.maximum(weights, 1.0), 2.0)
    supported = int(np.count_nonzero((outcome.weights > _CLEAR * count_noise) & (leaves > 0)))
    shares = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))
    return Result(
        centers=middle + plan.radius * outcome.centers,
        weights=shares,
        errors=plan.radius * errors,
        supported=supported,
        notes=(*_notes(plan, supported, errors), *_batch_notes(plan, count)),
        count=count,
        guarantee=_promise(plan, count),
        plan_id=plan.id,
        population=_population_of(plan, count, outcome, middle),
        tree=outcome,
    )


def _population_of(
    plan: Plan, count: int, outcome: NetTreeOutcome, middle: NDArray[np.float64]
) -> Population:
    projection = projection_of(plan)
    kept = outcome.coreset.weights > 0
    points = outcome.coreset.points[kept] @ projection.basis.T / projection.scale
    # A leaf's place is public and carries no noise; what is noisy is its weight.
    shares = outcome.coreset.weights[kept] / count
    return Population(middle + plan.radius * points, shares, plan.study_id, (plan.id,))


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


def _promise(plan: Plan, count: int) -> Guarantee:
    """Return the plan's promise, or what it comes to for a batch that should not have been released."""
    return plan.guarantee if count >= plan.minimum_batch else plan.guarantee_for(count)


def _batch_notes(plan: Plan, count: int) -> tuple[str, ...]:
    if count >= plan.minimum_batch:
        return ()
    return (
        f"the plan releases no batch of fewer than {plan.minimum_batch} people and {count} are in: the "
        f"promise that holds is epsilon {_promise(plan, count).epsilon:.4g}, not {plan.epsilon:g}",
    )


def _notes(plan: Plan, supported: int, errors: NDArray[np.float64]) -> tuple[str, ...]:
    notes = []
    if supported < plan.clusters:
        notes.append(
            f"{supported} of {plan.clusters} centers stand clear of noise; ask for fewer clusters, "
            "collect more reports or use protocol codeword"
        )
    if math.sqrt(float(np.mean(errors**2))) > 0.5:
        notes.append(
            "the centers' errors exceed half the radius of the ball: at this epsilon and number of reports "
            "the paper's protocol says little; protocol codeword needs far fewer reports"
        )
    return tuple(notes)
