"""Numbers that are rounded before they are multiplied: sums of their products are exact, in whatever order.

Processors differ in the last bits of a sum of products, and steps of a fit make much of that. Sums of whole
numbers below 2^53 have no last bits: on every processor they are the same (decision 0012).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE


def on_grid(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return values rounded to whole units of 2^-20.

    Examples
    --------
    >>> float(on_grid(np.array([0.3]))[0]) * 2**20
    314573.0
    """
    rounded: NDArray[np.float64] = np.rint(values * SCALE) / SCALE
    return rounded


def coarse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values rounded to 20 bits of the largest: sums of 8,192 products of such stay below 2^53.

    Examples
    --------
    >>> coarse(np.array([3.0, 1e-9])).tolist()
    [3.0, 0.0]
    """
    unit = 2.0 ** int(np.frexp(np.abs(values).max(initial=0.0))[1]) / SCALE
    rounded: NDArray[np.float64] = np.rint(values / unit) * unit
    return rounded
