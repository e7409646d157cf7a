"""From rows to k centers: two explanations of what was seen, and evidence that weighs them.

1. A *population* explains data of any shape (`population`).
2. *Blobs* explain round groups, and those far better; they start from k-means on the population (`blobs`).
3. *Evidence* says which of the two to trust, and how far (`evidence`).
4. *Errors* by doing it again (`repeats`).

With rows of cells only, there is no second explanation: the population is the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers import repeats as again
from coterie.centers.answer import Answer, k_means
from coterie.centers.blobs import search
from coterie.centers.evidence import (
    ATOMS_EACH,
    PEAK,
    Parts,
    better_than_one,
    blob_fit,
    combined,
    missing,
    one_too_many,
    weigh,
)
from coterie.centers.population import fit_population, into_ball, shrunk_mean
from coterie.centers.solution import Solution
from coterie.oracles.rows import ViewRows, mean_square

_STARTS: Final = 2


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
        None is the default, `repeats.REPEATS`.

    Returns
    -------
    Solution
    """
    middle = shrunk_mean(views)
    population = fit_population(views, rng)
    if population is None:
        return _nothing(clusters, middle, mean_square(views), rng)
    answer = k_means(population.inner, population.weights, clusters, rng)
    fit = blob_fit(views, middle)
    peak = 0.0
    if fit is None:
        parts: Parts = Parts(population, None, None)
    else:
        starts = [answer]
        starts += [k_means(population.inner, population.weights, clusters, rng) for _ in range(_STARTS - 1)]
        blobs = search(fit, population, [(start.centers, start.shares) for start in starts])
        evidence = weigh(population, blobs, fit, [view for view in views if not view.halfspaces], rng)
        parts = Parts(population, blobs, evidence)
        answer = combined(parts, clusters, rng)
        peak = missing(fit, blobs, population, evidence)
    nothing = _nothing(clusters, middle, mean_square(views), rng)
    if fit is not None and not better_than_one(fit, parts, views, nothing, rng):
        return nothing
    distances, near = again.distances_of(
        views, fit, parts, answer, rng, again.REPEATS if repeats is None else repeats
    )
    solution = _solution(answer, distances, near, middle, peak)
    extra = None if fit is None else one_too_many(fit, parts)
    if extra is None or not solution.supported.any():  # that nothing is found is said already
        return solution
    return replace(solution, notes=_with_pair(solution.notes, extra))


def _nothing(clusters: int, middle: NDArray[np.float64], square: float, rng: np.random.Generator) -> Solution:
    """Return the mean of everybody; the population is as wide around it as people are long."""
    wide = math.sqrt(max(square - float(middle @ middle), 0.0) / len(middle))
    points = into_ball(middle + wide * rng.standard_normal((ATOMS_EACH, len(middle))))
    return Solution(
        centers=np.tile(middle, (clusters, 1)),
        shares=np.full(clusters, 1 / clusters),
        errors=np.ones(clusters),
        supported=np.zeros(clusters, dtype=bool),
        points=points,
        weights=np.full(ATOMS_EACH, 1 / ATOMS_EACH),
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
        radii = again.radii_of(distances)
        supported = np.linalg.norm(answer.centers - middle, axis=1) > again.radii_of(near)
        supported |= len(radii) == 1
    centers = np.where(supported[:, None], answer.centers, middle)
    notes = []
    if peak > PEAK:
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
