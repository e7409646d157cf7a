"""What every encoder is given: people's points and one fresh id each, checked once, here."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.errors import ReportError
from coterie.geometry.ball import as_points
from coterie.wire.layout import ID_BYTES


def checked_people(
    points: ArrayLike, ids: NDArray[np.uint8] | None, dimension: int, coins: Coins
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return points as float64 and their ids: (n, d), (n, 12) -> (n, d), (n, 12).

    Parameters
    ----------
    points : array_like, shape (n, d)
        One row per person.
    ids : ndarray of uint8, shape (n, 12), or None
        None draws fresh ones, before any other coin.
    dimension : int
        d, the plan's.
    coins : Coins
        Where fresh ids come from.

    Examples
    --------
    >>> from coterie.coins import SystemCoins
    >>> points, ids = checked_people([[1, 2], [3, 4]], None, 2, SystemCoins())
    >>> points.dtype, ids.shape
    (dtype('float64'), (2, 12))
    """
    points = as_points(points, dimension)
    people = len(points)
    if ids is None:
        drawn = np.frombuffer(coins.bytes(ID_BYTES * people), dtype=np.uint8)
        return points, drawn.reshape(people, ID_BYTES)
    if ids.dtype != np.uint8 or ids.shape != (people, ID_BYTES):
        raise ReportError(
            f"ids must be uint8 of shape ({people}, {ID_BYTES}), one row a point, "
            f"got {ids.dtype} of shape {ids.shape}"
        )
    return points, ids
