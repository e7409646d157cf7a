"""One dresser for every decoder: from a solution in the unit ball to a result that says what it promises.

Coordinates, shares, errors, the promise, the plans, the population and the cautions that hold for any
protocol are filled in here and nowhere else; what only a decoder can know comes in `Solution.notes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.centers.result import Population, Result, ask_for, too_many
from coterie.centers.solution import Distance, Interval, Solution
from coterie.plain.words import letter, listed
from coterie.plan import Plan
from coterie.privacy import Guarantee
from coterie.protocols import protocol_of
from coterie.protocols.base import Leverage

MOST_NOTES: Final = 5
_FAR_FROM_PLANNED: Final = 0.5  # share of the expected users below which the result says so
_ROUGH: Final = 0.5  # of the radius: errors from which on centers are rough directions


def dress(solution: Solution, tables: Sequence[Aggregate]) -> Result:
    """Return a solution in the last plan's coordinates, with what there is to say about it.

    Parameters
    ----------
    solution : Solution
        In the unit ball of the last plan.
    tables : sequence of Aggregate
        What it was found from; at least one.

    Examples
    --------
    >>> plan = Plan.design(2, 2, 1.0, 100, center=(5.0, 0.0), radius=2.0)
    >>> found, halves = np.array([[0.5, 0.0], [0.0, 0.0]]), np.full(2, 0.5)
    >>> solution = Solution(found, halves, np.full(2, 0.1), np.array([True, False]), found, halves)
    >>> table = Aggregate(plan)
    >>> table.add(bytes(100 * plan.report_width))
    >>> result = dress(solution, [table])
    >>> result.centers[0].tolist(), result.supported, result.errors.tolist()
    ([6.0, 0.0], 1, [0.2, 2.0])
    """
    plan = tables[-1].plan
    promises = [_promise(each.plan, each.count) for each in tables]
    nan = float("nan")
    mean = solution.shares @ solution.centers if solution.mean is None else solution.mean
    return Result(
        centers=_original(solution.centers, plan),
        weights=solution.shares,
        errors=_errors(solution) * plan.radius,
        weight_errors=np.full(len(solution.shares), nan)
        if solution.share_errors is None
        else solution.share_errors,
        clear=solution.supported,
        explained=solution.explained or Interval(nan, nan, nan),
        notes=_notes(solution, tables)[:MOST_NOTES],
        count=sum(each.count for each in tables),
        guarantee=max(promises, key=lambda promise: (promise.epsilon, promise.delta)),
        plan_id=plan.id,
        population=Population(
            _original(solution.points, plan),
            solution.weights,
            plan.study_id,
            tuple(each.plan.id for each in tables),
            solution.scatter * plan.radius**2,
            solution.directions,
        ),
        mean=_original(mean, plan),
        mean_error=solution.mean_error * plan.radius,
        coverage=solution.coverage,
        profile=solution.profile,
        alternatives=solution.alternatives,
        choices=solution.choices,
        tree=solution.tree,
        features=plan.features,
        radius=plan.radius,
        leverage=_leverage([each.plan for each in tables]),
        middle=plan.center,
        confirmed=solution.confirmed,
        distance=None
        if solution.distance is None
        else Distance(*(plan.radius * each for each in solution.distance)),
    )


def _leverage(plans: Sequence[Plan]) -> Leverage | None:
    """Return the most that a forged report may weigh in any of the tables; None where that is not known."""
    found: list[Leverage] = []
    for plan in plans:
        protocol = protocol_of(plan)
        one: Leverage | None = None if protocol.leverage is None else protocol.load(protocol.leverage)(plan)
        if one is None:
            return None
        found.append(one)
    return max(found)


def _errors(solution: Solution) -> NDArray[np.float64]:
    """Return the errors; where they are the noise alone, of a group that is noise the ball's radius: (k,)."""
    stated = solution.coverage is not None or solution.medians
    return solution.errors if stated else np.where(solution.supported, solution.errors, 1.0)


def _original(points: NDArray[np.float64], plan: Plan) -> NDArray[np.float64]:
    shift = 0.0 if plan.center is None else np.array(plan.center)
    moved: NDArray[np.float64] = points * plan.radius + shift
    return moved


def _promise(plan: Plan, count: int) -> Guarantee:
    """Return what may be claimed: the planned promise only if as many people came as it was made for."""
    return plan.guarantee if count >= plan.minimum_batch else plan.guarantee_for(count)


def _notes(solution: Solution, tables: Sequence[Aggregate]) -> tuple[str, ...]:
    """Return what is doubtful, the worst first: the promise, the answer as a whole, then its parts."""
    notes, clear, explained = [], solution.supported, solution.explained
    for each in tables:
        notes += _about_promise(each.plan, each.count)
    rough = explained is not None and float(np.median(solution.errors)) > _ROUGH
    if rough and clear.any():
        notes.append(
            "The centers are uncertain by more than half the radius of the ball: treat them as rough "
            "directions."
        )
    if explained is not None and explained.is_vague:
        notes.append(
            "The reports hardly say how much of people's spread the groups explain: between "
            f"{explained.low:.0%} and {explained.high:.0%}. Collect more reports, or allow a larger epsilon."
        )
    notes += solution.notes
    if not clear.all() and not solution.one_group:
        doubtful = listed([letter(int(number)) for number in np.flatnonzero(~clear)])
        several = int((~clear).sum()) > 1
        told = f"Group{'s' * several} {doubtful} {'do' if several else 'does'} not stand"
        remedy = "Ask for fewer clusters, collect more reports, or allow a larger epsilon."
        if explained is not None and too_many(clear, explained):
            remedy = f"{ask_for(solution.choices, len(clear)).capitalize()}: that costs no privacy."
        notes.append(
            f"{told if clear.any() else 'None of the groups stands'} clear of the privacy noise. {remedy}"
        )
    for each in tables:
        notes += _about_people(each.plan, each.count)
    return tuple(notes)


def _about_promise(plan: Plan, count: int) -> list[str]:
    if count >= plan.minimum_batch:
        return []
    holds = _promise(plan, count).epsilon
    weaker = f": the promise that holds is epsilon {holds:.4g}, not {plan.epsilon:g}" * (holds > plan.epsilon)
    return [
        f"The plan releases no batch of fewer than {plan.minimum_batch} people and {count} are in{weaker}."
    ]


def _about_people(plan: Plan, count: int) -> list[str]:
    notes = []
    if count < _FAR_FROM_PLANNED * plan.expected_users:
        notes.append(
            f"The plan was designed for {plan.expected_users} reports and {count} came: "
            + ("privacy is as promised, " if count >= plan.minimum_batch else "")
            + "accuracy is lower than planned."
        )
    return notes
