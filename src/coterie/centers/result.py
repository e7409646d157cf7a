"""What decoding gives: the centers, and what a user needs to judge them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.centers.atoms import Population
from coterie.centers.groups import Group, frame_of, groups_of
from coterie.centers.refit import OBJECTIVES, fit_means, fit_medians, nearest_center
from coterie.errors import DecodeError
from coterie.features import Schema
from coterie.privacy import Guarantee

if TYPE_CHECKING:
    from coterie.centers.k_means_decoder import NetTreeOutcome
    from coterie.centers.lsh_tree import LshTreeOutcome

__all__ = ["Population", "Result"]


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Private cluster centers. All of it is post-processing of private reports.

    Attributes
    ----------
    centers : ndarray of float64, shape (k, d)
        In the original coordinates. Always k of them. The mean of everybody stands in for those without
        support; the paper's decoders leave them where they were found.
    weights : ndarray of float64, shape (k,)
        Estimated share of the people at each center. One without support has none of its own: 0.
    errors : ndarray of float64, shape (k,)
        In the original units: the radius around each center that holds the center which k-means would find
        on the people's own points, in `coverage` of all studies. Where `coverage` is None, the root mean
        square of the noise, and no more than a scale. A center without support has the ball's radius here;
        NaN where the centers are a `refit`.
    supported : int
        How many centers stand clear of noise. Fewer than k: ask for fewer clusters or collect more reports.
    notes : tuple of str
        Cautions in plain words; empty when there is nothing to say.
    count : int
        Reports used.
    guarantee : Guarantee
        What each person was promised.
    plan_id : str
        The plan that the reports answered; of several, the last.
    population : Population
        Weighted points that explain the reports: what the centers are the k-means of.
    coverage : float or None
        The rate that `errors` states; None where they are the noise alone, or unknown.
    features : Schema or None
        The features that the plan declares; None where people have points.
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
    population: Population
    coverage: float | None = None
    tree: NetTreeOutcome | LshTreeOutcome | None = None
    features: Schema | None = None

    @property
    def plan_ids(self) -> tuple[str, ...]:
        """Ids of all plans whose reports were used, in order."""
        return self.population.plan_ids

    @property
    def study_id(self) -> str:
        """The study that the plans belong to: the id of its first plan."""
        return self.population.study_id

    @property
    def groups(self) -> tuple[Group, ...]:
        """Each center in words: its share, its figures with intervals, what sets it apart."""
        return groups_of(self.centers, self.weights, self.errors, self.coverage, self.features)

    def describe(self) -> str:
        """Say what was found, group by group, with the cautions first.

        Examples
        --------
        >>> from coterie import Aggregate, Client, Plan, decode
        >>> from coterie.features import Flag, Number
        >>> people = [Number("age", 0, 100, unit="years"), Flag("member")]
        >>> plan = Plan.design(features=people, clusters=2, epsilon=4.0, expected_users=4000)
        >>> table = Aggregate(plan)
        >>> table.add(Client(plan).encode_many({"age": [20, 80] * 2000, "member": [False, True] * 2000}))
        >>> print(decode(table, random_state=0).describe())  # doctest: +ELLIPSIS
        4,000 people, ...
        """
        clear = f"{self.supported} of {len(self.centers)} groups stand clear of the noise"
        return "\n".join([f"{self.count:,} people, {clear}", *self.notes, *map(str, self.groups)])

    def to_frame(self, library: str = "pandas") -> Any:
        """Return the groups as a data frame, one row per figure, in a library that is installed.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}
            Whose data frame.

        Returns
        -------
        DataFrame or Table
            Columns group, group_share, feature, what, label, value, low, high, unit; see `Estimate`.
        """
        return frame_of(self.groups, library)

    def refit(
        self,
        k: int,
        *,
        objective: str = "means",
        random_state: int | np.random.Generator | None = None,
    ) -> Result:
        """Ask the population for another number of centers, or for medians: post-processing, so free.

        Parameters
        ----------
        k : int
            Centers to find, at most the points of the population.
        objective : {"means", "medians"}
            The sum of squared distances, or of distances: medians follow far-off points less.
        random_state : int, Generator or None
            Seed of k-means++. The same result and seed give the same centers.

        Returns
        -------
        Result
            With the same guarantee, plans, count and population. Its errors are unknown: NaN, and a note says
            so. `decode` with `clusters=k` states errors, and finds tight groups better.

        Examples
        --------
        >>> from coterie import Aggregate, Client, Plan, decode
        >>> plan = Plan.design(dimension=2, clusters=2, epsilon=4.0, expected_users=2000)
        >>> table = Aggregate(plan)
        >>> table.add(Client(plan).encode_many(np.repeat([[0.8, 0.0], [-0.8, 0.0]], 1000, axis=0)))
        >>> result = decode(table, random_state=0)
        >>> result.refit(3, objective="medians", random_state=0).centers.shape
        (3, 2)
        """
        if objective not in OBJECTIVES:
            raise DecodeError(f"objective must be one of {', '.join(OBJECTIVES)}, got {objective!r}")
        points, weights = self.population.points, self.population.weights
        if type(k) is not int or not 1 <= k <= len(points):
            raise DecodeError(f"k must be an integer from 1 to {len(points)}, the points of the population")
        fit = fit_means if objective == "means" else fit_medians
        centers = fit(points, weights, k, np.random.default_rng(random_state))
        labels, _ = nearest_center(points, centers)
        shares = np.bincount(labels, weights, minlength=len(centers))
        note = (
            f"These {k} centers are {objective} of the population: their errors were not computed, and how "
            "many of them stand clear of the noise is not known (`supported` counts no more than the fit's). "
            f"Decode with clusters={k} to have errors stated."
        )
        return replace(
            self,
            centers=centers,
            weights=shares / shares.sum(),
            errors=np.full(len(centers), np.nan),
            supported=min(k, self.supported),
            notes=(note,),
            coverage=None,
        )

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
            "plan_ids": list(self.plan_ids),
            "study_id": self.study_id,
            **({} if self.features is None else {"groups": [asdict(group) for group in self.groups]}),
        }
