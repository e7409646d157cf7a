"""What decoding gives: the centers, and what a user needs to judge them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.atoms import Population
from coterie.centers.solution import OBJECTIVES, Choice, Distance, Interval, squared_distances
from coterie.errors import DecodeError
from coterie.plain.files import replacing
from coterie.plain.words import letter, listed, number_word
from coterie.privacy import Guarantee
from coterie.protocols.base import Leverage

if TYPE_CHECKING:
    from coterie.aggregate import Aggregate
    from coterie.centers.confirmed import Confirmed
    from coterie.centers.groups import Group
    from coterie.features import Estimate, Schema
    from coterie.plan import Plan

__all__ = ["Choice", "Interval", "Population", "Result"]

VERSION: Final = 3  # of `to_dict`: 2 had no `fragile`; 1 radii of another target, and nothing explained


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Private cluster centers. All of it is post-processing of private reports.

    What is said has a truth: whoever had all the data could check it.

    Attributes
    ----------
    centers : ndarray of float64, shape (k, d)
        In the original coordinates, the largest group first. Where the reports tell no groups apart, all of
        them are the mean of everybody.
    weights : ndarray of float64, shape (k,)
        Estimated share of the people who are nearest to each center.
    errors : ndarray of float64, shape (k,)
        In the original units: the radius around each center that holds the mean of the people nearest to it,
        in `coverage` of all cases. Where `coverage` is None, the root mean square of the noise, and no more
        than a scale. NaN where the centers are a `refit`, or medians.
    weight_errors : ndarray of float64, shape (k,)
        Half the width of the shares' intervals at `coverage`; NaN where that is None.
    clear : ndarray of bool, shape (k,)
        Which groups stand clear of the noise: the reports would be explained much worse without them. Of a
        `refit` none is known to, and of medians those whose means do.
    explained : Interval
        The share of people's spread that the centers explain, 1 - cost/(cost of the mean), with its
        interval; NaN where nothing is stated.
    notes : tuple of str
        Cautions in plain words, the worst first, at most five; empty when there is nothing to say.
    count : int
        Reports used.
    guarantee : Guarantee
        What each person was promised.
    plan_id : str
        The plan that the reports answered; of several, the last.
    population : Population
        Weighted points that explain the reports: what the centers are the k-means of.
    mean : ndarray of float64, shape (d,)
        Of everybody, read off the reports.
    mean_error : float
        Deviation of each of its coordinates.
    coverage : float or None
        The rate that errors and intervals state; None where they are the noise alone, or unknown.
    profile : ndarray of float64, shape (d,), or None
        Deviation of each coordinate of a group's mean as a part of its radius.
    alternatives : tuple of tuple of int
        Other answers that k-means finds as good: of each, the groups of this one that it cuts otherwise.
    choices : tuple of Choice
        What other numbers of groups would explain, by the same reports.
    features : Schema or None
        The features that the plan declares; None where people have points.
    radius : float
        Of the ball that holds everybody, in the original units.
    leverage : Leverage or None
        What one forged report may weigh; None where that is not known.
    middle : tuple of float or None
        Center of that ball; None is the origin.
    confirmed : Confirmed or None
        Where the last plan asked about published groups: what other people confirm of them. `centers`,
        `weights` and `groups` then are of the people nearest to the published centers, in their order.
    distance : Distance or None
        Of `decode(..., objective="medians")`: the mean distance of people to the nearest center, in the
        original units, and its deviation, where the reports tell it (docs/theory/k-medians.md).
    tree : object or None
        What the tree protocols built on the way: tree, leaves, partition, centers in the projected space.
    """

    centers: NDArray[np.float64]
    weights: NDArray[np.float64]
    errors: NDArray[np.float64]
    weight_errors: NDArray[np.float64]
    clear: NDArray[np.bool_]
    explained: Interval
    notes: tuple[str, ...]
    count: int
    guarantee: Guarantee
    plan_id: str
    population: Population
    mean: NDArray[np.float64]
    mean_error: float = math.nan
    coverage: float | None = None
    profile: NDArray[np.float64] | None = None
    alternatives: tuple[tuple[int, ...], ...] = ()
    choices: tuple[Choice, ...] = ()
    tree: Any = None
    features: Schema | None = None
    radius: float = math.inf
    middle: tuple[float, ...] | None = None
    confirmed: Confirmed | None = None
    leverage: Leverage | None = None
    distance: Distance | None = None

    @property
    def fragile(self) -> NDArray[np.float64]:
        """The least share of forged reports that could have made each group up, and moved it by its radius.

        Shape (k, 2). Of n reports, λ·n forged ones weigh as much as λ·W·n people: they make a group of the
        share s where there is none if λ = s/W, and move the mean of one that is there by its radius if λ·W
        pushes outweigh it. NaN where the weight of a report, or the radius, is not known
        (docs/poisoning.md).
        """
        if self.leverage is None:
            return np.full((len(self.weights), 2), np.nan)
        known = self.coverage is not None and math.isfinite(self.radius)
        radii = self.errors / self.radius if known else np.full(len(self.errors), np.nan)
        made = self.weights / self.leverage.people
        moved = self.weights * radii / self.leverage.radii
        return np.stack([made, moved], axis=1)

    @property
    def supported(self) -> int:
        """How many groups stand clear of the noise. Fewer than k: ask for fewer, or collect more reports."""
        return int(self.clear.sum())

    @property
    def is_stated(self) -> bool:
        """Whether anything is stated of the centers' errors: not of a `refit`, nor of medians."""
        return not bool(np.isnan(self.errors).all())

    @property
    def standing(self) -> str:
        """How many groups stand clear of the noise, in words; how many there are, where nothing is stated."""
        number, some = len(self.centers), int(np.count_nonzero(self.weights))
        if not self.is_stated:
            return f"{some} group{'s' * (some != 1)}"
        if some == 1:
            return "one group: everybody"
        if too_many(self.clear, self.explained):
            return f"there are groups, but {number_word(number)} are too many to tell apart"
        return f"{self.supported} of {number} groups stand clear of the noise"

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
        """Each group in words: its share, its figures with intervals, what sets it apart."""
        from coterie.centers.groups import groups_of  # words are not needed to decode

        return groups_of(self)

    @property
    def everybody(self) -> tuple[Estimate, ...]:
        """The mean of all people in words, with intervals: what groups are compared with."""
        from coterie.centers.groups import everybody_of

        return everybody_of(self)

    def describe(self) -> str:
        """Return what was found, group by group, with the cautions first.

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
        clear = self.standing
        if explaining := _explaining(self):
            clear += f"; together they explain {explaining} of people's spread"
        told = [group for group in self.groups if group.share > 0]
        from coterie.centers.groups import forging

        forged = [said] if (said := forging(self.clear, self.fragile)) else []
        words = [] if self.confirmed is None else [self.confirmed.words]
        words += [] if self.distance is None else [distance_words(self.distance)]
        words += [other] if (other := other_answers(self.alternatives)) else []
        lines = [f"{self.count:,} people, {clear}", *self.notes, *words, *map(str, told), *forged]
        return "\n".join(lines)

    def __repr__(self) -> str:
        told = self.standing.replace(" stand clear of the noise", " clear")
        if explaining := _explaining(self):
            told += f", explained {explaining}"
        cautions = f", {len(self.notes)} note{'s' * (len(self.notes) != 1)}" if self.notes else ""
        return (
            f"Result({self.count:,} people, {told}, epsilon={self.guarantee.epsilon:g}{cautions}, "
            f"plan {self.plan_id[:12]}…)"
        )

    def _repr_html_(self) -> str:
        """Return the result for a notebook: its page, in a frame in which nothing runs."""
        page = import_module("coterie.show.results").result_page(self)  # a room above, and its extra
        return f'<iframe sandbox title="Result" width="100%" height="640" srcdoc="{escape(page)}"></iframe>'

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        plans: Sequence[Plan] = (),
        tables: Sequence[Aggregate] = (),
        title: str = "",
        overwrite: bool = False,
    ) -> None:
        """Write a report for people who were not there: one page that opens from disk and calls nobody.

        Parameters
        ----------
        path : str or path
            Where to write it (HTML).
        plans : sequence of Plan
            What people answered (`model.plans_`): the page then says what was asked and expected.
        tables : sequence of Aggregate
            What the result was found from: the page then says whether the reports look honest.
        title : str
            What the study is called.
        overwrite : bool
            Whether a file that exists is replaced.
        """
        show = import_module("coterie.show.report")  # a room above, and its extra
        about = {"plans": plans, "tables": tables, "title": title}
        made = show.report_document(self.to_dict(), self.guarantee, self.radius, **about)
        page: str = show.report_page(made, self.guarantee, self.features, self.radius)
        with replacing(path, overwrite=overwrite) as file:
            file.write(page.encode("utf-8"))

    def to_frame(self, library: str = "pandas") -> Any:
        """Return the groups as a data frame, one row per figure, in a library that is installed.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}
            Whose data frame.

        Returns
        -------
        DataFrame or Table
            Columns group, group_share, group_low, group_high, group_clear, feature, what, label, value, low,
            high, unit; see `Group` and `Estimate`.
        """
        from coterie.centers.frames import frame_of  # few ask for one

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
            With the same guarantee, plans, count, mean and population. Nothing is stated of the centers:
            their errors are NaN, none counts as clear, and a note says so. `decode` with `clusters=k` states
            it, and finds tight groups better.

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
        from coterie.centers.refit import fit_means, fit_medians

        if objective not in OBJECTIVES:
            raise DecodeError(f"objective must be one of {', '.join(OBJECTIVES)}, got {objective!r}")
        points, weights = self.population.points, self.population.weights
        if type(k) is not int or not 1 <= k <= len(points):
            raise DecodeError(f"k must be an integer from 1 to {len(points)}, the points of the population")
        rng = np.random.default_rng(random_state)
        if objective == "means":
            centers = fit_means(points, weights, k, rng)
        else:
            centers = fit_medians(points, weights, k, rng, self.population.scatter)
        labels = squared_distances(points, centers).argmin(axis=1)
        shares = np.bincount(labels, weights, minlength=len(centers))
        order = np.argsort(-shares, kind="stable")
        centers, shares = centers[order], shares[order]
        note = (
            f"Centers that are {objective} of the population: nothing is stated of their errors, shares and "
            f"support. Decode with clusters={k} to have it stated."
        )
        unknown = np.full(len(centers), np.nan)
        return replace(
            self,
            centers=centers,
            weights=shares / shares.sum(),
            errors=unknown,
            weight_errors=unknown,
            clear=np.zeros(len(centers), dtype=bool),
            explained=Interval(math.nan, math.nan, math.nan),
            notes=(note,),
            coverage=None,
            profile=None,
            alternatives=(),
            choices=(),
            confirmed=None,
            distance=None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists and numbers, for JSON."""
        confirmed = {} if self.confirmed is None else {"confirmed": self.confirmed.to_dict()}
        distance = {} if self.distance is None else {"distance": self.distance._asdict()}
        return {
            "version": VERSION,
            "centers": self.centers.tolist(),
            "weights": self.weights.tolist(),
            "errors": self.errors.tolist(),
            "weight_errors": self.weight_errors.tolist(),
            "clear": self.clear.tolist(),
            "coverage": self.coverage,
            "supported": self.supported,
            "explained": self.explained._asdict(),
            "mean": self.mean.tolist(),
            "mean_error": self.mean_error,
            "profile": None if self.profile is None else self.profile.tolist(),
            "alternatives": [list(cut) for cut in self.alternatives],
            "fragile": self.fragile.tolist(),
            "choices": [
                {"clusters": each.clusters, "explained": each.explained._asdict(), "apart": each.apart}
                for each in self.choices
            ],
            "notes": list(self.notes),
            "count": self.count,
            "epsilon": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "model": self.guarantee.model,
            "plan_id": self.plan_id,
            "plan_ids": list(self.plan_ids),
            "study_id": self.study_id,
            "groups": [asdict(group) for group in self.groups],
            "everybody": [asdict(estimate) for estimate in self.everybody],
            **confirmed,
            **distance,
        }


