"""What can be said of an answer, by doing everything again.

Whoever had all the data could check these, and they have a truth: of the people nearest to a stated center
their mean and their share, and of all centers the share of everybody's spread that they explain. The people
whom the answer supposes are taken as the truth; their rows get fresh noise of the known law; everything is
found again from fresh starts, and the centers so found are compared with the supposed people nearest to
*them*. No center has to be matched with another.

What the supposed people cannot show is put into them: outside the subspace that stands clear of the noise the
means of true groups differ by what the noise can hide there (`Found.hidden`). And real people are none of the
model's: where it misses rows that took no part in the fits by more than their noise, all errors are larger by
as much (Birge's ratio).

A distance of a group of share p is taken in units of 1/√p, an error of its share in units of √p: both are
then much alike for all groups (benchmarks/results/statements.csv) and can be pooled over them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from coterie.centers.answer import Answer, by_number
from coterie.centers.blobs import Blobs
from coterie.centers.exact import on_grid
from coterie.centers.population import Cloud, misfit
from coterie.centers.solution import (
    COVERAGE,
    LEAST_SHARE,
    Choice,
    Interval,
    Weighted,
    into_ball,
    squared_distances,
    with_equal_points,
)
from coterie.protocols.codeword.oracles.rows import ViewRows
from coterie.wire.workers import on_all_cores

REPEATS: Final = 8

# Deviation of a share e that is explained, over √(e·(1 - e)), besides what repeated fits show: measured on
# other data than is reported on (benchmarks/results/calibration.csv).
_MODEL: Final = 0.04

# What errors are larger by than repetitions show, besides the misfit: of calibration data mixtures need 1.05,
# real people 0.93 (benchmarks/results/calibration.csv), and nobody who reads a result knows which theirs are.
_LARGER: Final = 1.05
_LITTLE: Final = 0.02  # of people's spread: less is not worth a group


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """An answer, and the people whom it supposes."""

    answer: Answer
    people: Weighted  # scatter and all
    basis: NDArray[np.float64]  # (d, r): the subspace that stands clear of the noise
    hidden: float  # mean square distance of a group's mean from its center that noise can hide outside it
    scatter: float  # mean square distance of people from the answer's points
    sure: bool = False  # beyond doubt round, or cells half of which stand clear: rows left out are not asked
    peak: float = 0.0  # deviations by which the rows ask for one more group
    spare: tuple[int, int] | None = None  # two groups that one would explain as well
    blobs: Blobs | None = None  # round groups that were found beyond doubt
    clear: NDArray[np.bool_] | None = None  # (k,): which groups stand clear, where the finder knows
    members: tuple[Cloud, ...] = ()  # the populations that were pooled


Finder = Callable[[Sequence[ViewRows], int, np.random.Generator, int], Found | None]


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What repeated fits say of an answer."""

    radii: NDArray[np.float64]  # (k,), hold the mean of the people nearest to each center
    share_errors: NDArray[np.float64]  # (k,)
    profile: NDArray[np.float64]  # (d,): deviation of a coordinate over the radius
    explained: Interval
    choices: tuple[Choice, ...]
    best: int  # number of groups: the fewest than which no more that can be told apart explain more


def repeated(
    find: Finder,
    views: Sequence[ViewRows],
    found: Found,
    rng: np.random.Generator,
    repeats: int,
    most: int,
) -> Told | None:
    """Find everything again on what the supposed people would have reported; None if nothing came of it.

    Parameters
    ----------
    find : Finder
        What found it.
    views : sequence of ViewRows
        The rows: their functions and deviations.
    found : Found
        What was found.
    rng : numpy Generator
        The analyst's.
    repeats : int
        How often.
    most : int
        Numbers of groups, from 1, of which is told what they would explain.
    """
    clusters = len(found.answer.centers)
    points, weights = _truth(found, rng)
    truth = on_grid(points), weights  # their rows are the same on every processor
    rows = [view.predicted(*truth) for view in views]
    noise = [view.noise_covariance(*truth, row) for view, row in zip(views, rows, strict=True)]
    factors = [np.linalg.cholesky(one).T for one in noise]
    moments = [None if view.moment is None else view.second_moment(*truth) for view in views]

    def again(own: np.random.Generator) -> _Again | None:
        noisy = [
            replace(
                view,
                vectors=row + view.deviations[:, None] * own.standard_normal(row.shape) @ factor,
                moment=None if view.moment is None or true is None else view.moment.drawn(true, own),
            )
            for view, row, factor, true in zip(views, rows, factors, moments, strict=True)
        ]
        other = find(noisy, clusters, own, 1)
        return None if other is None else _compared(other, truth, most)

    # Each with a generator of its own, so that it does not matter which of them is done first.
    with with_equal_points(), on_all_cores() as map_all:
        done = [one for one in map_all(again, rng.spawn(repeats)) if one is not None]
    if not done:
        return None
    answer = found.answer
    scale = np.sqrt(np.maximum(answer.shares, LEAST_SHARE))
    misses = np.concatenate([one.misses for one in done])  # (repeats·k, d)
    squares = (misses**2).mean(axis=0)
    wider = _LARGER * (1.0 if found.sure else _strain(views, rows, noise, found.basis))
    reach = _reach(np.linalg.norm(misses, axis=1))
    said = _explained(found.people, answer.centers)
    wrong = _reach(np.abs(np.concatenate([one.share_misses for one in done])))
    radii = np.minimum(wider * reach / scale, 1.0)
    choices = _choices(found, done, most, wider, radii)
    explained = _interval(said, np.array([one.said - one.true for one in done]), found.sure)
    return Told(
        radii=radii,
        share_errors=np.minimum(wider * wrong * scale, 1.0),
        profile=np.sqrt((squares + squares.mean()) / 2) / max(reach, 1e-12),
        explained=explained if clusters > 1 else choices[0].explained,
        choices=choices,
        best=_best(
            choices,
            np.stack([one.true_by[:, 0] / one.true_by[:, 1] for one in done]),
            *_room(found),
        ),
    )


