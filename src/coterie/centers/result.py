"""What decoding gives: the centers, and what a user needs to judge them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.privacy import Guarantee

if TYPE_CHECKING:
    from coterie.centers.k_means_decoder import NetTreeOutcome
    from coterie.centers.lsh_tree import LshTreeOutcome


@dataclass(frozen=True, slots=True, eq=False)
class Coreset:
    """A private summary of the data: weighted points, useful beyond k-means."""

    points: NDArray[np.float64]  # (m, d), in the original coordinates
    weights: NDArray[np.float64]  # (m,), shares of the people
    noise: NDArray[np.float64]  # (m,), root mean square error of a point by privacy noise, before shrinking


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Private cluster centers. All of it is post-processing of private reports.

    Attributes
    ----------
    centers : ndarray of float64, shape (k, d)
        In the original coordinates. Always k of them; those that are not supported are the mean of everybody.
    weights : ndarray of float64, shape (k,)
        Estimated share of the people at each center; they sum to 1.
    errors : ndarray of float64, shape (k,)
        Root mean square distance of each center from where it would be without privacy noise, in the original
        units. An estimate; it does not know whether two groups were taken for one. A center that noise alone
        explains has the ball's radius here.
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
    coreset : Coreset
        The cells that stand above the noise, as weighted points.
    tree : NetTreeOutcome, LshTreeOutcome or None
        What the tree protocols built on the way: tree, leaves, partition, centers in the projected space.
    """

    centers: NDArray[np.float64]
    weights: NDArray[np.float64]
    errors: NDArray[np.float64]
    supported: int
    notes: tuple[str, ...]
    count: int
    guarantee: Guarantee
    plan_id: str
    coreset: Coreset
    tree: NetTreeOutcome | LshTreeOutcome | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists and numbers, for JSON."""
        return {
            "centers": self.centers.tolist(),
            "weights": self.weights.tolist(),
            "errors": self.errors.tolist(),
            "supported": self.supported,
            "notes": list(self.notes),
            "count": self.count,
            "epsilon": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "model": self.guarantee.model,
            "plan_id": self.plan_id,
        }