def distance_words(distance: Distance) -> str:
    """Return how far people are from the nearest center, in words.

    Examples
    --------
    >>> distance_words(Distance(0.7181, 0.0123))
    'People are 0.718 ± 0.012 (one deviation) from the nearest center on average.'
    """
    return (
        f"People are {distance.value:.3g} ± {distance.deviation:.2g} (one deviation) from the nearest center "
        "on average."
    )


def too_many(clear: NDArray[np.bool_], explained: Interval) -> bool:
    """Return whether there are groups, and more were asked for than can be told apart: none stands clear."""
    return not clear.any() and explained.low > 0


def ask_for(choices: Sequence[Choice], clusters: int) -> str:
    """Say how many to ask for instead of so many: the most, but fewer, whose groups can be told apart.

    Examples
    --------
    >>> ask_for([Choice(k, Interval(0.5, 0.4, 0.6), k < 4) for k in range(1, 9)], 8)
    'ask for 3'
    """
    fewer = [each.clusters for each in choices if each.apart and 1 < each.clusters < clusters]
    return f"ask for {max(fewer, default='fewer')}"


def other_answers(alternatives: Sequence[Sequence[int]]) -> str:
    """Say which other answers are as good; nothing where there are none.

    Examples
    --------
    >>> other_answers([(1,)])
    'k-means finds one other answer as good; it cuts group B otherwise.'
    """
    number = len(alternatives)
    if not number:
        return ""
    cut = sorted({group for each in alternatives for group in each})
    several = number > 1
    names = f"group{'s' * (len(cut) > 1)} {listed([letter(each) for each in cut])}" if cut else "no group"
    words = f"k-means finds {number_word(number)} other answer{'s' * several} as good"
    return f"{words}; {'they cut' if several else 'it cuts'} {names} otherwise."


def _explaining(result: Result) -> str:
    """Write the share that groups explain, with its range, which stands alone where it is vague."""
    value, low, high = result.explained
    if math.isnan(value) or np.count_nonzero(result.weights) == 1:
        return ""
    vague = result.explained.is_vague
    return f"between {low:.0%} and {high:.0%}" if vague else f"{value:.0%} [{low:.0%}, {high:.0%}]"
