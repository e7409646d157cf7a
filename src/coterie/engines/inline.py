"""The whole collection in one process: points in, the collector's table out, a chunk of people at a time.

Each person's report goes through the real encoder and the real table, byte for byte as it would over a
network; only the network and the separate devices are missing. Memory beyond the points is constant.

With `SystemCoins` each report is as private as a device's. With `SimulationCoins` whoever knows the seed
undoes the privacy: that is for simulations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.coins import Coins
from coterie.encode.base import ENCODERS
from coterie.errors import PointError
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES

CHUNK: Final = 1 << 14  # people encoded at a time; part of what a seed means, so it never changes

Progress = Callable[[int], None]  # called with the number of people just done


class Encoded(NamedTuple):
    """The reports of one chunk of people."""

    reports: NDArray[np.uint8]  # (m, width)
    clipped: int  # people whose point lay outside the ball; not private, it stays on the client's side


def encode_in_chunks(plan: Plan, points: NDArray[Any], coins: Coins) -> Iterator[Encoded]:
    """Yield everybody's reports, in the order of the rows, with fresh ids.

    Parameters
    ----------
    plan : Plan
        The study's public contract.
    points : ndarray, shape (n, d)
        One row a person; any real type, converted to float64 a chunk at a time.
    coins : Coins
        Source of ids and secret coins.

    Examples
    --------
    >>> from coterie.coins import SystemCoins
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> [chunk.reports.shape for chunk in encode_in_chunks(plan, np.zeros((100, 2)), SystemCoins())]
    [(100, 13)]
    """
    if points.ndim != 2:
        raise PointError(f"points must have shape (n, {plan.dimension}), got shape {points.shape}")
    encoder = ENCODERS[plan.protocol](plan)
    for start in range(0, len(points), CHUNK):
        chunk = points[start : start + CHUNK]
        ids = np.frombuffer(coins.bytes(ID_BYTES * len(chunk)), dtype=np.uint8).reshape(-1, ID_BYTES)
        yield Encoded(*encoder.encode_counting(chunk, ids, coins))


def play(plan: Plan, points: NDArray[Any], coins: Coins, progress: Progress | None = None) -> Aggregate:
    """Encode every point and add up the reports.

    Parameters
    ----------
    plan, points, coins
        As for `encode_in_chunks`.
    progress : callable, optional
        Called after each chunk with the number of people in it.

    Returns
    -------
    Aggregate
        All n reports.

    Examples
    --------
    >>> from coterie.coins import SystemCoins
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> play(plan, np.zeros((100, 2)), SystemCoins()).count
    100
    """
    table = Aggregate(plan)
    for chunk in encode_in_chunks(plan, points, coins):
        table.add(chunk.reports)
        if progress is not None:
            progress(len(chunk.reports))
    return table