def _reach(misses: NDArray[np.float64]) -> float:
    """Return what one more miss stays within at the stated rate: the (n + 1)·rate-th of n, or the largest."""
    return float(np.quantile(misses, COVERAGE, method="weibull"))


def _room(found: Found) -> tuple[int, float]:
    """Return in how many directions groups are looked for, and the part of people's spread in these."""
    size = found.basis.shape[1]
    if not size:
        return len(found.basis), 1.0
    points, weights = found.people
    return size, _spread((points @ found.basis, weights)) / max(_spread(found.people), 1e-300)


def _best(choices: Sequence[Choice], explained: NDArray[np.float64], directions: int, room: float) -> int:
    """Return the fewest groups than which no larger number explains more: (repeats, most) -> k.

    Only numbers of groups that can be told apart are looked at. What each further group explains must be more
    than noise, repetition by repetition; more than cutting a round group in two would, 2/(πr) of its spread
    in r directions, of which all together have `room` of everybody's; and worth a group at all.
    """
    apart = [choice.clusters - 1 for choice in choices if choice.apart]
    for place in apart:
        left = max(room - float(explained[:, place].mean()), 0.0)
        cut = 2 / (math.pi * directions) * left / (place + 1)
        gains = [(more - place, explained[:, more] - explained[:, place]) for more in apart if more > place]
        if all(
            float(gain.mean()) <= max(normal() * float(gain.std()), number * cut, number * _LITTLE)
            for number, gain in gains
        ):
            return place + 1
    return apart[-1] + 1


@dataclass(frozen=True, slots=True, eq=False)
class _Again:
    """One repetition."""

    misses: NDArray[np.float64]  # (k, d): centers less the means of the people nearest to them, times √share
    share_misses: NDArray[np.float64]  # (k,): shares less the true ones, over √share
    said: NDArray[np.float64]  # (2,), what is explained as the repetition has it, and of which spread
    true: NDArray[np.float64]  # (2,), and as it is
    said_by: NDArray[np.float64]  # (most, 2): the same by the number of groups
    true_by: NDArray[np.float64]
    reach_by: NDArray[np.float64]  # (most,): `COVERAGE` of the lengths of misses


def _truth(found: Found, rng: np.random.Generator) -> Weighted:
    """Return the supposed people, each group moved outside the subspace by what noise can hide there."""
    points, weights = found.people
    centers, basis = found.answer.centers, found.basis
    free = len(basis) - basis.shape[1]
    if not free or not found.hidden:
        return points, weights
    labels = squared_distances(points, centers).argmin(axis=1)
    moves = rng.standard_normal(centers.shape)
    moves -= moves @ basis @ basis.T
    moves *= np.sqrt(found.hidden / free)
    shares = np.bincount(labels, weights, minlength=len(centers))
    moves -= shares @ moves / shares.sum()  # everybody's mean stays
    return into_ball(points + moves[labels]), weights


def _compared(other: Found, truth: Weighted, most: int) -> _Again:
    answer = other.answer
    scale = np.sqrt(np.maximum(answer.shares, LEAST_SHARE))
    means, shares = own_means(truth, answer.centers)
    said_by, true_by = np.tile([0.0, 1.0], (2, most, 1))  # what cannot be cut so often explains nothing
    reach_by = np.zeros(most)
    for place, (few, theirs) in enumerate(by_number(answer, most)):
        said_by[place] = _explained(other.people, few)
        true_by[place] = _explained(truth, few)
        away = np.linalg.norm(few - own_means(truth, few)[0], axis=1)
        reach_by[place] = np.quantile(away * np.sqrt(np.maximum(theirs, LEAST_SHARE)), COVERAGE)
    return _Again(
        (answer.centers - means) * scale[:, None],
        (answer.shares - shares) / scale,
        _explained(other.people, answer.centers),
        _explained(truth, answer.centers),
        said_by,
        true_by,
        reach_by,
    )


