"""How many groups: one more as long as the rows ask for it, with noise that is known.

A further group of d + 1 numbers (its center and its share) lowers chi-square by about d + 1 where there is
nothing but noise to explain, so it has to be lower by more than twice that (Akaike's criterion, which needs
no estimate of the noise here because the plan tells it), and by 2·log M more because the best of about as
many places as there are rows is taken. Groups are the round ones of `blobs`; where a plan
has no halfspaces, the centers that stand clear of the noise are counted instead (`codeword`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.answer import k_means
from coterie.centers.blobs import BlobFit, Blobs
from coterie.centers.population import Cloud, fit_population, shrunk_mean
from coterie.oracles.rows import ViewRows

_PRICE: Final = 2.0  # of each number of a further group, in chi-square
_REFUSALS: Final = 2  # in a row, after which nothing larger is tried
_ROUNDS: Final = 10  # for a start that holds all groups but one
_UNSURE: Final = 0.35


def most_clusters(planned: int) -> int:
    """Return how many groups are looked for at most, from the number that the plan was designed for.

    Examples
    --------
    >>> most_clusters(8)
    18
    """
    return 2 * planned + 2


def choose_clusters(views: Sequence[ViewRows], most: int, rng: np.random.Generator) -> int | None:
    """Return the number of round groups that explain halfspace rows; None where there are no such rows.

    Parameters
    ----------
    views : sequence of ViewRows
        All rows; the halfspaces of the frame's own ball that most people served are looked at.
    most : int
        Groups to look for at most.
    rng : numpy Generator
        The analyst's.
    """
    own = [v for v in views if v.halfspaces and v.frame.scale == 1 and not v.frame.shift.any()]
    if not own:
        return None
    population = fit_population(views, rng)
    if population is None:
        return 1
    fit = BlobFit(max(own, key=lambda view: view.people), shrunk_mean(views))
    price = _PRICE * (fit.view.lift.dimension + 1 + math.log(len(fit.rows)))
    best = last = _from_k_means(fit, population, 1, rng)
    refused = 0
    while len(last.shares) < most and refused < _REFUSALS:
        last = _one_more(fit, population, last, rng)
        more = len(last.shares) - len(best.shares)
        if last.chi < best.chi - more * price:
            best, refused = last, 0
        else:
            refused += 1
    return len(best.shares)


def _from_k_means(fit: BlobFit, population: Cloud, clusters: int, rng: np.random.Generator) -> Blobs:
    start = k_means(population.inner, population.weights, clusters, rng)
    return fit.fit(start.centers, start.shares, probes=1)


def _one_more(fit: BlobFit, population: Cloud, blobs: Blobs, rng: np.random.Generator) -> Blobs:
    """Fit one group more: afresh, and with a group added where the rows are explained worst."""
    clusters = len(blobs.shares) + 1
    peak = population.inner[fit.residual(blobs, population.inner).argmax()]
    shares: NDArray[np.float64] = np.append(blobs.shares * (1 - 1 / clusters), 1 / clusters)
    grown = fit.fit(
        np.vstack([blobs.centers, peak]),
        shares,
        rounds=_ROUNDS,
        unsure=_UNSURE,
        sigma=np.append(blobs.sigma, np.median(blobs.sigma)),
        probes=1,
    )
    return min(grown, _from_k_means(fit, population, clusters, rng), key=lambda one: one.chi)
