"""The solution of a tree protocol: each center is the mean of one part of the leaves."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.solution import Solution

_CLEAR: Final = 2.0  # standard deviations by which a part's weight must stand out to be supported
_LITTLE: Final = 0.5  # of the radius: noise of the centers from which on the paper's protocols say little


def solution_of_parts(
    centers: NDArray[np.float64],
    weights: NDArray[np.float64],
    noise: tuple[NDArray[np.float64], NDArray[np.float64]],
    population: tuple[NDArray[np.float64], NDArray[np.float64]],
    tree: Any,
) -> Solution:
    """Return the solution of a tree protocol: each center is the mean of one part of the leaves.

    Parameters
    ----------
    centers : ndarray of float64, shape (k, d)
        ṽ/f̃ of each part.
    weights : ndarray of float64, shape (k,)
        f̃ of each part, in people.
    noise : pair of ndarray of float64, shape (k,)
        The deviation of f̃ and the root mean square error of ṽ.
    population : pair of ndarray of float64, shapes (N, d) and (N,)
        The leaves as points of the unit ball, and their shares.
    tree : object
        What was built.
    """
    held, lengths = np.maximum(weights, 0.0), np.linalg.norm(centers, axis=1)
    counting, vectors = noise
    errors = np.minimum(np.hypot(vectors, counting * lengths) / np.maximum(held, 1.0), 2.0)
    supported = (held > 0) & (weights > _CLEAR * counting)
    notes: tuple[str, ...] = ()
    if not supported.any() or float(np.sqrt(np.mean(errors**2))) > _LITTLE:
        notes = (
            "At this epsilon and number of reports the paper's protocol says little; protocol codeword "
            "needs far fewer reports.",
        )
    return Solution(
        centers=centers,
        shares=held / held.sum() if held.sum() > 0 else np.full(len(held), 1 / len(held)),
        errors=errors,
        supported=supported,
        points=population[0],
        weights=population[1],
        notes=notes,
        tree=tree,
    )
