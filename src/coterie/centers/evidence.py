"""Evidence between two explanations of the rows: a population, and k round groups.

Blobs that explain the rows no worse than the population does, with far fewer numbers, are the answer.
Otherwise rows that took no part in either fit, those of the cells, say how far to go from one to the other.
With A and B what the two predict, the rows y are closest to A + α·(B - A) for

    α = ⟨y - A, B - A⟩ / |B - A|²,     known within 1/|B - A| in units of the noise

inside the subspace that the population lives in, and likewise outside it, where the population predicts
nothing. The answer is k-means on both in these proportions: two explanations that are wrong in different ways
are better together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.answer import Answer, k_means
from coterie.centers.blobs import BlobFit, Blobs
from coterie.centers.population import Cloud, seen_parts
from coterie.centers.solution import Solution
from coterie.oracles.rows import ViewRows

ATOMS_EACH: Final = 400  # of a blob
PEAK: Final = 6.0  # deviations by which a further group would have to explain more

_EXPECTED: Final = 0.3  # α before looking, and its deviation: measured over real data
_EXPECTED_DEVIATION: Final = 0.2
_SIDES: Final = 0.25  # of the way from one broad group to the answer
_SURE: Final = 3.0  # chi-square per fitted number by which blobs beat one group; noise alone gives about 1
_SPARE: Final = 2.0  # the same, that one center of two wins at the least; a spare one was seen to win 1.2
_CLEARLY: Final = 5.0  # chi-square per fitted number of the subspace by which sure blobs beat the population
_WITHIN: Final = 2.0  # deviations of chi-square by which sure blobs may miss the rows
_KNOWN: Final = 0.09  # of the squared distance of centers from the mean: what sure blobs may be wrong
_LEANS: Final = 5.5  # deviations; noise alone was seen to reach 3.8, groups hardly found 8.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """Which of the two explanations to trust, and how far."""

    round_groups: bool  # the blobs explain the rows better, though they have fewer numbers to do so
    sure: bool  # so much better, and within their noise, that the groups are round and found
    inside: float  # α in the subspace, 0 to 1
    outside: float  # α outside it, 0 to 1


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What an answer is made of."""

    population: Cloud
    blobs: Blobs | None
    evidence: Evidence | None


def blob_fit(views: Sequence[ViewRows], middle: NDArray[np.float64]) -> BlobFit | None:
    """Return the fit to the halfspaces of the frame's own ball that most people served, if there are any."""
    own = [v for v in views if v.halfspaces and v.frame.scale == 1 and not v.frame.shift.any()]
    return BlobFit(max(own, key=lambda view: view.people), middle) if own else None


def weigh(
    population: Cloud, blobs: Blobs, fit: BlobFit, cells: Sequence[ViewRows], rng: np.random.Generator
) -> Evidence:
    """Weigh blobs against the population, by the rows both were fitted to and by cells."""
    basis = population.basis
    round_groups = _blobs_do(fit, blobs, population)
    sure = round_groups and _certain(fit, blobs, population)
    points, weights = blobs.atoms(ATOMS_EACH, rng)
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
    return Evidence(round_groups, sure, alpha, beyond)


def combined(parts: Parts, clusters: int, rng: np.random.Generator, *, any_optimum: bool = False) -> Answer:
    """Return the centers that the evidence asks for: the blobs, or k-means on blobs and population."""
    population, blobs, evidence = parts.population, parts.blobs, parts.evidence
    if blobs is None or evidence is None:
        return k_means(population.inner, population.weights, clusters, rng, any_optimum=any_optimum)
    basis = population.basis
    if evidence.round_groups:
        points, weights = blobs.atoms(ATOMS_EACH, rng, basis)
        return Answer(blobs.centers, blobs.shares, points, weights)
    inner = blobs.centers @ basis @ basis.T
    drawn = replace(blobs, centers=inner + evidence.outside * (blobs.centers - inner))
    points, weights = drawn.atoms(ATOMS_EACH, rng, basis)
    points = np.concatenate([population.inner, points])
    weights = np.concatenate([(1 - evidence.inside) * population.weights, evidence.inside * weights])
    return k_means(points, weights, clusters, rng, drawn.centers, any_optimum=any_optimum)


