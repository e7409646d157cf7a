"""Decoding protocols over a net tree: oracles to centers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from coterie.aggregate import Aggregate
from coterie.centers.solution import Solution
from coterie.plan import Plan
from coterie.protocols.paper.approximation import expands_all
from coterie.protocols.paper.k_means import NetTreeOutcome, Solver, k_means_decoder
from coterie.protocols.paper.nets.nets import NetFamily
from coterie.protocols.paper.parts import solution_of_parts
from coterie.protocols.paper.tree.build import BuildParameters
from coterie.protocols.paper.tree.oracle import TreeOracles
from coterie.protocols.paper.tree.parameters import TreeDecoding, TreeParameters
from coterie.protocols.table import Table

_CLEAR: Final = 5.0  # deviations that the count of everybody in the leaves may be short by


def nets_of(plan: Plan) -> NetFamily:
    """Return the plan's nets, the same that its encoder uses."""
    return TreeParameters.of(plan).nets(plan.randomness_key)


def decode_tree(
    tables: Sequence[Aggregate],
    clusters: int,
    rng: np.random.Generator,
    oracles: Callable[[Table, bool], TreeOracles],
    about: Callable[[NetTreeOutcome, float], Sequence[str]] = lambda outcome, lost: (),
    *,
    solver: Solver | None = None,
    **options: Any,
) -> Solution:
    """Find the centers of a table of a protocol over a net tree.

    Parameters
    ----------
    tables : sequence of one Aggregate
        At least one report.
    clusters : int
        k, the plan's.
    rng : numpy Generator
        The analyst's, for the default solver.
    oracles : callable
        Of a table, and whether the decoder has a noise floor: f̃ and ṽ.
    about : callable
        Of what was built, and the least share of the people who are in no leaf: what there is to say of it.
    solver : Solver, optional
        𝒜, any k-means solver in scikit-learn's manner; exchanges for constants="theory", else KMeans.
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
    decoding = TreeDecoding.of(TreeParameters.of(plan), plan.facts, options)
    frequencies, vectors = oracles(table, decoding.strays > 0)
    outcome = k_means_decoder(
        nets_of(plan),
        frequencies,
        vectors,
        BuildParameters(plan.clusters, decoding.expansion, decoding.rounds, decoding.strays),
        solver=solver,
        proved=decoding.solver_ratio < math.inf,
        complete=expands_all(TreeParameters.of(plan), plan.clusters * decoding.expansion),
        random_state=int(rng.integers(1 << 31)),
    )
    outcome = _with_all_clusters(outcome, clusters)
    # A part without leaves has no people of its own, whatever its center weighs.
    weights = np.where(outcome.pooled_leaves > 0, outcome.weights, 0.0)
    noise = (outcome.part_noise(frequencies.deviation), outcome.part_noise(vectors.vector_deviation))
    projection = TreeParameters.of(plan).projection(plan.randomness_key, plan.dimension)
    shares = outcome.coreset.weights / table.count
    if not (shares > 0).any():  # nothing but noise: nobody knows which leaf has more people
        shares = np.full(len(shares), 1 / len(shares))
    points = outcome.coreset.points[shares > 0] @ projection.basis.T / projection.scale
    population = (points, shares[shares > 0])
    solution = solution_of_parts(outcome.centers, weights, noise, population, outcome)
    lost = 1 - (weights.sum() + _CLEAR * np.linalg.norm(noise[0])) / table.count
    return replace(solution, notes=(*solution.notes, *about(outcome, float(lost))))


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
