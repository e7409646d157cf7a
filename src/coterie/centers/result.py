"""What decoding gives: the centers, and what a user needs to judge them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.privacy import Guarantee


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """What the reports say about everybody, as weighted points: post-processing, useful beyond k-means.

    The points are not people. They may be reused wherever the result's guarantee holds, and so not where
    coins were seeded or the ball was fitted to data.
    """

    points: NDArray[np.float64]  # (m, d), in the original coordinates
    weights: NDArray[np.float64]  # (m,), shares of the people


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Private cluster centers. All of it is post-processing of private reports.

    Attributes
    ----------
    centers : ndarray of float64, shape (k, d)
        In the original coordinates. Always k of them; the mean of everybody stands in for those without
        support.
    weights : ndarray of float64, shape (k,)
        Estimated share of the people at each center. One without support has none of its own: 0.
    errors : ndarray of float64, shape (k,)
        Radius around each center that holds the center which k-means would find on the people's own points,
        in `coverage` of all studies; in the original units. A center without support has the ball's radius
        here.
    supported : int
        How many centers stand clear of noise. Fewer than k: ask for fewer clusters or collect more reports.
    notes : tuple of str
        Cautions in plain words; empty when there is nothing to say.
    count : int
        Reports used.
    guarantee : Guarantee
        What each person was promised.
    plan_id : str
        The plan that the reports answered.
    population : Population
        Weighted points that explain the reports: what the centers are the k-means of.
    coverage : float
        The rate that `errors` states.
    """

    centers: NDArray[np.float64]
    weights: NDArray[np.float64]
    errors: NDArray[np.float64]
    supported: int
    notes: tuple[str, ...]
    count: int
    guarantee: Guarantee
    plan_id: str
    population: Population
    coverage: float = 0.9

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists and numbers, for JSON."""
        return {
            "centers": self.centers.tolist(),
            "weights": self.weights.tolist(),
            "errors": self.errors.tolist(),
            "coverage": self.coverage,
            "supported": self.supported,
            "notes": list(self.notes),
            "count": self.count,
            "epsilon": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "model": self.guarantee.model,
            "plan_id": self.plan_id,
        }
