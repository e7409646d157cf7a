"""What a plan for other people takes from what the first ones told: a ball, or the groups to confirm.

A plan that confirms keeps the ball of the plan before it, and has the centers that were found as its cells:
what is said then is of the same people, nobody of whom is clipped who was not.

Otherwise the ball of a follow-up plan is where a first study found people, and how far around:

    center   the weighted mean c of the first study's population
    radius   from the distances √(|x - c|² + scatter) of people at points x of the population, with what its
             points do not show (`centers.scatter`). In few dimensions 97 % of the people lie within it. In
             many dimensions lengths are nearly equal, and few reports tell their mean square well and their
             tail badly: 1.1 times its root. A center that surely lies farther out is held in either case,
             and the ball is wider by half of what is not known of its own center: few people tell that badly.

In many dimensions a first study that tells no groups apart still finds, more or less, the directions in which
people differ most (`directions`), and other people may report in those alone: the noise of a report is then
that of a dozen coordinates. What is reported is stretched until 97 % of the people lie within the ball of the
directions.

A ball that is too wide costs more than one that clips some people: noise grows with its square.

It is sequential interaction with the population of people, with one message per person: the first ones answer
a plan with a ball known beforehand, others one with a ball that follows from the first ones' private reports.
People are disjoint, so each person's ε is that of the one plan they answered; a ledger answers one plan of a
study, ever.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError
from coterie.geometry.ball import MAX_STRETCH, SCALE, quantize
from coterie.plain.canonical import shown
from coterie.plain.checks import MOST_PEOPLE, checked_choice, checked_integer
from coterie.protocols import PROTOCOLS, protocols

# Measured on first waves of calibration data (benchmarks/results/follow_up.csv), or derived as it says.
FEW: Final = 12  # dimensions that a population fills, and tells its tail in (`centers.spectrum.FLAT`)
HELD: Final = 0.97  # of the people, there: of a round cloud the last 3 % cost 2 to 1.4 times the noise
# Times the root mean square distance, above: it holds 78 % of real people (median) and 60 % of round groups;
# 1.2 would hold 83 and 93 %, for 1.2 times the noise.
MARGIN: Final = 1.1
# Of what is not known of a ball's center: off the middle a population's mean is so far off.
UNSURE: Final = 0.5
# Part of all people that knows directions well enough: three tenths gain by them, a tenth loses
# (benchmarks/results/questions.csv).
_ENOUGH: Final = 0.25
_FAR_OFF: Final = 0.25  # of the radius: then people half as far around have a quarter of their square by it
AROUND: Final = 2.0  # times such a radius: by Chebyshev it draws back at most 1/2.2² of any people


@runtime_checkable
class Population(Protocol):
    """What a study found, as far as a follow-up needs it: a population."""

    points: NDArray[np.float64]  # (m, d)
    weights: NDArray[np.float64]  # (m,): their shares of the people
    scatter: float  # mean square distance of people from the points
    study_id: str  # of the study's first plan
    plan_ids: tuple[str, ...]  # of the plans that were answered


@dataclass(frozen=True, slots=True)
class NextQuestion:
    """What other people had better be asked after a study's first answers, and why.

    Attributes
    ----------
    asks : str
        "same" (again what was asked), "ball" (whole points, where people are) or "directions"; of a plan that
        was told what to ask "confirm" or "given".
    why : str
        The reason, a sentence with its figures.
    """

    asks: str
    why: str

    def __str__(self) -> str:
        return self.why


def population_in(after: Any) -> Population | None:
    """Return the population of a result, or a population itself; None for anything else."""
    population = getattr(after, "population", after)
    return population if isinstance(population, Population) else None


def unsure_center(after: Any) -> float:
    """Return how far everybody's mean may be from where a result says, about; 0 of a population alone."""
    error = float(getattr(after, "mean_error", np.nan))
    return error * float(np.sqrt(len(after.mean))) if np.isfinite(error) else 0.0


def surely_reached(after: Any) -> NDArray[np.float64]:
    """Return centers of a result that stand clear, their stated radii as a last column: (m, d + 1)."""
    names = ("centers", "errors", "clear")
    if not all(hasattr(after, name) for name in names):
        return np.empty((0, 0))
    told: NDArray[np.float64] = np.column_stack([after.centers, after.errors])
    sure: NDArray[np.bool_] = np.asarray(after.clear) & np.isfinite(told).all(axis=1)
    return told[sure]


class Answer(Protocol):
    """What a study found, as far as a plan needs it that confirms: a result."""

    centers: NDArray[np.float64]  # (k, d), of the groups
    middle: tuple[float, ...] | None  # center of the ball of its last plan; None is the origin
    radius: float  # of that ball
    features: Any  # the declared ones; None where people have points


