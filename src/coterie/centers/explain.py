"""From rows to k centers, and to what can be said of them.

1. *Find*: explanations of what was seen, and evidence that weighs them. Several *populations* explain data
   of any shape (`population`), *blobs* round groups, and those far better (`blobs`); rows left out say how
   far to trust which (`evidence`). Above 12 dimensions, where a plan has
   cells alone, `tight` finds.
2. *Judge*: unless round groups were found beyond doubt, rows left out say whether the answer is better than
   one center; if not, the answer is that. Whichever it is, the cells of a net may prove it worse than places
   of their own (`proved`), and then these are the answer.
3. *Repeat*: what can be said of the people nearest to each center, by doing it again (`repeats`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers import repeats as again
from coterie.centers.answer import Answer, by_number, k_means
from coterie.centers.blobs import Blobs, search
from coterie.centers.doubts import doubts
from coterie.centers.evidence import (
    ATOMS_EACH,
    PEAK,
    Parts,
    better_than_one,
    blob_fit,
    combined,
    missing,
    one_too_many,
    people,
    weigh,
)
from coterie.centers.population import (
    Cloud,
    fit_population,
    pooled,
    shrunk_mean,
    spread_beyond,
)
from coterie.centers.proved import find_in_net, proved_worse
from coterie.centers.repeats import Finder, Found, Told
from coterie.centers.solution import (
    COVERAGE,
    Choice,
    Interval,
    Solution,
    Weighted,
    into_ball,
    squared_distances,
)
from coterie.centers.spectrum import FLAT, spectrum
from coterie.protocols.codeword.oracles.rows import Through, ViewRows, everybody, mean_rest
from coterie.wire.workers import on_all_cores

MEMBERS: Final = 4  # populations of fresh starts

# Of the edge of the noise, times √k, and twice for each direction of groups that was not found: what groups'
# means have outside the subspace.
_HIDDEN: Final = 0.1


def explain(
    views: Sequence[ViewRows],
    clusters: int,
    rng: np.random.Generator,
    *,
    choose: bool = False,
    find: Finder | None = None,
    repeats: int | None = None,
) -> Solution:
    """Find `clusters` centers of the frame's unit ball from rows of any kind.

    Parameters
    ----------
    views : sequence of ViewRows
        All rows, of one table or of several; at least one.
    clusters : int
        k.
    rng : numpy Generator
        The analyst's.
    choose : bool
        Find another number of centers if that is better: the fewest than which no larger number that can be
        told apart explains more, and fewer as long as two of them may be one by the noise.
    find : Finder, optional
        How groups are found; by populations and blobs unless said (`find_groups`).
    repeats : int
        How often everything is done again for the errors, `repeats.REPEATS` times unless said; 0 leaves them
        at the radius of the ball.

    Returns
    -------
    Solution
        The largest group first.
    """
    find, often = find or find_groups, again.REPEATS if repeats is None else repeats
    one = one_group(views, rng)
    found = find(views, clusters, rng, MEMBERS)
    if found is not None:
        clear = bool(stand_clear(views, found).any())
        sure = clear and found.sure
        if not sure and not better_than_one(views, found.people, one.people, clear=clear):
            found = None
    if proved_worse(views, (found or one).answer.centers, clusters):
        found, find = find_in_net(views, clusters, rng, MEMBERS), find_in_net
    if found is None:
        return _alone(one, 1 if choose else clusters, views)
    found = _largest_first(found)
    most = most_choices(clusters)
    told = again.repeated(_again(find, found), views, found, rng, often, most) if often else None
    number = told.best if choose and told is not None else clusters
    fitted = partial(find_groups, fitted=found.members) if found.members else find
    while told is not None:
        if number != len(found.answer.centers):
            if (other := fitted(views, number, rng, MEMBERS)) is None:
                break
            found = _largest_first(other)
            told = again.repeated(_again(find, found), views, found, rng, often, most)
        if not choose or number == 1 or told is None or not _may_be_fewer(found, told):
            break
        number -= 1
    return _solution(found, told, views)


def _may_be_fewer(found: Found, told: Told) -> bool:
    """Return whether two of the groups may be one by the noise."""
    return found.spare is not None or bool(again.pairs_in_doubt(found.answer.centers, told.radii))


def most_choices(clusters: int) -> int:
    """Return up to which number of groups is told what they would explain.

    Examples
    --------
    >>> most_choices(8)
    18
    """
    return 2 * clusters + 2


def find_groups(
    views: Sequence[ViewRows],
    clusters: int,
    rng: np.random.Generator,
    members: int,
    fitted: tuple[Cloud, ...] = (),
) -> Found | None:
    """Find groups by populations and blobs; None if nothing stands clear of the noise.

    The populations are fitted to the rows, unless they are given.
    """
    middle = shrunk_mean(views)
    fits: Sequence[Cloud | None] = fitted
    if not fits:
        with on_all_cores() as map_all:
            fits = list(map_all(lambda own: fit_population(views, own), rng.spawn(members)))
    found = [one for one in fits if one is not None]
    if not found:
        return None
    population = pooled(found)
    fit = blob_fit(views, middle, (population.atoms, population.weights))
    parts, peak, spare = Parts(population, None, None), 0.0, None
    if fit is not None:
        start = k_means(population.inner, population.weights, clusters, rng, starts=3)
        blobs = search(fit, found[0], start.centers, start.shares)
        parts = Parts(population, blobs, weigh(population, blobs, fit, views, rng))
        peak = missing(fit, replace(parts, population=found[0]))  # more places, and noise finds a higher peak
        spare = one_too_many(fit, parts)
    answer = combined(parts, clusters, rng)
    if parts.blobs is not None and parts.evidence is not None and parts.evidence.sure:
        return replace(_round(parts.blobs, answer, rng), peak=peak, spare=spare, members=tuple(found))
    return Found(
        answer=answer,
        people=as_long(people(parts, rng), views, rng),
        basis=population.basis,
        hidden=hidden_outside(population.edge, clusters, population.basis.shape[1]),
        scatter=population.scatter,
        peak=peak,
        spare=spare,
        members=tuple(found),
    )


def hidden_outside(edge: float, clusters: int, found: int) -> float:
    """Return the mean square distance of groups' means that noise of this edge hides outside a subspace.

    The subspace has `found` directions; k groups differ in k - 1.
    """
    return edge * _HIDDEN * (math.sqrt(clusters) + 2 * max(clusters - 1 - found, 0))


def _round(blobs: Blobs, answer: Answer, rng: np.random.Generator) -> Found:
    """Return round groups that are found beyond doubt: wrong only by what is not known of each center."""
    return Found(
        answer=answer,
        people=replace(blobs, errors=np.zeros_like(blobs.errors)).atoms(ATOMS_EACH, rng),
        basis=np.empty((blobs.centers.shape[1], 0)),
        hidden=float(blobs.shares @ blobs.errors),
        scatter=float(blobs.shares @ blobs.sigma**2) * blobs.centers.shape[1],
        sure=True,
        blobs=blobs,
    )


def _again(find: Finder, found: Found) -> Finder:
    """Return how everything is done again: from where it is, if round groups were found beyond doubt."""
    return find if found.blobs is None else partial(_find_near, blobs=found.blobs)


def _find_near(
    views: Sequence[ViewRows], clusters: int, rng: np.random.Generator, members: int, *, blobs: Blobs
) -> Found | None:
    """Fit round groups again, from where they are."""
    del clusters, members
    fit = blob_fit(views, shrunk_mean(views), blobs.atoms(ATOMS_EACH, rng))
    if fit is None:
        return None
    near = fit.fit(blobs.centers, blobs.shares, blobs.sigma, apart=blobs.apart, own_spreads=True)
    points, weights = near.atoms(ATOMS_EACH, rng)
    return _round(near, Answer(near.centers, near.shares, points, weights), rng)


def as_long(supposed: Weighted, views: Sequence[ViewRows], rng: np.random.Generator) -> Weighted:
    """Scatter supposed people further, equally in all directions, until they are as long as the rows say."""
    points, weights = supposed
    lack = spread_beyond(points, weights, mean_rest(views), 1)
    scatter = math.sqrt(lack / points.shape[1]) * rng.standard_normal(points.shape)
    return into_ball(points + scatter), weights


def one_group(views: Sequence[ViewRows], rng: np.random.Generator) -> Found:
    """Return everybody as one group: as wide around the mean as people are long."""
    middle = shrunk_mean(views)
    dimension = len(middle)
    wide = max(1 - mean_rest(views) ** 2 - float(middle @ middle), 0.0)
    points = into_ball(middle + math.sqrt(wide / dimension) * rng.standard_normal((ATOMS_EACH, dimension)))
    weights = np.full(ATOMS_EACH, 1 / ATOMS_EACH)
    answer = Answer(middle[None], np.ones(1), points, weights)
    return Found(answer, (points, weights), np.eye(dimension), 0.0, 0.0)


def stand_clear(views: Sequence[ViewRows], found: Found) -> NDArray[np.bool_]:
    """Return which groups stand clear of the noise: what the rows would lose without them, (k,).

    A group's people are moved to the next center; the rows then change by so many deviations of their noise.
    """
    if found.clear is not None:
        return found.clear
    points, weights = found.people
    centers = found.answer.centers
    if len(centers) == 1:
        return np.ones(1, dtype=bool)
    labels = squared_distances(points, centers).argmin(axis=1)
    apart = squared_distances(centers, centers)
    np.fill_diagonal(apart, np.inf)
    worth = []
    for number, center in enumerate(centers):
        mine = labels == number
        if not mine.any():
            worth.append(0.0)
            continue
        here, share = points[mine], weights[mine]
        there = into_ball(here + centers[apart[number].argmin()] - center)
        gaps = (
            (view.predicted(there, share) - view.predicted(here, share)) / view.deviations[:, None]
            for view in views
        )
        worth.append(math.sqrt(sum(float(np.vdot(gap, gap)) for gap in gaps)))
    return np.array(worth) >= PEAK


def _largest_first(found: Found) -> Found:
    answer, order = found.answer, np.argsort(-found.answer.shares, kind="stable")
    spare = found.spare
    if spare is not None:
        first, second = sorted(int(np.flatnonzero(order == place)[0]) for place in spare)
        spare = (first, second)
    ordered = replace(answer, centers=answer.centers[order], shares=answer.shares[order])
    clear = None if found.clear is None else found.clear[order]
    return replace(found, answer=ordered, spare=spare, clear=clear)


def _alone(one: Found, clusters: int, views: Sequence[ViewRows]) -> Solution:
    """Return everybody's mean as the whole answer."""
    from scipy.stats import chi2

    mean, deviation = everybody(views)
    radius = min(deviation * math.sqrt(float(chi2.ppf(COVERAGE, len(mean)))), 1.0)
    shares = np.zeros(clusters)
    shares[0] = 1.0
    return Solution(
        centers=np.tile(one.answer.centers, (clusters, 1)),
        shares=shares,
        errors=np.full(clusters, radius),
        supported=np.zeros(clusters, dtype=bool),
        points=one.people[0],
        weights=one.people[1],
        notes=doubts(None),
        coverage=COVERAGE,
        share_errors=np.zeros(clusters),
        profile=np.full(len(mean), deviation / max(radius, 1e-12)),
        explained=Interval(0.0, 0.0, 0.0),
        mean=mean,
        mean_error=deviation,
        directions=_leading(views),
        one_group=True,
    )


