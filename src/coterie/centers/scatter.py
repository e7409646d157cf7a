"""How far people lie from the population's points in the directions that those do not show.

In many dimensions the points live where they stand clear of the noise, and people scatter around them in all
other directions. The last coordinate of a lifted point, √(1 - b² - a²·|x|²), tells lengths whatever their
direction, and scatter also blurs on which side of a halfspace people lie. So the points are scattered by a
mean square of v, equally in all directions, and the v with which the rows' last coordinates are explained
best is the one that is missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from coterie.oracles.rows import ViewRows

_DRAWN: Final = 4000  # people, by weight
_CLOSE: Final = 1e-3  # how exactly v is found


def scatter_of(
    views: Sequence[ViewRows],
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    rng: np.random.Generator,
) -> float:
    """Return the mean square distance that the points do not show, 0 to 1.

    Parameters
    ----------
    views : sequence of ViewRows
        All rows.
    points, weights : ndarray, shapes (N, d) and (N,)
        The population, in the unit ball of the frame.
    rng : numpy Generator
        The analyst's.
    """
    drawn = points[rng.choice(len(points), _DRAWN, p=weights / weights.sum())]
    around = rng.standard_normal(drawn.shape) / math.sqrt(drawn.shape[1])

    def predicted(missing: float) -> list[NDArray[np.float64]]:
        people = drawn + math.sqrt(missing) * around
        sums = (view.features(people).T @ view.lifted(people)[:, -1].astype(np.float32) for view in views)
        return [rows / (_DRAWN * view.deviations) for rows, view in zip(sums, views, strict=True)]

    seen = [view.vectors[:, -1] / view.deviations for view in views]

    def misfit(missing: float) -> float:
        gaps = (rows - told for rows, told in zip(seen, predicted(missing), strict=True))
        return float(sum(gap @ gap for gap in gaps))

    found = minimize_scalar(misfit, bounds=(0.0, 1.0), method="bounded", options={"xatol": _CLOSE})
    return float(found.x)
