"""Evidence between explanations of the rows: a population, k round groups, one group.

Rows that took no part in the fits, those of the cells, say how far to go from one explanation to the other.
With A and B what the two predict, the rows y are closest to A + α·(B - A) for

    α = ⟨y - A, B - A⟩ / |B - A|²,     known within 1/|B - A| in units of the noise

From the population to the blobs it is asked inside the subspace that the population lives in. The answer is
k-means on both in these proportions: two explanations that are wrong in different ways are better together,
and nothing wins by a hair. From one group to the answer it is asked whether there is an answer at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers import repeats
from coterie.centers.answer import Answer, k_means
from coterie.centers.blobs import BlobFit, Blobs
from coterie.centers.exact import on_grid
from coterie.centers.population import Cloud, misfit
from coterie.centers.solution import Weighted, squared_distances
from coterie.protocols.codeword.oracles.rows import ViewRows, joined

ATOMS_EACH: Final = 400  # of a blob
PEAK: Final = 6.0  # deviations by which a further group would have to explain more

_EXPECTED: Final = 0.3  # α from population to blobs before looking: measured over real data
_EXPECTED_DEVIATION: Final = 0.2  # likewise
_ALL: Final = 0.95  # α from which blobs stand alone
_REAL_DEVIATION: Final = 0.5  # of α from one group to an answer, before looking
_SIDES: Final = 0.15  # of the way from one group to the answer: what an answer needs
_WITHIN: Final = 2.0  # deviations: of chi-square that noise has, and of a group's people that are its own


@dataclass(frozen=True, slots=True)
class Evidence:
    """How far to trust the blobs."""

    round: bool  # the rows speak of round groups only
    apart: bool  # and these lie so far apart that their shape does not matter
    alpha: float  # how far to go from the population to the blobs, 0 to 1

    @property
    def sure(self) -> bool:
        """Whether the groups are found beyond doubt, with rows that took no part not against them."""
        return self.round and self.apart and self.alpha >= _EXPECTED

    @property
    def fits(self) -> bool:
        """Whether round groups explain what was seen, wherever they lie."""
        return self.round or self.alpha > _ALL

    @property
    def alone(self) -> bool:
        """Whether the blobs are the whole answer."""
        return self.sure or self.alpha > _ALL


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What an answer is made of."""

    population: Cloud
    blobs: Blobs | None
    evidence: Evidence | None


def blob_fit(views: Sequence[ViewRows], middle: NDArray[np.float64], supposed: Weighted) -> BlobFit | None:
    """Return the fit to the halfspaces of the frame's own ball, if there are any; noise is these people's."""
    own = [view for view in views if view.halfspaces and view.own_ball]
    return BlobFit(joined(own), middle, supposed) if own else None


def weigh(
    population: Cloud, blobs: Blobs, fit: BlobFit, views: Sequence[ViewRows], rng: np.random.Generator
) -> Evidence:
    """Weigh blobs against the population, by the rows both were fitted to and by cells."""
    basis = population.basis
    points, weights = blobs.atoms(ATOMS_EACH, rng)
    others = [blobs.drawn(rng).atoms(ATOMS_EACH, rng) for _ in range(repeats.REPEATS)]
    along, size = 0.0, 0.0
    for view in _left_out(views):
        dimension = view.lift.dimension
        noise = float(view.deviations[0])
        first = view.predicted(population.atoms, population.weights) / noise
        second = view.predicted(points, weights) / noise
        observed = view.vectors / noise

        def inside(rows: NDArray[np.float64], split: int = dimension) -> NDArray[np.float64]:
            return np.column_stack([rows[:, :split] @ basis, rows[:, split:]])

        gap = inside(second - first)
        strays = np.array([inside(view.predicted(*one) / noise - second) for one in others])
        unsure = np.eye(gap.shape[1]) + np.einsum("sci,scj->cij", strays, strays) / len(strays)
        counts = np.linalg.solve(unsure, gap[..., None])[..., 0]  # of each cell, less where it is unsure
        along += float(np.vdot(counts, inside(observed - first)))
        size += float(np.vdot(counts, gap))
    alpha = _believed(along, size, _EXPECTED, _EXPECTED_DEVIATION)
    return Evidence(_within_noise(fit, blobs, population), _far_apart(blobs), alpha)


def combined(parts: Parts, clusters: int, rng: np.random.Generator) -> Answer:
    """Return the centers that the evidence asks for: the blobs, or k-means on blobs and population."""
    population, blobs, evidence = parts.population, parts.blobs, parts.evidence
    if blobs is None or evidence is None:
        return k_means(population.inner, population.weights, clusters, rng)
    basis = population.basis
    if evidence.alone:
        points, weights = blobs.atoms(ATOMS_EACH, rng, basis)
        return Answer(blobs.centers, blobs.shares, points, weights)
    inner = blobs.centers @ basis @ basis.T
    drawn = replace(blobs, centers=inner + evidence.alpha * (blobs.centers - inner))
    points, weights = drawn.atoms(ATOMS_EACH, rng, basis)
    points = np.concatenate([population.inner, points])
    weights = np.concatenate([(1 - evidence.alpha) * population.weights, evidence.alpha * weights])
    return k_means(points, weights, clusters, rng, drawn.centers)