def people(parts: Parts, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the parts together expect people to be: points, (N, d), and weights, (N,)."""
    points, weights = parts.population.atoms, parts.population.weights
    if parts.blobs is None or parts.evidence is None:
        return points, weights
    more, theirs = parts.blobs.atoms(ATOMS_EACH, rng)
    if parts.evidence.round_groups:
        return more, theirs
    share = parts.evidence.inside
    return np.concatenate([points, more]), np.concatenate([(1 - share) * weights, share * theirs])


def _blobs_do(fit: BlobFit, blobs: Blobs, population: Cloud) -> bool:
    """Say whether the blobs explain the rows they were fitted to at least as well as the population does.

    Both are judged on the same rows, in the part that the population explains: not on those of other tables.
    """
    ours, theirs, _ = _misfits(fit, blobs, population)
    return ours <= theirs


def _certain(fit: BlobFit, blobs: Blobs, population: Cloud) -> bool:
    """Say whether the groups are round and found beyond doubt.

    Where few people answered nearly everything explains the rows, and blobs of people who form no round
    groups, or at a wrong optimum, seem as good as true ones: what they claim of their errors is then far too
    little. So they must win clearly over the population, miss no more than noise does, and know their centers
    well compared with how far apart those lie. (benchmarks/results/certain.csv)
    """
    ours, theirs, numbers = _misfits(fit, blobs, population)
    clearly = theirs - ours >= _CLEARLY * len(blobs.shares) * population.basis.shape[1]
    within = ours - numbers <= _WITHIN * math.sqrt(2 * numbers)
    squares = ((blobs.centers - fit.middle) ** 2).sum(axis=1)
    return clearly and within and float(blobs.shares @ blobs.errors) <= _KNOWN * float(blobs.shares @ squares)


def _misfits(fit: BlobFit, blobs: Blobs, population: Cloud) -> tuple[float, float, int]:
    """Return chi-square of the blobs, that of the population, and of how many numbers."""

    def misfit(rows: NDArray[np.float64]) -> tuple[float, int]:  # (M, D)
        (left,) = seen_parts([replace(fit.view, vectors=fit.rows - rows)], population.basis)
        return float((left.targets.astype(np.float64) ** 2).sum()), left.targets.size

    ours, numbers = misfit(fit.predicted(blobs.centers, blobs.shares, blobs.sigma, blobs.unsure)[0])
    return ours, misfit(fit.view.predicted(population.atoms, population.weights))[0], numbers


def better_than_one(
    fit: BlobFit,
    parts: Parts,
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
    points, weights = people(parts, rng)
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


def missing(fit: BlobFit, blobs: Blobs, population: Cloud, evidence: Evidence) -> float:
    """Return by how many deviations the rows ask for one more round group; 0 if groups are not round."""
    scores = fit.residual(blobs, population.inner)
    peak = float(scores.max())
    if evidence.round_groups or peak <= PEAK:
        return peak
    clusters = len(blobs.shares) + 1
    centers = np.vstack([blobs.centers, population.inner[scores.argmax()]])
    shares = np.append(blobs.shares * (1 - 1 / clusters), 1 / clusters)
    sigma = np.append(blobs.sigma, np.median(blobs.sigma))
    more = fit.fit(centers, shares, rounds=10, unsure=0.35, sigma=sigma, apart=blobs.apart, probes=1)
    return peak if _blobs_do(fit, more, population) else 0.0


def one_too_many(fit: BlobFit, parts: Parts) -> tuple[int, int] | None:
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
        sigma=blobs.sigma[rest],
        errors=blobs.errors[rest],
        unsure=blobs.unsure[rest],
    )
    lost = fit.polish(fewer, fewer.centers).chi - blobs.chi
    return (first, second) if lost < _SPARE * (centers.shape[1] + 1) else None
