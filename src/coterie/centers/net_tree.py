"""Decoding the `net-tree` protocol: reports to oracles, oracles to centers, centers to a result."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.aggregate.net_tree import NetTreeTable
from coterie.centers.k_means_decoder import NetTreeOutcome, Solver, k_means_decoder
from coterie.centers.result import Population, Result
from coterie.errors import DecodeError
from coterie.geometry.nets import NetFamily
from coterie.geometry.projection import Projection
from coterie.oracles.explicit_hist import ExplicitHist
from coterie.oracles.explicit_hist_vector import ExplicitHistVector
from coterie.oracles.signs import PathMasks
from coterie.plan import Plan
from coterie.plan.codeword import ID_BYTES
from coterie.randomizers.sphere import djw_norm
from coterie.tree.build import BuildParameters
from coterie.wire.net_tree import NetTreeStream, net_tree_numbers, unpack_answers

_REPORTS_AT_A_TIME: Final = 1 << 16
_CLEAR: Final = 2.0  # standard deviations by which a part must stand out to be supported


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


def decode_table(
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


def decode_net_tree(
    aggregate: Aggregate, generator: np.random.Generator, *, solver: Solver | None = None
) -> Result:
    """Decode an aggregate of the net-tree protocol.

    Parameters
    ----------
    aggregate : Aggregate
        At least one report.
    generator : numpy Generator
        The analyst's seed, for the default solver.
    solver : Solver, optional
        𝒜, any k-means solver in scikit-learn's manner.

    Returns
    -------
    Result
        Its population is S_T, the leaves with their shares. After a projection a leaf's point is the one place
        of the public subspace that projects onto it.
    """
    table = cast("NetTreeTable", aggregate.table)
    outcome = decode_table(table, solver=solver, random_state=int(generator.integers(1 << 31)))
    return result_of(aggregate.plan, aggregate.count, outcome)


def parameters_of(plan: Plan) -> BuildParameters:
    """Return the plan's parameters of BuildTree."""
    numbers = net_tree_numbers(plan)
    return BuildParameters(plan.clusters, numbers.expansion, numbers.rounds, numbers.strays)


def result_of(plan: Plan, count: int, outcome: NetTreeOutcome) -> Result:
    """Put an outcome into the plan's coordinates, with errors and cautions."""
    numbers = net_tree_numbers(plan)
    outcome = _with_all_clusters(outcome, plan.clusters)
    middle = np.zeros(plan.dimension) if plan.center is None else np.array(plan.center)
    leaves = outcome.pooled_leaves  # (k,)
    weights = np.maximum(outcome.weights, 0.0)
    count_noise = numbers.count_response.scale * np.sqrt(count * leaves)
    vector_noise = djw_norm(plan.dimension + 1, numbers.vector_response.scale) * np.sqrt(count * leaves)
    lengths = np.linalg.norm(outcome.centers, axis=1)
    errors = np.minimum(np.hypot(vector_noise, count_noise * lengths) / np.maximum(weights, 1.0), 2.0)
    supported = int(np.count_nonzero((outcome.weights > _CLEAR * count_noise) & (leaves > 0)))
    shares = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))
    return Result(
        centers=middle + plan.radius * outcome.centers,
        weights=shares,
        errors=plan.radius * errors,
        supported=supported,
        notes=_notes(plan, supported, errors),
        count=count,
        guarantee=plan.guarantee,
        plan_id=plan.id,
        population=_population_of(plan, count, outcome, middle),
    )


def _population_of(
    plan: Plan, count: int, outcome: NetTreeOutcome, middle: NDArray[np.float64]
) -> Population:
    numbers = net_tree_numbers(plan)
    projection = Projection.from_key(
        plan.public_key("subspace"), plan.dimension, numbers.projected, numbers.scale
    )
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