def answer_in(after: Any) -> Answer:
    """Return a result whose groups can be confirmed, or raise PlanError."""
    if population_in(after) is None or not hasattr(after, "centers"):
        raise PlanError(
            "confirm asks other people about groups that were found: give the Result of the first study as "
            f"`after`, got {shown(type(after).__name__)}"
        )
    return cast("Answer", after)


def groups_to_confirm(answer: Answer, clusters: int, center: Any, radius: float) -> list[list[int]]:
    """Return the centers of an answer as a ball's integers: k lists of d.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> groups_to_confirm(SimpleNamespace(centers=np.array([[2.0, 1.0]])), 1, [1.0, 1.0], 2.0)
    [[524288, 0]]
    """
    centers = np.asarray(answer.centers, dtype=np.float64)
    if centers.ndim != 2 or not np.isfinite(centers).all():
        raise PlanError("the groups to confirm need finite centers, (k, d)")
    if len(centers) != clusters:
        raise PlanError(
            f"clusters is {clusters}, and {len(centers)} groups are to be confirmed: leave it out, or refit "
            "the result"
        )
    integers: list[list[int]] = quantize(centers, center, radius)[0].astype(np.int64).tolist()
    return integers


def ball_after(found: Any) -> tuple[list[float], float]:
    """Return center and radius of a ball that suits the population of a result, or a population.

    Of a result it is wider by what is not known of its center, and holds the centers that stand clear.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> points = np.array([[1.0, 0.0], [3.0, 0.0]])
    >>> population = SimpleNamespace(points=points, weights=np.ones(2), scatter=3.0, study_id="", plan_ids=())
    >>> ball_after(population)  # √(1 + 3)
    ([2.0, 0.0], 2.0)
    """
    population: Population = getattr(found, "population", found)
    reached = surely_reached(found)
    points = np.asarray(population.points, dtype=np.float64)
    weights = np.asarray(population.weights, dtype=np.float64)
    total = float(weights.sum())
    if points.ndim != 2 or weights.shape != (len(points),) or not total > 0:
        raise PlanError("a population needs points (m, d) and weights (m,) that are not all 0")
    center = weights @ points / total
    distances = np.sqrt(((points - center) ** 2).sum(axis=1) + population.scatter)
    if points.shape[1] <= FEW:
        radius = _held_within(distances, weights)
    else:
        radius = MARGIN * float(np.sqrt(weights @ distances**2 / total))
    radius = float(np.hypot(radius, UNSURE * unsure_center(found)))
    if len(reached):
        sure = np.linalg.norm(reached[:, :-1] - center, axis=1) - reached[:, -1]
        radius = max(radius, float(sure.max()))
    if not (np.isfinite(radius) and np.isfinite(center).all()):
        raise PlanError("a population needs finite points")
    if radius == 0:
        raise PlanError(
            "the first study tells nobody apart: its population is one place, and no ball follows from it. "
            "Give a center and a radius, or collect more reports first"
        )
    return center.tolist(), radius


