"""Halfspaces: public hyperplanes, a row each, and on which side of its row's a quantized point lies.

    φ_c(q) = +1 if (G·q)_c ≥ offset_c, else -1

G has M rows of d integers: those of rotations of size S (`coterie.geometry.rotation`), one after the other,
S of each. S is the least power of two that is at least d and at least 128: a rotation of few coordinates has
too few different rows. |G·q| ≤ S·‖q‖ ≤ S·2^20, and the sums on the way stay below S·2^20·√d < 2^53, so
doubles decide exactly, whatever the order of summing; a point on the hyperplane counts as above it.

A client needs one entry of G·q. Entry i of a rotation is Σ_j (-1)^popcount(i & j)·S₂_j·(H·S₁·q)_j: one
transform and one sum a point, whichever rotation each of them takes. G itself is d transforms a rotation. Who
asks for more points than that keeps it, where it is small; an entry is then one product of two rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.geometry.ball import SCALE
from coterie.geometry.hadamard import fwht
from coterie.geometry.rotation import Rotation
from coterie.plain.pieces import pieces

SMALLEST_TURN: Final = 128  # S is at least this

_MATRIX_LIMIT: Final = 1 << 22  # entries of G up to which it is kept: 32 MB
_TURNED_AT_A_TIME: Final = 1 << 20  # coordinates that a transform holds at a time


def turn_size(dimension: int) -> int:
    """Return S, the size of the rotations whose rows are the normals.

    Examples
    --------
    >>> turn_size(3), turn_size(128), turn_size(129)
    (128, 128, 256)
    """
    return max(SMALLEST_TURN, 1 << (dimension - 1).bit_length())


def mean_coordinate(dimension: int) -> float:
    """Return c_d = E|u₁| for u uniform on the unit sphere.

    Examples
    --------
    >>> round(mean_coordinate(1), 6), round(mean_coordinate(3), 6)
    (1.0, 0.5)
    """
    return math.exp(math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2)) / math.sqrt(math.pi)


@dataclass(slots=True, eq=False)
class HalfspaceSigns:
    """The sides of M public hyperplanes. Its state is how often it was asked; threads may share it.

    Examples
    --------
    >>> sides = HalfspaceSigns.from_keys([bytes(16)], offsets=[0, 0], dimension=3)
    >>> here = np.array([[500.0, -20.0, 3.0]])
    >>> (sides.of(here) == -sides.of(-here)).all()
    np.True_
    >>> sides.odd(here, np.array([1])) == (sides.of(here)[:, 1] < 0)
    array([ True])
    """

    first: NDArray[np.float64]  # (blocks, S) of ±1: the signs of round 1
    second: NDArray[np.float64]  # (blocks, S) of ±1: the signs of round 2
    bounds: NDArray[np.float64]  # (M,): the plan's offsets, integers
    dimension: int  # d
    asked: int = 0  # transforms so far, of points
    kept: NDArray[np.float64] | None = None  # G, (M, d), where it is small and was worth it

    @classmethod
    def from_keys(cls, keys: Sequence[bytes], offsets: ArrayLike, dimension: int) -> HalfspaceSigns:
        """Make the sides from the keys of the rotations, ⌈M/S⌉ of them, and the M integer offsets."""
        size = turn_size(dimension)
        bounds = np.asarray(offsets, dtype=np.float64)
        if len(keys) != -(-len(bounds) // size):
            raise ValueError(f"{len(bounds)} rows take {-(-len(bounds) // size)} keys, got {len(keys)}")
        turns = [Rotation.from_key(key, size) for key in keys]
        first = np.stack([turn.first for turn in turns])
        second = np.stack([turn.second for turn in turns])
        return cls(first, second, bounds, dimension)

    @classmethod
    def joined(cls, several: Sequence[HalfspaceSigns]) -> HalfspaceSigns:
        """Return the hyperplanes of several in one; all but the last are of whole rotations."""
        return cls(
            np.concatenate([one.first for one in several]),
            np.concatenate([one.second for one in several]),
            np.concatenate([one.bounds for one in several]),
            several[0].dimension,
        )

    @property
    def size(self) -> int:
        """S, the rows of one rotation."""
        return int(self.first.shape[1])

    @property
    def rows(self) -> int:
        """M, how many hyperplanes there are."""
        return len(self.bounds)

    @property
    def normals(self) -> NDArray[np.float64]:
        """G/S, (M, d): φ(x) = sign(normals @ x - offsets) for x of the unit ball, sign(0) = 1.

        The columns of each whole rotation are orthonormal; a row has length about √(d/S). Made anew for every
        caller.
        """
        return self.integer_normals() / self.size

    @property
    def offsets(self) -> NDArray[np.float64]:
        """The offsets for `normals`, (M,): the plan's, divided by S·2^20 (exactly: a power of two)."""
        return self.bounds / (self.size * SCALE)

    def integer_normals(self) -> NDArray[np.float64]:
        """Return G, (M, d), integers of size at most S."""
        if self.kept is not None:
            return self.kept
        normals = np.empty((self.rows, self.dimension))
        for part, turn in self._turns():
            normals[part] = turn.matrix(self.dimension)[: part.stop - part.start]
        return normals

    def _kept_for(self, transforms: float) -> NDArray[np.float64] | None:
        """Return G if it is kept; so many transforms more may make it worth it."""
        if self.kept is None and self.rows * self.dimension <= _MATRIX_LIMIT:
            self.asked += int(min(transforms, _MATRIX_LIMIT))
            if self.asked >= len(self.first) * self.dimension:
                self.kept = self.integer_normals()
        return self.kept

    def odd(self, quantized: NDArray[np.float64], masks: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return 1 where φ of the point's own row is -1, else 0: (n, d), (n,) -> (n,)."""
        heights = self.heights(quantized, masks)
        return (heights < self.bounds[masks]).view(np.uint8)

    def heights(self, quantized: NDArray[np.float64], masks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return entry `masks` of G·q for each point, exact integers: (n, d), (n,) -> (n,)."""
        if (kept := self._kept_for(len(masks))) is not None:
            return np.asarray(np.einsum("nd,nd->n", kept[masks], quantized))
        heights = np.empty(len(masks))
        step = max(1, _TURNED_AT_A_TIME // self.size)
        columns = np.arange(self.size)
        for piece in pieces(len(masks), step):
            blocks, entries = np.divmod(masks[piece], self.size)
            padded = np.zeros((len(blocks), self.size))
            padded[:, : self.dimension] = quantized[piece] * self.first[blocks, : self.dimension]
            turned = fwht(padded) * self.second[blocks]
            signs = 1.0 - 2.0 * (np.bitwise_count(entries[:, None] & columns) & 1)
            heights[piece] = np.einsum("ns,ns->n", turned, signs)
        return heights

    def of(self, quantized: NDArray[np.float64]) -> NDArray[np.int8]:
        """Return φ of every row for each quantized point: (n, d) -> (n, M) of ±1."""
        signs = np.empty((len(quantized), self.rows), dtype=np.int8)
        kept = self._kept_for(len(quantized) * len(self.first))
        for part, turn in self._turns():
            if kept is None:
                heights = turn.apply(quantized)[:, : part.stop - part.start]
            else:
                heights = quantized @ kept[part].T
            signs[:, part] = np.where(heights >= self.bounds[part], 1, -1)
        return signs

    def nearly(self, points: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return φ of every row for points of the unit ball: (n, d) -> (n, M) of ±1.

        A point within 10^-15 of a hyperplane may come out on its other side: for the analyst, whose points
        are guesses. Several times faster than `of`, which devices agree with.
        """
        if (kept := self._kept_for(math.inf)) is None:
            return self.of(points * SCALE).astype(np.float32)
        heights = points @ (kept / self.size).T - self.offsets
        return np.where(heights >= 0, np.float32(1), np.float32(-1))

    def _turns(self) -> Iterator[tuple[slice, Rotation]]:
        """Yield the rows of each rotation, and the rotation."""
        for block, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            start = block * self.size
            yield slice(start, min(start + self.size, self.rows)), Rotation(first, second)
