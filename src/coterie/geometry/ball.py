"""The public ball and its integer grid: where every point of a study lives.

A point x is shifted and scaled into the unit ball, then rounded to integers of scale 2^20:

    z = (x - center) / radius;   g = max|z_i|, if g > 1: z = z / g;   q_i = ⌊z_i·2^20 + ½⌋
    s = Σ q_i²;   if s > 2^40: q_i = trunc(q_i·t) with t = 2^20/√s

Every operation is one IEEE double operation, in this order, so all languages find the same integers
(docs/wire-format.md). Afterwards Σ q_i² ≤ 2^40 holds exactly: rounding can raise the sum by a relative
2^-49 at most, which is less than one, and the sum is an integer. The division by g keeps q_i and their
squares within 53 bits however far away x is.

A plan may have *directions*, m rows e of integers of scale 2^20, and the report then speaks of

    y_j = ⌊(Σ_i e_ji·q_i + 2^19) / 2^20⌋,      drawn back into the ball like q

alone. Rows are at most 2^23 long, so all sums stay below 2^43 and are exact in any order.

Every finite point gets its integers, whatever the ball: a z_i that overflows becomes the largest double with
its sign. Refusing it would let a plan with a tiny radius ask "is |x_i| above this?", and silence would tell.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.errors import PointError

SCALE: Final = 1 << 20  # grid steps to the ball's radius
SCALE_SQUARED: Final = 1 << 40
MAX_STRETCH: Final = 8  # length of a direction: what is reported of a point may be longer than the point

_LARGEST: Final = sys.float_info.max


def refuse_masked(points: object) -> None:
    """Raise PointError for a masked array: numpy would encode what lies under the mask."""
    if isinstance(points, np.ma.MaskedArray):
        raise PointError("points must not be masked: drop or repair the rows that are")


def as_points(points: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Return `points` as an (n, d) float64 array, or say what is wrong with its shape or type.

    Parameters
    ----------
    points : array_like, shape (n, d)
        Real numbers: any float or integer type.
    dimension : int
        d, the plan's dimension.

    Examples
    --------
    >>> as_points([[1, 2], [3, 4]], dimension=2).dtype
    dtype('float64')
    """
    refuse_masked(points)
    try:
        array = np.asarray(points)
    except ValueError:  # ragged lists
        raise PointError(
            "points must form a rectangular array of numbers, got rows of unequal length"
        ) from None
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        # The type alone: the dtype of texts would tell how long the longest is.
        raise PointError(
            "points must be real numbers (float64 or narrower, or integers), "
            f"got {array.dtype.type.__name__.rstrip('_')}"
        )
    if array.ndim != 2 or array.shape[1] != dimension:
        raise PointError(
            f"points must have shape (n, {dimension}), one row a person, got shape {array.shape}"
        )
    return array.astype(np.float64, copy=False)


def quantize(
    points: NDArray[np.float64], center: Sequence[float] | NDArray[np.float64] | None, radius: float
) -> tuple[NDArray[np.float64], int]:
    """Round points to the ball's integer grid.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        One row a person.
    center : sequence of d floats, or None
        The ball's center; None is the origin.
    radius : float
        The ball's radius.

    Returns
    -------
    quantized : ndarray of float64, shape (n, d)
        Integers (held in float64, exactly) with squared row sums at most 2^40.
    clipped : int
        How many points lay outside the ball. Computed from the points and hence not private: it stays on the
        client. A point on the sphere itself is not counted, whichever way its coordinates were rounded.

    Examples
    --------
    >>> quantized, clipped = quantize(np.array([[0.5, 0.0], [3.0, 4.0]]), center=None, radius=1.0)
    >>> quantized.astype(int).tolist(), clipped
    ([[524288, 0], [629145, 838860]], 1)
    """
    # Every point takes the same steps, clipped or not: a branch would show in the time that encoding takes.
    if not np.isfinite(points).all():
        raise PointError(
            "points hold NaN or infinite coordinates; nothing was encoded. Drop or repair those rows first"
        )
    with np.errstate(over="ignore"):
        scaled = points if center is None else points - np.asarray(center, dtype=np.float64)
        scaled = scaled / radius  # (n, d)
    np.clip(scaled, -_LARGEST, _LARGEST, out=scaled)  # what overflowed
    largest = np.abs(scaled).max(axis=1, initial=0.0)  # g, (n,)
    scaled /= np.maximum(largest, 1.0)[:, None]  # by 1, which changes nothing, where g is not above 1
    scaled *= SCALE
    scaled += 0.5
    quantized: NDArray[np.float64] = np.floor(scaled, out=scaled)

    outside = _draw_back(quantized)
    return quantized, int(np.count_nonzero((largest > 1) | outside))


def project(
    quantized: NDArray[np.float64], directions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int]:
    """Return what directions see of points of the grid, on the grid of their own ball.

    Parameters
    ----------
    quantized : ndarray of float64, shape (n, d)
        Integers, as `quantize` returns them.
    directions : ndarray of float64, shape (m, d)
        Integers of scale 2^20, rows at most 2^23 long; m at most 64.

    Returns
    -------
    projected : ndarray of float64, shape (n, m)
        Integers with squared row sums at most 2^40.
    clipped : int
        How many were drawn back; not private, like that of `quantize`.

    Examples
    --------
    >>> turned = project(np.array([[600000.0, 3.0]]), SCALE * np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> turned[0].astype(int).tolist(), turned[1]
    ([[6, 600000]], 0)
    """
    projected: NDArray[np.float64] = np.floor((quantized @ directions.T + SCALE / 2) / SCALE)
    outside = _draw_back(projected)
    return projected, int(np.count_nonzero(outside))


def _draw_back(quantized: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Draw integer points back into the ball, in place; return which of them surely lay outside: (n,)."""
    squares = np.einsum("ij,ij->i", quantized, quantized)  # s, exact: below 2^53
    shrink = SCALE / np.sqrt(np.maximum(squares, 1.0))  # t
    quantized *= np.where(squares > SCALE_SQUARED, shrink, 1.0)[:, None]
    np.trunc(quantized, out=quantized)
    # Rounding moves a point by √d/2 grid steps at most: only beyond that is it certain to have been outside.
    slack = SCALE + np.sqrt(quantized.shape[1]) / 2
    return np.asarray(squares > slack * slack)