def next_question(
    found: Any,
    radius: float | None = None,
    center: Sequence[float] | None = None,
    people: int | None = None,
    protocol: str = "codeword",
) -> NextQuestion:
    """Return what to ask other people, in the "same" ball, in a better "ball" or in "directions", and why.

    In few dimensions a smaller ball that suits the population is as good as anything. In many, a ball that
    lay in the wrong place comes first: little is known of directions then. After that the directions that the
    population names, which are stretched into a ball of their own; the noise of a report falls with the
    dimension. It names them where no groups were found: these are then found, and what they differ in outside
    the directions is little beside it. Groups that were found lose that, and gain as much or less. For them,
    and where few people told of directions, there is a far smaller ball; and else the same: rows of one ball
    are one body of rows, and whom it held it holds again.
    In a new ball little but its own wave counts, a part s of all people, and noise grows with its square: it
    is far smaller below √s of the old radius. And only if it is so with all that is not known of its center,
    not with the half that widens it.

    Parameters
    ----------
    found : Result or Population
        What the first study found.
    radius : float, optional
        Of the ball it was found in; without it there is no "same".
    center : sequence of float, optional
        Of that ball; the origin if None.
    people : int, optional
        How many others will answer; as many as did before if that or their number is not known.
    protocol : str
        Of the plan that they will answer; most take no directions.
    """
    population: Population = getattr(found, "population", found)
    checked_choice("protocol", protocol, protocols())
    told = getattr(found, "count", None)
    others = told if people is None else checked_integer("expected_users", people, 1, MOST_PEOPLE)
    part = others / (others + told) if told and others else 0.5
    middle, suits = ball_after(found)
    before = "is not known" if radius is None else f"{radius:.3g}"
    smaller = radius is None or suits < radius
    size = f"a ball that suits people has a radius of {suits:.3g}, and the one before {before}"
    if population.points.shape[1] <= FEW:
        return _in_a_ball(smaller, size)
    told_by = f"{1 - part:.0%} of all people have answered"
    if not (told and others):
        told_by = f"how many have answered is not known, and taken for {1 - part:.0%} of all people"
    directions = getattr(population, "directions", None)
    known_by_enough = part < 1 - _ENOUGH
    if directions is not None and known_by_enough and not PROTOCOLS[protocol].takes_directions:
        return _in_a_ball(smaller, f"protocol {protocol} takes no directions; {size}")
    if radius is not None:
        sure, pays = math.hypot(suits, math.sqrt(1 - UNSURE**2) * unsure_center(found)), math.sqrt(part)
        smaller = sure < pays * radius
        size = (
            f"a ball where people are surely has {sure / radius:.2f} of the radius, and pays below {pays:.2f}"
        )
        moved = float(np.linalg.norm(np.array(middle) - (0.0 if center is None else np.array(center))))
        if smaller and moved > _FAR_OFF * radius:
            off = f"people lie {moved / radius:.2f} of the radius off its center, more than {_FAR_OFF:g}"
            return _in_a_ball(True, f"{off}; {size}")
    if directions is not None and known_by_enough:
        return NextQuestion(
            "directions",
            f"Asked about are the {len(directions)} directions in which people differ most: no groups were "
            f"found, and {told_by}, where more than {_ENOUGH:.0%} know directions well enough",
        )
    groups = int(getattr(found, "supported", 0))
    if directions is not None:
        known = f"no groups were found, but {told_by}, and directions take more than {_ENOUGH:.0%}"
    elif groups:
        known = "1 group stands clear" if groups == 1 else f"{groups} groups stand clear"
    else:
        known = "no directions are known in which others had better report"
    return _in_a_ball(smaller, f"{known}; {size}")


def _in_a_ball(better: bool, why: str) -> NextQuestion:
    if better:
        return NextQuestion("ball", f"Asked about is a better ball: {why}")
    return NextQuestion("same", f"The same is asked again: {why}")


def orthonormal(directions: object) -> list[list[int]]:
    """Return directions, (m, d), as a plan has them: orthogonal, of length 1, in steps of 2^-20.

    Examples
    --------
    >>> orthonormal([[3.0, 4.0]])
    [[629146, 838861]]
    """
    given = np.array(directions, dtype=np.float64)
    if given.ndim != 2 or not given.size or not np.isfinite(given).all():
        raise PlanError("directions must be a (m, d) array of finite numbers, a direction a row")
    basis, left = np.linalg.qr(given.T)
    sizes = np.abs(np.diag(left))
    if len(given) > given.shape[1] or not sizes.min(initial=np.inf) > 1e-9 * sizes.max():
        raise PlanError("directions must not depend on each other: leave out those that add nothing")
    return _steps(basis.T * np.sign(np.diag(left))[:, None])


def directions_after(population: Any, radius: float) -> tuple[float, list[list[int]]]:
    """Return the radius and the directions of a plan that reports in those that a population names.

    Parameters
    ----------
    population : Population
        What the first study found; with orthonormal `directions`, (m, d).
    radius : float
        Of a ball around the population's mean that suits whole points.
    """
    points, weights = np.asarray(population.points), np.asarray(population.weights)
    directions = population.directions
    center = weights @ points / weights.sum()
    seen = (points - center) @ directions.T
    hidden = np.sqrt(population.scatter / points.shape[1])  # of a coordinate
    seen = seen + hidden * np.random.default_rng(0).standard_normal(seen.shape)
    lengths = np.linalg.norm(seen, axis=1)
    around, longest = AROUND * radius, MAX_STRETCH * (1 - 1e-5)
    reached = _held_within(lengths, weights)  # 0 where nobody differs in any of them
    return around, _steps(around / max(reached, around / longest) * directions)


def _held_within(distances: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the distance within which `HELD` of the people are: (m,), (m,) -> float."""
    order = np.argsort(distances, kind="stable")
    last = int(np.searchsorted(np.cumsum(weights[order]), HELD * weights.sum()))
    return float(distances[order[min(last, len(order) - 1)]])


def _steps(directions: NDArray[np.float64]) -> list[list[int]]:
    return [[int(x) for x in row] for row in np.rint(directions * SCALE)]