def people(parts: Parts, rng: np.random.Generator) -> Weighted:
    """Return what the parts together expect people to be: points, (N, d), and weights, (N,)."""
    points, weights = parts.population.atoms, parts.population.weights
    if parts.blobs is None or parts.evidence is None:
        return points, weights
    more, theirs = parts.blobs.atoms(ATOMS_EACH, rng)
    share = 1.0 if parts.evidence.sure else parts.evidence.alpha
    return np.concatenate([points, more]), np.concatenate([(1 - share) * weights, share * theirs])


def better_than_one(views: Sequence[ViewRows], answer: Weighted, one: Weighted, *, clear: bool) -> bool:
    """Return whether rows that took no part side with the answer's people rather than with one group's.

    Between what one group predicts and what the answer does, they must lie `_SIDES` of the way at least.
    Before looking they are expected at one group, or as far as blobs are where a group stands clear by the
    rows that were fitted (`clear`): those alone were wrong once in 152 times (benchmarks/results/floor.csv).
    """
    along, square = 0.0, 0.0
    for view in _left_out(views):
        alone = view.predicted(*one)
        gap = (view.predicted(*answer) - alone) / view.deviations[:, None]
        along += float(np.vdot(gap, (view.vectors - alone) / view.deviations[:, None]))
        square += float(np.vdot(gap, gap))
    return _believed(along, square, _EXPECTED if clear else 0.0, _REAL_DEVIATION) >= _SIDES


def missing(fit: BlobFit, parts: Parts) -> float:
    """Return by how many deviations the rows ask for one more round group; 0 if groups are not round."""
    population, blobs, evidence = parts.population, parts.blobs, parts.evidence
    if blobs is None or evidence is None:
        return 0.0
    scores = fit.residual(blobs, population.inner)
    peak = float(scores.max())
    if evidence.fits or peak <= PEAK:
        return peak
    more = fit.one_more(blobs, population.inner[scores.argmax()])
    ours, theirs, _ = _misfits(fit, more, population)
    return peak if ours <= theirs else 0.0


def one_too_many(fit: BlobFit, parts: Parts) -> tuple[int, int] | None:
    """Return two round groups that one would explain as well, the nearest two; None if they are not such.

    A center and a share more must win two of chi-square for each of their numbers (Akaike).
    """
    blobs, evidence = parts.blobs, parts.evidence
    if blobs is None or evidence is None or not evidence.fits or len(blobs.shares) < 2:
        return None
    apart = ((blobs.centers[:, None] - blobs.centers[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    first, second = sorted(int(place) for place in np.unravel_index(apart.argmin(), apart.shape))
    lost = fit.one_less(blobs, first, second).chi - blobs.chi
    return (first, second) if lost < 2 * (blobs.centers.shape[1] + 1) else None


def _left_out(views: Sequence[ViewRows]) -> list[ViewRows]:
    """Return the views that took no part in the fits."""
    return [view for view in views if not view.halfspaces]


def _believed(along: float, square: float, expected: float, deviation: float) -> float:
    """Return α, 0 to 1, as the rows and what was expected beforehand have it together."""
    prior = 1 / deviation**2
    alpha = min(max((along + expected * prior) / (square + prior), 0.0), 1.0)
    return float(on_grid(np.array(alpha)))  # in the rest of it processors differ


def _within_noise(fit: BlobFit, blobs: Blobs, population: Cloud) -> bool:
    """Return whether blobs miss no more than noise does, or next to nothing of what the population misses."""
    ours, theirs, numbers = _misfits(fit, blobs, population)
    return ours - numbers <= max(_WITHIN * math.sqrt(2 * numbers), (1 - _ALL) * (theirs - numbers))


def _far_apart(blobs: Blobs) -> bool:
    """Return whether people are nearest to their own group's center whatever the groups' shapes.

    Few people can tell no shape. Even if all of two groups' spread, and of what is not known of their
    centers, lay in the direction between them, these are `_WITHIN` times both deviations apart.
    """
    wide = np.sqrt(blobs.sigma**2 * blobs.centers.shape[1] + blobs.errors)
    apart = np.sqrt(squared_distances(blobs.centers, blobs.centers))
    near = apart < _WITHIN * (wide[:, None] + wide)
    return int(near.sum()) <= len(wide)  # each is near to itself


def _misfits(fit: BlobFit, blobs: Blobs, population: Cloud) -> tuple[float, float, int]:
    """Return chi-square of the blobs, that of the population, and of how many numbers.

    Both are judged on the same rows, in the part that the population explains: not on those of other tables.
    """
    theirs = fit.view.predicted(population.atoms, population.weights)
    noise = fit.view.noise_covariance(population.atoms, population.weights, theirs)
    view = replace(fit.view, vectors=fit.rows)
    ours, numbers = misfit(view, fit.predicted(blobs), noise, population.basis)
    return ours, misfit(view, theirs, noise, population.basis)[0], numbers
