"""A net for low dimensions: points spread evenly over the ball, the same on every machine.

A public hash gives a sample of the ball; some Lloyd steps (move each point to the mean of the sample points
nearest to it) spread the net over it. All is integers of scale 2^20, distances are exact in float64 and
means are floor divisions, so the same seed gives the same net everywhere.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE, SCALE_SQUARED
from coterie.geometry.cells import NetCells

_SAMPLE_PER_POINT: Final = 32
_LLOYD_STEPS: Final = 12


def spread_points(count: int, dimension: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """Return `count` integer points of the ball of radius 2^20, spread evenly.

    Parameters
    ----------
    count, dimension : int
        Shape of the net; dimension at most 8 or so (the sample is drawn from the cube around the ball).
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
        nearest = NetCells.from_points(net).of(sample.astype(np.float64))
        sizes = np.bincount(nearest, minlength=count)
        sums = np.zeros_like(net)
        np.add.at(sums, nearest, sample)
        filled = sizes > 0  # a point that nothing is nearest to stays where it is
        net[filled] = sums[filled] // sizes[filled, None]
    return tuple(tuple(row) for row in net.tolist())


def _ball_sample(count: int, dimension: int, seed: int) -> NDArray[np.int64]:
    """Return `count` uniform grid points of the ball, (count, d), from SHAKE-256 and rejection."""
    kept: list[NDArray[np.int64]] = []
    missing, batch = count, 0
    while missing > 0:
        label = f"coterie/1/net/{dimension}/{seed}/{batch}".encode()
        words = np.frombuffer(hashlib.shake_256(label).digest(4 * dimension << 16), dtype=">u4")
        cube = (words >> 11).astype(np.int64).reshape(-1, dimension) - SCALE  # in [-2^20, 2^20)
        inside = cube[(cube * cube).sum(axis=1) <= SCALE_SQUARED][:missing]
        kept.append(inside)
        missing -= len(inside)
        batch += 1
    return np.concatenate(kept)
