"""From rows to k centers: two explanations of what was seen, and evidence that weighs them.

1. A *population* explains data of any shape (`population`).
2. *Blobs* explain round groups, and those far better; they start from k-means on the population (`blobs`).
3. *Evidence* (`weigh`). Blobs that explain the rows no worse, with far fewer numbers, are the answer.
   Otherwise rows that took no part in either fit, those of the cells, say how far to go from one to the
   other. With A and B what the two predict, the rows y are closest to A + α·(B - A) for

       α = ⟨y - A, B - A⟩ / |B - A|²,     known within 1/|B - A| in units of the noise

   inside the subspace that the population lives in, and likewise outside it, where the population predicts
   nothing. The answer is k-means on both in these proportions: two explanations that are wrong in different
   ways are better together.
4. *Errors* by doing it again (`_distances`): what the truth may be is drawn around the answer, its rows get
   fresh noise, and the fits are repeated.

With rows of cells only, there is no second explanation: the population is the answer.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.blobs import BlobFit, Blobs, search
from coterie.centers.population import (
    Cloud,
    fit_population,
    into_ball,
    reweight,
    seen_parts,
    shrunk_mean,
)
from coterie.centers.solution import Solution
from coterie.oracles.rows import ViewRows, mean_square

COVERAGE: Final = 0.9  # of the stated radii

_EXPECTED: Final = 0.3  # α before looking, and its deviation: measured over real data
_EXPECTED_DEVIATION: Final = 0.2
_EACH: Final = 400  # atoms of a blob
_STARTS: Final = 2
REPEATS: Final = 6  # of the fits, for the errors
_START_WRONG: Final = 1.5  # times the expected error: how far off the repeated fits start
_OF_DOUBT: Final = 0.73  # of the squared doubt about a coordinate ends up in the fitted spread: measured
_UNSEEN: Final = 0.22  # share of the variance outside the subspace that lies between groups: measured
_ROUND_WRONG: Final = 1.13  # squared distances from the truth, times those of repeated fits: measured
_OTHER_WRONG: Final = 3.0  # the same where the groups are not round, and the truth is none of the model's
_SIDES: Final = 0.25  # of the way from one broad group to the answer
_SURE: Final = 3.0  # chi-square per fitted number by which blobs beat one group; noise alone gives about 1
_SPARE: Final = 2.0  # the same, that one center of two wins at the least; a spare one was seen to win 1.2
_LEANS: Final = 5.5  # deviations; noise alone was seen to reach 3.8, groups hardly found 8.5
_PEAK: Final = 6.0  # deviations by which a further group would have to explain more
_SEEDS: Final = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Centers, and the population they are the k-means of."""

    centers: NDArray[np.float64]  # (k, d)
    shares: NDArray[np.float64]  # (k,)
    points: NDArray[np.float64]  # (N, d), as k-means sees them
    weights: NDArray[np.float64]  # (N,)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Which of the two explanations to trust, and how far."""

    round_groups: bool  # the blobs explain the rows better, though they have fewer numbers to do so
    inside: float  # α in the subspace, 0 to 1
    outside: float  # α outside it, 0 to 1


