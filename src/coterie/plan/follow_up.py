"""The ball of a follow-up plan: where a first study found people, and how far around.

    center   the weighted mean c of the first study's population
    radius   1.1 times the distance from c within which 99 % of the people lie: a person at a point x of the
             population is √(|x - c|² + scatter) away, with what its points do not show (`centers.scatter`)

It is sequential interaction with the population of people, with one message per person: the first ones answer
a plan with a ball known beforehand, others one with a ball that follows from the first ones' private reports.
People are disjoint, so each person's ε is that of the one plan they answered; a ledger answers one plan of a
study, ever.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError

HELD: Final = 0.99  # share of the population that the ball holds
MARGIN: Final = 1.1  # the population is known up to noise


class Population(Protocol):
    """What a study found, as far as a follow-up needs it: a population."""

    @property
    def points(self) -> NDArray[np.float64]:
        """Places, (m, d)."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """Their shares of the people, (m,)."""

    @property
    def scatter(self) -> float:
        """Mean square distance of people from the points."""

    @property
    def study_id(self) -> str:
        """Id of the study's first plan."""

    @property
    def plan_ids(self) -> tuple[str, ...]:
        """Ids of the plans that were answered."""


def population_in(after: Any) -> Population | None:
    """Return the population of a result, or a population itself; None for anything else."""
    population = getattr(after, "population", after)
    names = ("points", "weights", "scatter", "study_id", "plan_ids")
    return population if all(hasattr(population, name) for name in names) else None


def ball_after(population: Population) -> tuple[list[float], float]:
    """Return center and radius of a ball that holds nearly all of a population.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> points = np.array([[1.0, 0.0], [3.0, 0.0]])
    >>> population = SimpleNamespace(points=points, weights=np.ones(2), scatter=3.0, study_id="", plan_ids=())
    >>> ball_after(population)  # 1.1 times √(1 + 3)
    ([2.0, 0.0], 2.2)
    """
    points = np.asarray(population.points, dtype=np.float64)
    weights = np.asarray(population.weights, dtype=np.float64)
    total = float(weights.sum())
    if points.ndim != 2 or weights.shape != (len(points),) or not total > 0:
        raise PlanError("a population needs points (m, d) and weights (m,) that are not all 0")
    center = weights @ points / total
    distances = np.sqrt(((points - center) ** 2).sum(axis=1) + population.scatter)
    order = np.argsort(distances, kind="stable")
    reached = np.searchsorted(np.cumsum(weights[order]), HELD * total)
    radius = MARGIN * float(distances[order[min(int(reached), len(order) - 1)]])
    if not (np.isfinite(radius) and np.isfinite(center).all()):
        raise PlanError("a population needs finite points")
    if radius == 0:
        raise PlanError(
            "the first study tells nobody apart: its population is one place, and no ball follows from it. "
            "Give a center and a radius, or collect more reports first"
        )
    return center.tolist(), radius
