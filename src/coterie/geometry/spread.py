"""A net for low dimensions: points spread evenly over the ball, the same on every machine.

A public hash gives a sample of the ball; some Lloyd steps (move each point to the mean of the sample points
nearest to it) spread the net over it. All is integers of scale 2^20, distances are exact in float64 and
means are floor divisions, so the same seed gives the same net everywhere.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.cells import NetCells
from coterie.plain.pieces import pieces

_SAMPLE_PER_POINT: Final = 32
_LLOYD_STEPS: Final = 12
_AT_A_TIME: Final = 1 << 22  # distances


@lru_cache(maxsize=16)
def spread_points(count: int, dimension: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """Return `count` integer points of the ball of radius 2^20, spread evenly.

    Parameters
    ----------
    count, dimension : int
        Shape of the net.
    seed : int
        Public.

    Examples
    --------
    >>> points = spread_points(4, dimension=1, seed=0)
    >>> len(points), all(abs(x) <= 2**20 for (x,) in points)
    (4, True)
    """
    sample = _ball_sample(_SAMPLE_PER_POINT * count, dimension, seed)  # (n, d)
    net = sample[:count].copy()
    for _ in range(_LLOYD_STEPS):
        cells, step = NetCells.from_points(net), max(_AT_A_TIME // count, 1)
        found = [cells.of(sample[piece].astype(np.float64)) for piece in pieces(len(sample), step)]
        nearest = np.concatenate(found)
        sizes = np.bincount(nearest, minlength=count)
        sums = np.zeros_like(net)
        np.add.at(sums, nearest, sample)
        filled = sizes > 0  # a point that nothing is nearest to stays where it is
        net[filled] = sums[filled] // sizes[filled, None]
    return tuple(tuple(row) for row in net.tolist())


def _ball_sample(count: int, dimension: int, seed: int) -> NDArray[np.int64]:
    """Return `count` points of the ball, uniform but for rounding, (count, d), from SHAKE-256.

    A direction is a vector of sums of twelve bytes, which is near enough to a normal one. The largest of d
    uniform numbers is distributed as the radius of a uniform point of the ball.
    """
    label = f"coterie/1/net/{dimension}/{seed}".encode()
    bytes_each = 12 * dimension
    data = np.frombuffer(
        hashlib.shake_256(label).digest(count * (bytes_each + 4 * dimension)), dtype=np.uint8
    )
    data = data.reshape(count, bytes_each + 4 * dimension)
    directions = 2 * data[:, :bytes_each].reshape(count, dimension, 12).sum(axis=2, dtype=np.int64) - 12 * 255
    directions[(directions == 0).all(axis=1), 0] = 1
    words = np.ascontiguousarray(data[:, bytes_each:]).view(">u4")  # (count, d)
    radii = (words >> 12).astype(np.int64).max(axis=1)  # below 2^20
    lengths = np.array([math.isqrt(int(s)) + 1 for s in (directions**2).sum(axis=1)])
    return np.asarray(directions * radii[:, None] // lengths[:, None])
