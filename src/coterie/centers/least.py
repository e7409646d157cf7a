"""Where a smooth loss is least: L-BFGS with backtracking, the same on every processor.

Every step is rounded, and sums are numpy's: last bits, in which processors differ, do not add up. All steps
are remembered: there are too few of them to forget any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

STEPS: Final = 60
_DECIMALS: Final = 5  # of a place, in which such differences have grown: of less, no step and no decrease

Loss = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]  # place -> value and slope


def least(loss: Loss, start: NDArray[np.float64], steps: int = STEPS) -> NDArray[np.float64]:
    """Return about where a loss is least, after so many steps at the most: (N,) -> (N,).

    Examples
    --------
    >>> least(lambda x: (float(((x - 3) ** 2).sum()), 2 * (x - 3)), np.zeros(2)).tolist()
    [3.0, 3.0]
    """
    place, least_step = start, 10.0**-_DECIMALS
    value, slope = loss(place)
    changes: list[
        tuple[NDArray[np.float64], NDArray[np.float64], float]
    ] = []  # of place and slope, 1/product
    for _ in range(steps):
        way, marks = slope.copy(), []
        for step, turn, inverse in reversed(changes):
            marks.append(inverse * float((step * way).sum()))
            way -= marks[-1] * turn
        if changes:
            step, turn, inverse = changes[-1]
            way /= inverse * float((turn * turn).sum())
        else:
            way /= math.sqrt(float((way * way).sum())) or 1.0
        for (step, turn, inverse), mark in zip(changes, reversed(marks), strict=True):
            way += (mark - inverse * float((turn * way).sum())) * step
        length, new = 1.0, math.inf
        while not new < value:
            if length < least_step:
                return place
            tried = np.round(place - length * way, _DECIMALS)
            new, new_slope = loss(tried)
            length /= 2
        step, turn = tried - place, new_slope - slope
        if (product := float((step * turn).sum())) > 0:
            changes.append((step, turn, 1 / product))
        done = value - new <= least_step * max(abs(value), abs(new), 1.0)
        place, value, slope = tried, new, new_slope
        if done:
            break
    return place