def explain(
    views: Sequence[ViewRows], clusters: int, rng: np.random.Generator, *, repeats: int | None = None
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
    repeats : int
        How often the fits are repeated for the errors; 0 leaves the errors at the radius of the ball.
        None is the default, `REPEATS`.

    Returns
    -------
    Solution
    """
    middle = shrunk_mean(views)
    population = fit_population(views, rng)
    if population is None:
        return _nothing(clusters, middle, mean_square(views), rng)
    answer = k_means(population.inner, population.weights, clusters, rng)
    fit = _blob_fit(views, middle)
    peak = 0.0
    if fit is None:
        parts: _Parts = _Parts(population, None, None)
    else:
        starts = [answer]
        starts += [k_means(population.inner, population.weights, clusters, rng) for _ in range(_STARTS - 1)]
        blobs = search(fit, population, [(start.centers, start.shares) for start in starts])
        evidence = weigh(population, blobs, fit, [view for view in views if not view.halfspaces], rng)
        parts = _Parts(population, blobs, evidence)
        answer = combined(parts, clusters, rng)
        peak = _missing(fit, blobs, population, evidence)
    nothing = _nothing(clusters, middle, mean_square(views), rng)
    if fit is not None and not _better_than_one(fit, parts, views, nothing, rng):
        return nothing
    distances, near = _distances(views, fit, parts, answer, rng, REPEATS if repeats is None else repeats)
    solution = _solution(answer, distances, near, middle, peak)
    extra = None if fit is None else _one_too_many(fit, parts)
    if extra is None or not solution.supported.any():  # that nothing is found is said already
        return solution
    return replace(solution, notes=_with_pair(solution.notes, extra))


def _people(parts: _Parts, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the parts together expect people to be: points, (N, d), and weights, (N,)."""
    points, weights = parts.population.atoms, parts.population.weights
    if parts.blobs is None or parts.evidence is None:
        return points, weights
    more, theirs = parts.blobs.atoms(_EACH, rng)
    if parts.evidence.round_groups:
        return more, theirs
    share = parts.evidence.inside
    return np.concatenate([points, more]), np.concatenate([(1 - share) * weights, share * theirs])


def _better_than_one(
    fit: BlobFit,
    parts: _Parts,
    views: Sequence[ViewRows],
    nothing: Solution,
    rng: np.random.Generator,
) -> bool:
    """Say whether the rows side with the answer rather than with one broad group.

    Round groups may explain the rows so much better than one that no noise has done it. Otherwise, in many
    dimensions, the cells say it, which took no part in the fits: between what one group predicts and what the
    answer does, they must lie a quarter of the way at least. (A tight group at the border of two cells may be
    predicted in the wrong one, so they are not always asked.) In few dimensions too few people serve cells;
    there all rows say it, by how many deviations they lean towards the answer.
    """
    blobs = parts.blobs
    if blobs is not None and parts.evidence is not None and parts.evidence.round_groups:
        miss = (fit.rows - fit.view.predicted(nothing.points, nothing.weights)) ** 2
        won = float(fit.weights @ miss.sum(axis=1)) - fit.rows.size - blobs.chi
        if won > _SURE * (blobs.centers.size + len(blobs.shares)):
            return True
    points, weights = _people(parts, rng)
    dimension, size = parts.population.basis.shape
    along, square = 0.0, 0.0
    for view in views:
        if size == dimension or not view.halfspaces:
            one = view.predicted(nothing.points, nothing.weights)
            gap = (view.predicted(points, weights) - one) / view.deviations[:, None]
            along += float(np.vdot(gap, (view.vectors - one) / view.deviations[:, None]))
            square += float(np.vdot(gap, gap))
    if size == dimension:
        return along >= _LEANS * math.sqrt(square)
    return square == 0 or along >= _SIDES * square


def _missing(fit: BlobFit, blobs: Blobs, population: Cloud, evidence: Evidence) -> float:
    """Return by how many deviations the rows ask for one more round group; 0 if groups are not round."""
    scores = fit.residual(blobs, population.inner)
    peak = float(scores.max())
    if evidence.round_groups or peak <= _PEAK:
        return peak
    clusters = len(blobs.shares) + 1
    centers = np.vstack([blobs.centers, population.inner[scores.argmax()]])
    shares = np.append(blobs.shares * (1 - 1 / clusters), 1 / clusters)
    more = fit.fit(centers, shares, rounds=10, unsure=0.35, sigma=blobs.sigma, probes=1)
    return peak if _blobs_do(fit, more, population) else 0.0


def _blobs_do(fit: BlobFit, blobs: Blobs, population: Cloud) -> bool:
    """Say whether the blobs explain the rows they were fitted to at least as well as the population does.

    Both are judged on the same rows, in the part that the population explains: not on those of other tables.
    """

    def misfit(rows: NDArray[np.float64]) -> float:  # (M, D)
        (left,) = seen_parts([replace(fit.view, vectors=fit.rows - rows)], population.basis)
        return float((left.targets**2).mean())

    theirs = fit.view.predicted(population.atoms, population.weights)
    return misfit(fit.predicted(blobs.centers, blobs.shares, blobs.sigma, blobs.unsure)[0]) <= misfit(theirs)


def _one_too_many(fit: BlobFit, parts: _Parts) -> tuple[int, int] | None:
    """Return two round groups that one would explain as well, the nearest two; None if they are not such."""
    blobs, evidence = parts.blobs, parts.evidence
    if blobs is None or evidence is None or not evidence.round_groups or len(blobs.shares) < 2:
        return None
    apart = ((blobs.centers[:, None] - blobs.centers[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    first, second = sorted(int(place) for place in np.unravel_index(apart.argmin(), apart.shape))
    pair, both = [first, second], float(blobs.shares[[first, second]].sum())
    rest = np.delete(np.arange(len(blobs.shares)), second)
    centers, shares = blobs.centers.copy(), blobs.shares.copy()
    centers[first], shares[first] = blobs.shares[pair] @ blobs.centers[pair] / both, both
    fewer = replace(
        blobs,
        centers=centers[rest],
        shares=shares[rest],
        errors=blobs.errors[rest],
        unsure=blobs.unsure[rest],
    )
    lost = fit.polish(fewer, fewer.centers).chi - blobs.chi
    return (first, second) if lost < _SPARE * (centers.shape[1] + 1) else None


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    population: Cloud
    blobs: Blobs | None
    evidence: Evidence | None


def _blob_fit(views: Sequence[ViewRows], middle: NDArray[np.float64]) -> BlobFit | None:
    """Return the fit to the halfspaces of the frame's own ball that most people served, if there are any."""
    own = [v for v in views if v.halfspaces and v.frame.scale == 1 and not v.frame.shift.any()]
    return BlobFit(max(own, key=lambda view: view.people), middle) if own else None


def weigh(
    population: Cloud, blobs: Blobs, fit: BlobFit, cells: Sequence[ViewRows], rng: np.random.Generator
) -> Evidence:
    """Weigh blobs against the population, by the rows both were fitted to and by cells."""
    basis = population.basis
    round_groups = _blobs_do(fit, blobs, population)
    points, weights = blobs.atoms(_EACH, rng)
    along, size, out_along, out_size = 0.0, 0.0, 0.0, 0.0
    for view in cells:
        dimension = view.lift.dimension
        noise = float(view.deviations[0])
        first = view.predicted(population.atoms, population.weights) / noise
        second = view.predicted(points, weights) / noise
        observed = view.vectors / noise

        def inside(rows: NDArray[np.float64], split: int = dimension) -> NDArray[np.float64]:
            return np.column_stack([rows[:, :split] @ basis, rows[:, split:]])

        def outside(rows: NDArray[np.float64], split: int = dimension) -> NDArray[np.float64]:
            part: NDArray[np.float64] = rows[:, :split] - rows[:, :split] @ basis @ basis.T
            return part

        gap = inside(second - first)
        along += float(np.vdot(gap, inside(observed - first)))
        size += float(np.vdot(gap, gap))
        far = outside(second)
        out_along += float(np.vdot(far, outside(observed)))
        out_size += float(np.vdot(far, far))
    prior = 1 / _EXPECTED_DEVIATION**2
    alpha = float(np.clip((along + _EXPECTED * prior) / (size + prior), 0, 1))
    beyond = float(np.clip((out_along + alpha * prior) / (out_size + prior), 0, 1))
    return Evidence(round_groups, alpha, beyond)


def combined(parts: _Parts, clusters: int, rng: np.random.Generator, *, any_optimum: bool = False) -> Answer:
    """Return the centers that the evidence asks for: the blobs, or k-means on blobs and population."""
    population, blobs, evidence = parts.population, parts.blobs, parts.evidence
    if blobs is None or evidence is None:
        return k_means(population.inner, population.weights, clusters, rng, any_optimum=any_optimum)
    basis = population.basis
    if evidence.round_groups:
        points, weights = blobs.atoms(_EACH, rng, basis)
        return Answer(blobs.centers, blobs.shares, points, weights)
    inner = blobs.centers @ basis @ basis.T
    drawn = replace(blobs, centers=inner + evidence.outside * (blobs.centers - inner))
    points, weights = drawn.atoms(_EACH, rng, basis)
    points = np.concatenate([population.inner, points])
    weights = np.concatenate([(1 - evidence.inside) * population.weights, evidence.inside * weights])
    return k_means(points, weights, clusters, rng, drawn.centers, any_optimum=any_optimum)


def k_means(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    clusters: int,
    rng: np.random.Generator,
    start: NDArray[np.float64] | None = None,
    *,
    any_optimum: bool = False,
) -> Answer:
    """Run weighted k-means, from k-means++ and, if given, from a start as well; the cheaper one wins.

    With `any_optimum`, one run of k-means++ decides: to see how far apart the optima are.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    seed = int(rng.integers(_SEEDS))
    heavy = weights > 1e-3 / len(weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct atoms than centers
        solver = KMeans(clusters, n_init=1 if any_optimum else 3, random_state=seed).fit(
            points[heavy], sample_weight=weights[heavy]
        )
        if start is not None and not any_optimum:
            other = KMeans(clusters, init=start, n_init=1).fit(points[heavy], sample_weight=weights[heavy])
            solver = other if other.inertia_ < 1.01 * solver.inertia_ else solver
    centers = solver.cluster_centers_.astype(np.float64)
    shares = np.bincount(solver.labels_, weights[heavy], minlength=clusters)
    return Answer(centers, shares / shares.sum(), points, weights)


def _distances(
    views: Sequence[ViewRows],
    fit: BlobFit | None,
    parts: _Parts,
    answer: Answer,
    rng: np.random.Generator,
    repeats: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Repeat the fits on the answer's rows with fresh noise; return two distances per center, (repeats, k).

    The first is from the best optimum that k-means happened to find, which may be another; the second from
    the optimum next to the answer, which noise alone has moved.
    """
    population, blobs, evidence = parts.population, parts.blobs, parts.evidence
    clusters = len(answer.centers)
    distances, near = np.empty((repeats, clusters)), np.empty((repeats, clusters))
    pure = evidence is not None and evidence.round_groups
    fitted = [view for view in views if view.halfspaces] or list(views)
    expected = []
    if not pure:
        points, weights = _people(parts, rng)
        expected = [view.predicted(points, weights) for view in fitted]
    size = population.basis.shape[1]
    unseen = 0.0 if pure else _UNSEEN * population.floor * (len(population.basis) - size)
    for turn in range(repeats):
        again = parts
        truth = answer.centers
        if pure and fit is not None and blobs is not None:
            truth, rows = _possible(fit, blobs, rng)
            again = replace(parts, blobs=_refit(fit, rows, blobs, truth, rng))
        else:
            noisy = [_with_noise(view, rows, rng) for view, rows in zip(fitted, expected, strict=True)]
            seen = seen_parts(noisy, population.basis)
            weights = reweight(population.atoms, noisy, seen)[0]
            again = replace(parts, population=replace(population, weights=weights))
            if fit is not None and blobs is not None:
                index = next(i for i, view in enumerate(fitted) if view is fit.view)
                again = replace(again, blobs=_refit(fit, expected[index], blobs, blobs.centers, rng))
        found = combined(again, clusters, rng, any_optimum=True)
        centers = _in_order(found.centers, truth)
        near[turn] = np.linalg.norm((centers if pure else _from_start(found, truth)) - truth, axis=1)
        squares = ((centers - truth) ** 2).sum(axis=1)
        distances[turn] = np.sqrt((_ROUND_WRONG if pure else _OTHER_WRONG) * squares + unseen)
    return distances, near


def _from_start(answer: Answer, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the optimum of k-means next to a start: (k, d) -> (k, d)."""
    from sklearn.cluster import KMeans

    heavy = answer.weights > 1e-3 / len(answer.weights)
    solver = KMeans(len(start), init=start, n_init=1)
    solver.fit(answer.points[heavy], sample_weight=answer.weights[heavy])
    centers: NDArray[np.float64] = solver.cluster_centers_.astype(np.float64)
    return centers


def _in_order(
    centers: NDArray[np.float64], like: NDArray[np.float64]
) -> NDArray[np.float64]:  # (k, d), (k, d) -> (k, d)
    """Return the centers in the order of those they stand for, matched at least total squared distance."""
    from scipy.optimize import linear_sum_assignment

    squares = ((like[:, None] - centers[None]) ** 2).sum(axis=2)
    return centers[linear_sum_assignment(squares)[1]]


def _with_noise(view: ViewRows, rows: NDArray[np.float64], rng: np.random.Generator) -> ViewRows:
    noise = view.deviations[:, None] * rng.standard_normal(rows.shape)
    return replace(view, vectors=rows + noise)


def _possible(
    fit: BlobFit, blobs: Blobs, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the truth may be, given the blobs: centers, (k, d), and their rows without noise, (M, D).

    The fitted centers themselves lie too well, away from halfspaces whose side is in doubt; and the spread
    that was fitted holds a part of what is not known of the centers.
    """
    truth = into_ball(blobs.centers + _wrong(blobs, rng))
    sigma = math.sqrt(
        max(blobs.sigma**2 - _OF_DOUBT * float((blobs.unsure**2).mean()), 0.01 * blobs.sigma**2)
    )
    return truth, fit.predicted(truth, blobs.shares, sigma, np.zeros(len(truth)))[0]


def _refit(
    fit: BlobFit,
    rows: NDArray[np.float64],
    blobs: Blobs,
    truth: NDArray[np.float64],
    rng: np.random.Generator,
) -> Blobs:
    """Fit blobs to these rows with fresh noise, from a start that is as wrong as they may be."""
    again = BlobFit(_with_noise(fit.view, rows, rng), fit.middle)
    return again.polish(blobs, into_ball(truth + _START_WRONG * _wrong(blobs, rng)))


def _wrong(blobs: Blobs, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw by how much the centers may be wrong: (k, d)."""
    dimension = blobs.centers.shape[1]
    drawn: NDArray[np.float64] = np.sqrt(blobs.errors / dimension)[:, None] * rng.standard_normal(
        blobs.centers.shape
    )
    return drawn


def _nothing(clusters: int, middle: NDArray[np.float64], square: float, rng: np.random.Generator) -> Solution:
    """Return the mean of everybody; the population is as wide around it as people are long."""
    wide = math.sqrt(max(square - float(middle @ middle), 0.0) / len(middle))
    points = into_ball(middle + wide * rng.standard_normal((_EACH, len(middle))))
    return Solution(
        centers=np.tile(middle, (clusters, 1)),
        shares=np.full(clusters, 1 / clusters),
        errors=np.ones(clusters),
        supported=np.zeros(clusters, dtype=bool),
        points=points,
        weights=np.full(_EACH, 1 / _EACH),
        notes=(),
    )


def _solution(
    answer: Answer,
    distances: NDArray[np.float64],
    near: NDArray[np.float64],
    middle: NDArray[np.float64],
    peak: float,
) -> Solution:
    """State radii, find centers that noise alone may have moved off the middle, name what is doubtful."""
    supported = np.ones(len(answer.centers), dtype=bool)
    radii = np.ones(len(answer.centers))
    if len(distances):
        radii = _radii(distances)
        supported = np.linalg.norm(answer.centers - middle, axis=1) > _radii(near)
        supported |= len(radii) == 1
    centers = np.where(supported[:, None], answer.centers, middle)
    notes = []
    if peak > _PEAK:
        notes.append(
            "The reports speak of a group that none of the centers explains, or of two that one center "
            f"stands for ({peak:.0f} deviations of the noise): ask for more clusters."
        )
    notes += _pairs(centers, radii, supported)
    return Solution(
        centers=centers,
        shares=answer.shares,
        errors=np.where(supported, radii, 1.0),
        supported=supported,
        points=answer.points,
        weights=answer.weights,
        notes=tuple(notes),
    )


def _radii(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each center's radius that holds `COVERAGE` of the distances: (repeats, k) -> (k,).

    A center's own scale is the root mean square of its few distances, shrunk towards everybody's by half; how
    far the distances scatter around it is pooled over all centers.
    """
    own = np.sqrt((distances**2).mean(axis=0))
    scale = np.sqrt(np.maximum(own * float(np.sqrt((own**2).mean())), 1e-18))
    ratio = float(np.quantile(distances / scale, COVERAGE))
    radii: NDArray[np.float64] = np.minimum(scale * ratio, 1.0)
    return radii


def _with_pair(notes: tuple[str, ...], pair: tuple[int, int]) -> tuple[str, ...]:
    """Return the notes with one that names the pair, unless one does already."""
    start = f"Centers {pair[0]} and {pair[1]} may be one group"
    if any(note.startswith(start) for note in notes):
        return notes
    return (*notes, f"{start}: one center would explain the reports as well.")


def _pairs(
    centers: NDArray[np.float64], radii: NDArray[np.float64], supported: NDArray[np.bool_]
) -> list[str]:
    """Name pairs of supported centers that may be one group."""
    named = []
    for first in np.flatnonzero(supported):
        for second in np.flatnonzero(supported):
            if first < second:
                apart = float(np.linalg.norm(centers[first] - centers[second]))
                if apart < math.hypot(radii[first], radii[second]):
                    named.append(
                        f"Centers {first} and {second} may be one group: noise alone can hold them apart."
                    )
    return named
