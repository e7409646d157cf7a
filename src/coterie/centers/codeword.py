"""The decoder of `codeword`: read the table's oracles, solve, return to the plan's coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.aggregate.codeword import CodewordTable
from coterie.centers.choose import choose_clusters, most_clusters
from coterie.centers.explain import explain
from coterie.centers.population import FLAT
from coterie.centers.result import Population, Result
from coterie.centers.scatter import scatter_of
from coterie.centers.solution import Solution
from coterie.centers.solve import solve
from coterie.errors import DecodeError
from coterie.oracles.leaf_sums import leaf_sums
from coterie.oracles.rows import ViewRows, rows_of
from coterie.oracles.second_moment import second_moment
from coterie.oracles.suspicion import warning
from coterie.plan import Plan
from coterie.privacy import Guarantee

_FAR_FROM_PLANNED: Final = 0.5  # share of the expected users below which the result says so


def decode_codeword(aggregate: Aggregate, clusters: int, rng: np.random.Generator) -> Result:
    """Find the centers of a `codeword` aggregate."""
    return decode_rows([aggregate], clusters, rng)


def decode_rows(aggregates: Sequence[Aggregate], clusters: int, rng: np.random.Generator) -> Result:
    """Find centers from the rows of one `codeword` aggregate, or of several answered by different people.

    The frame is the ball of the last plan. Cells alone, in many dimensions, are the design for tight groups
    among much noise, and have a decoder of their own (`solve`), which takes one table.
    """
    views = _rows(aggregates)
    plan = aggregates[-1].plan
    if _explained(plan, views):
        solution = explain(views, clusters, rng)
        flat = plan.dimension <= FLAT  # there the points themselves scatter
        scatter = 0.0 if flat else scatter_of(views, solution.points, solution.weights, rng)
        return result_of(solution, *aggregates, scatter=scatter)
    if len(aggregates) > 1:
        raise DecodeError(
            "tables can be decoded together if one of their plans has halfspaces or in at most "
            f"{FLAT} dimensions; decode these one by one"
        )
    table, lift = _codeword_table(aggregates[0]), views[0].lift
    return result_of(solve(leaf_sums(table), second_moment(table), lift, clusters, rng), *aggregates)


def number_of_groups(aggregates: Sequence[Aggregate], rng: np.random.Generator) -> int | None:
    """Return how many round groups the rows of `codeword` aggregates speak of; None if rows cannot tell."""
    return choose_clusters(_rows(aggregates), most_clusters(aggregates[-1].plan.clusters), rng)


def _rows(aggregates: Sequence[Aggregate]) -> list[ViewRows]:
    frame = aggregates[-1].plan
    return [view for each in aggregates for view in rows_of(_codeword_table(each), frame)]


def _explained(plan: Plan, views: Sequence[ViewRows]) -> bool:
    return plan.dimension <= FLAT or any(view.halfspaces for view in views)


def _codeword_table(aggregate: Aggregate) -> CodewordTable:
    if not isinstance(aggregate.table, CodewordTable):
        raise DecodeError(f"this decoder needs a codeword table, got {type(aggregate.table).__name__}")
    return aggregate.table


def result_of(solution: Solution, *aggregates: Aggregate, scatter: float = 0.0) -> Result:
    """Dress a solution in the last plan's coordinates, with what there is to say about it."""
    plan = aggregates[-1].plan
    supported = int(solution.supported.sum())
    promises = [_promise(each.plan, each.count) for each in aggregates]
    ids = tuple(each.plan.id for each in aggregates)
    return Result(
        centers=_original(solution.centers, plan),
        weights=np.where(solution.supported, solution.shares, 0.0),
        errors=solution.errors * plan.radius,
        supported=supported,
        notes=_notes(aggregates, supported, solution),
        count=sum(each.count for each in aggregates),
        guarantee=max(promises, key=lambda promise: (promise.epsilon, promise.delta)),
        plan_id=plan.id,
        population=Population(
            _original(solution.points, plan), solution.weights, plan.study_id, ids, scatter * plan.radius**2
        ),
    )


def _original(points: NDArray[np.float64], plan: Plan) -> NDArray[np.float64]:
    shift = 0.0 if plan.center is None else np.array(plan.center)
    moved: NDArray[np.float64] = points * plan.radius + shift
    return moved


def _promise(plan: Plan, count: int) -> Guarantee:
    """Return what may be claimed: the planned promise only if as many people came as it was made for."""
    return plan.guarantee if count >= plan.minimum_batch else plan.guarantee_for(count)


def _notes(aggregates: Sequence[Aggregate], supported: int, solution: Solution) -> tuple[str, ...]:
    notes, clusters = list(solution.notes), len(solution.centers)
    if supported < clusters:
        notes.append(
            f"Only {supported} of {clusters} centers stand clear of the privacy noise; the mean of "
            "everybody stands in for the others. Ask for fewer clusters, collect more reports, or allow a "
            "larger epsilon."
        )
    for each in aggregates:
        notes += _about_people(each.plan, each.count)
        if isinstance(each.table, CodewordTable) and (said := warning(each.table)) is not None:
            notes.append(said)
    if supported and float(np.median(solution.errors[solution.supported])) > 0.5:
        notes.append(
            "The centers are uncertain by more than half the radius of the ball: treat them as rough "
            "directions."
        )
    return tuple(notes)


def _about_people(plan: Plan, count: int) -> list[str]:
    notes = []
    if count < _FAR_FROM_PLANNED * plan.expected_users:
        notes.append(
            f"The plan was designed for {plan.expected_users} reports and {count} came: "
            + ("privacy is as promised, " if count >= plan.minimum_batch else "")
            + "accuracy is lower than planned."
        )
    if count < plan.minimum_batch:
        notes.append(
            f"The plan releases no batch of fewer than {plan.minimum_batch} people and {count} are in: the "
            f"promise that holds is epsilon {_promise(plan, count).epsilon:.4g}, not {plan.epsilon:g}."
        )
    return notes
