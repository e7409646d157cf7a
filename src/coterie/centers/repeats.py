"""Errors by doing it again: what the truth may be is drawn around the answer, and the fits are repeated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.answer import Answer, in_order, next_optimum
from coterie.centers.blobs import BlobFit, Blobs
from coterie.centers.evidence import Parts, combined, people
from coterie.centers.population import feature_blocks, into_ball, reweight, seen_parts
from coterie.centers.solution import with_equal_points
from coterie.oracles.rows import ViewRows
from coterie.wire.workers import on_all_cores

COVERAGE: Final = 0.9  # of the stated radii
REPEATS: Final = 6  # of the fits

_START_WRONG: Final = 1.5  # times the expected error: how far off the repeated fits start
_OF_DOUBT: Final = 0.73  # of the squared doubt about a coordinate ends up in the fitted spread: measured
_UNSEEN: Final = 0.22  # share of the variance outside the subspace that lies between groups: measured
_ROUND_WRONG: Final = 1.13  # squared distances from the truth, times those of repeated fits: measured
_OTHER_WRONG: Final = 3.0  # the same where the groups are not round, and the truth is none of the model's


def distances_of(
    views: Sequence[ViewRows],
    fit: BlobFit | None,
    parts: Parts,
    answer: Answer,
    rng: np.random.Generator,
    repeats: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Repeat the fits on the answer's rows with fresh noise; return two distances per center, (repeats, k).

    The first is from the best optimum that k-means happened to find, which may be another; the second from
    the optimum next to the answer, which noise alone has moved.
    """
    evidence = parts.evidence
    pure = evidence is not None and evidence.sure
    if evidence is not None:  # groups that may not be round: as uncertain as anything
        parts = replace(parts, evidence=replace(evidence, round_groups=pure))
    population, blobs = parts.population, parts.blobs
    clusters = len(answer.centers)
    fitted = [view for view in views if view.halfspaces] or list(views)
    expected = []
    if not pure:
        points, weights = people(parts, rng)
        expected = [view.predicted(points, weights) for view in fitted]
    blocks = [] if pure else feature_blocks(population.atoms, fitted)  # the same for all repeats
    size = population.basis.shape[1]
    unseen = 0.0 if pure else _UNSEEN * population.floor * (len(population.basis) - size)

    def repeat(own: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        again = parts
        truth = answer.centers
        if pure and fit is not None and blobs is not None:
            truth, rows = _possible(fit, blobs, own)
            again = replace(parts, blobs=_refit(fit, rows, blobs, truth, own))
        else:
            noisy = [_with_noise(view, rows, own) for view, rows in zip(fitted, expected, strict=True)]
            seen = seen_parts(noisy, population.basis)
            weights = reweight(population.atoms, noisy, seen, blocks)[0]
            again = replace(parts, population=replace(population, weights=weights))
            if fit is not None and blobs is not None:
                index = next(i for i, view in enumerate(fitted) if view is fit.view)
                again = replace(again, blobs=_refit(fit, expected[index], blobs, blobs.centers, own))
        found = combined(again, clusters, own, any_optimum=True)
        centers = in_order(found.centers, truth)
        near = np.linalg.norm((centers if pure else next_optimum(found, truth)) - truth, axis=1)
        squares = ((centers - truth) ** 2).sum(axis=1)
        return np.sqrt((_ROUND_WRONG if pure else _OTHER_WRONG) * squares + unseen), near

    if not repeats:
        return np.empty((0, clusters)), np.empty((0, clusters))
    # Each with a generator of its own, so that it does not matter which of them is done first.
    with with_equal_points(), on_all_cores() as map_all:
        distances, near = zip(*map_all(repeat, rng.spawn(repeats)), strict=True)
    return np.stack(distances), np.stack(near)


def radii_of(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each center's radius that holds `COVERAGE` of the distances: (repeats, k) -> (k,).

    A center's own scale is the root mean square of its few distances, shrunk towards everybody's by half; how
    far the distances scatter around it is pooled over all centers.
    """
    own = np.sqrt((distances**2).mean(axis=0))
    scale = np.sqrt(np.maximum(own * float(np.sqrt((own**2).mean())), 1e-18))
    ratio = float(np.quantile(distances / scale, COVERAGE))
    radii: NDArray[np.float64] = np.minimum(scale * ratio, 1.0)
    return radii


def _possible(
    fit: BlobFit, blobs: Blobs, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the truth may be, given the blobs: centers, (k, d), and their rows without noise, (M, D).

    The fitted centers themselves lie too well, away from halfspaces whose side is in doubt; and the spread
    that was fitted holds a part of what is not known of the centers.
    """
    truth = into_ball(blobs.centers + _wrong(blobs, rng))
    sigma = spread_without_doubt(blobs)
    return truth, fit.predicted(truth, blobs.shares, sigma, np.zeros(len(truth)))[0]


def spread_without_doubt(blobs: Blobs) -> NDArray[np.float64]:
    """Return the groups' spread less what is not known of their centers: (k,)."""
    squares = blobs.sigma**2
    spread: NDArray[np.float64] = np.sqrt(np.maximum(squares - _OF_DOUBT * blobs.unsure**2, 0.01 * squares))
    return spread


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


def _with_noise(view: ViewRows, rows: NDArray[np.float64], rng: np.random.Generator) -> ViewRows:
    noise = view.deviations[:, None] * rng.standard_normal(rows.shape)
    return replace(view, vectors=rows + noise)
