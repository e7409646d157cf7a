"""What an encoder is, and what each is given: people's points and one fresh id each, checked once."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.errors import ReportError
from coterie.geometry.ball import SCALE as SCALE
from coterie.geometry.ball import as_points, project, quantize
from coterie.plan import Plan
from coterie.protocols.base import ID_BYTES

Points = NDArray[np.float64]  # (n, d), a row a person
Ids = NDArray[np.uint8]  # (n, 12)
Reports = NDArray[np.uint8]  # (n, width)


class Encoder(ABC):
    """Turns points into reports under one plan. Holds no secret and no state; threads may share it.

    Parameters
    ----------
    plan : Plan
        A plan of the encoder's protocol.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @abstractmethod
    def encode_counting(self, points: ArrayLike, ids: Ids | None, coins: Coins) -> tuple[Reports, int]:
        """Return what `encode` does, and how many points were clipped. The count is not private.

        Points and ids are checked here (`checked_people`); without ids, fresh ones are drawn first.
        """

    def encode(self, points: ArrayLike, ids: Ids, coins: Coins) -> Reports:
        """Return one report a point: (n, d), (n, 12) -> (n, width).

        Parameters
        ----------
        points : array_like, shape (n, d)
            One row a person. Points outside the plan's ball are drawn back to its surface.
        ids : ndarray of uint8, shape (n, 12)
            Fresh random bytes from the system, independent of the points, each used once.
        coins : Coins
            The secret coins; outside simulation, the system's.
        """
        return self.encode_counting(points, ids, coins)[0]

    def quantize(self, points: Points) -> tuple[Points, int]:
        """Return what is reported of points, integers of up to 2^20, and how many were clipped.

        (n, d) -> (n, m), m the plan's `coordinates`.
        """
        quantized, clipped = quantize(points, self._plan.center, self._plan.radius)
        if self._plan.directions is None:
            return quantized, clipped
        projected, more = project(quantized, np.array(self._plan.directions, dtype=np.float64))
        return projected, clipped + more

    def by_kernels(self) -> dict[str, Encoder]:
        """Return encoders of the same plan by the kernels that they run, where it has some; for audits."""
        return {"": self}


def checked_people(points: ArrayLike, ids: Ids | None, dimension: int, coins: Coins) -> tuple[Points, Ids]:
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