def _choices(
    found: Found, done: Sequence[_Again], most: int, wider: float, stated: NDArray[np.float64]
) -> tuple[Choice, ...]:
    """Return what each number of groups would explain; those of the answer have the radii that are stated.

    More than cannot be told apart cannot be, either.
    """
    told, own = [Choice(1, Interval(0.0, 0.0, 0.0), True)], len(found.answer.centers)
    for place, (few, shares) in list(enumerate(by_number(found.answer, most)))[1:]:
        missed = np.array([one.said_by[place] - one.true_by[place] for one in done])
        reach = wider * float(np.mean([one.reach_by[place] for one in done]))
        radii = stated if place + 1 == own else reach / np.sqrt(np.maximum(shares, LEAST_SHARE))
        apart = not pairs_in_doubt(few, radii) and (place + 1 != own or found.spare is None)
        explained = _interval(_explained(found.people, few), missed, found.sure)
        told.append(Choice(place + 1, explained, apart and (place + 1 <= own or told[-1].apart)))
    return tuple(told)


def _interval(said: NDArray[np.float64], missed: NDArray[np.float64], sure: bool) -> Interval:
    """Return the share that a gain is of a spread, (2,); repetitions missed both, (n, 2).

    Of people who are as supposed beyond doubt, what was missed on average is taken off. Others are more
    clustered than was supposed of them: the repetitions then say too much, and what was said may be right.
    It counts as an error, whichever way.

    Among few people the spread is known least of all, and a share is no sum: of all shares those are held
    that such misses can make of the truth (Fieller's interval, here with what the model misses besides).
    """
    bias = missed.mean(axis=0) if sure else np.zeros(2)
    (gain, spread), missed = said - bias, missed - bias
    value = float(min(max(gain / max(spread, 1e-12), 0.0), 1.0))
    (gains, both), (_, spreads) = normal() ** 2 * missed.T @ missed / len(missed)
    model = (normal() * _MODEL * said[1]) ** 2
    square, half = spread**2 - spreads + model, gain * spread - both + model / 2
    root = half**2 - square * (gain**2 - gains)
    if square <= 0 or root < 0:
        return Interval(value, 0.0, 1.0)
    low, high = (float((half + sign * math.sqrt(root)) / square) for sign in (-1, 1))
    return Interval(value, min(max(low, 0.0), value), max(min(high, 1.0), value))


def normal(rate: float = COVERAGE) -> float:
    """Return how many deviations a normal error stays within at a rate."""
    return NormalDist().inv_cdf((1 + rate) / 2)


def pairs_in_doubt(centers: NDArray[np.float64], radii: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the pairs of centers, (k, d), that lie within their radii of each other: (k,)."""
    apart = squared_distances(centers, centers)
    near = apart < radii[:, None] ** 2 + radii**2
    return [(int(i), int(j)) for i, j in np.argwhere(near) if i < j]


def own_means(
    people: Weighted, centers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and share of the people nearest to each center: (k, d), (k,). Of nobody, the center."""
    points, weights = people
    labels = squared_distances(points, centers).argmin(axis=1)
    shares = np.bincount(labels, weights, minlength=len(centers))
    whose = csr_array((weights, (labels, np.arange(len(points)))), shape=(len(centers), len(points)))
    sums = whose @ points
    means = np.where(shares[:, None] > 0, sums / np.maximum(shares, 1e-300)[:, None], centers)
    return means, shares / weights.sum()


def _strain(
    views: Sequence[ViewRows],
    rows: Sequence[NDArray[np.float64]],
    noise: Sequence[NDArray[np.float64]],
    basis: NDArray[np.float64],
) -> float:
    """Return by how much more than noise rows that took no part in the fits are missed; 1 at least."""
    if not any(view.halfspaces for view in views):
        return 1.0
    told = [
        misfit(view, row, one, basis)
        for view, row, one in zip(views, rows, noise, strict=True)
        if not view.halfspaces
    ]
    chi, numbers = (sum(column) for column in zip(*told, strict=True)) if told else (0.0, 0)
    return math.sqrt(max(chi / max(numbers, 1), 1.0))


def _explained(people: Weighted, centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much centers cost less than people's mean, and what that costs: (2,)."""
    points, weights = people
    cost = float(weights @ squared_distances(points, centers).min(axis=1)) / float(weights.sum())
    spread = max(_spread(people), 1e-300)
    return np.array([spread - cost, spread])


def _spread(people: Weighted) -> float:
    """Return the mean square distance of people from their mean."""
    points, weights = people
    share = weights / weights.sum()
    return float(share @ ((points - share @ points) ** 2).sum(axis=1))