def _solution(found: Found, told: Told | None, views: Sequence[ViewRows]) -> Solution:
    answer = found.answer
    clusters, dimension = answer.centers.shape
    mean, deviation = everybody(views)
    radii = told.radii if told is not None else np.ones(clusters)
    return Solution(
        centers=answer.centers,
        shares=answer.shares,
        errors=radii,
        supported=stand_clear(views, found),
        points=answer.points,
        weights=answer.weights,
        notes=doubts(found, None if told is None else radii),
        coverage=COVERAGE,
        scatter=max(found.scatter, _lacking(found, views)),
        share_errors=told.share_errors if told is not None else np.ones(clusters),
        profile=told.profile if told is not None else np.full(dimension, 1 / math.sqrt(dimension)),
        explained=told.explained if told is not None else Interval(math.nan, 0.0, 1.0),
        mean=mean,
        mean_error=deviation,
        alternatives=_alternatives(answer, radii),
        choices=_told_apart(told.choices, found, views) if told is not None else (),
    )


def _told_apart(choices: Sequence[Choice], found: Found, views: Sequence[ViewRows]) -> tuple[Choice, ...]:
    """Return the choices, whose groups can be told apart only where all of them stand clear of the noise."""
    if found.clear is not None:  # of this number alone
        return tuple(choices)
    told = []
    for choice, (few, shares) in zip(choices, by_number(found.answer, len(choices)), strict=True):
        other = replace(found, answer=replace(found.answer, centers=few, shares=shares))
        told.append(choice._replace(apart=choice.apart and bool(stand_clear(views, other).all())))
    return tuple(told)


def _lacking(found: Found, views: Sequence[ViewRows]) -> float:
    """Return the mean square distance of people from an answer's points by which these are too short.

    Only where there are directions that the points do not show: round groups are told far better by their
    places than by how wide they are.
    """
    answer, (dimension, size) = found.answer, found.basis.shape
    return spread_beyond(answer.points, answer.weights, mean_rest(views), 1) if size < dimension else 0.0


def _leading(views: Sequence[ViewRows]) -> NDArray[np.float64] | None:
    """Return the directions in which people differ most, as far as noise lets see; None of few dimensions."""
    halves = [view for view in views if view.halfspaces and not isinstance(view.frame, Through)]
    if not halves or halves[0].lift.dimension <= FLAT:
        return None
    return spectrum(halves, shrunk_mean(views), 1 - mean_rest(views) ** 2).leading


def _alternatives(answer: Answer, radii: NDArray[np.float64]) -> tuple[tuple[int, ...], ...]:
    """Return, of each other answer that is as good, the groups of this one that it has no center near."""
    cut = {
        tuple(np.flatnonzero(squared_distances(answer.centers, other).min(axis=1) > radii**2).tolist())
        for other in answer.others
    }
    return tuple(sorted(cut - {()}))
