"""Cells: public partitions of the ball, into which every quantized point falls exactly once.

- *Cross-polytope* (Andoni et al. 2015): rotate, take the largest of the first Q coordinates by size, and its
  sign. 2Q cells, cut along no cluster in particular; for all but low dimensions.
- *Net*: the nearest of a list of public points. For low dimensions, where a rotation gives too few cells and
  none that sees the radius.

Both decide in exact integers, ties to the smallest index, so client and server in any language agree. The
sign of a cell in row `mask` of a table is that of a Hadamard matrix, (-1)^popcount(cell & mask).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.geometry.ball import SCALE
from coterie.geometry.rotation import Rotation

_CUBES: Final = 1 << 16  # at most, in which a net's reach is looked for


def odd_cells(cells: NDArray[np.int64], masks: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the parity of popcount(cell & mask): (n,), (n,) -> (n,) of 0 and 1."""
    return np.asarray(np.bitwise_count(cells & masks) & np.uint8(1))


@dataclass(frozen=True, slots=True, eq=False)
class CrossPolytopeCells:
    """Cell 2i + [y_i < 0], with y the rotated point and i the index of its largest coordinate by size."""

    rotate: Callable[[NDArray[np.float64]], NDArray[np.float64]]  # (n, d) -> (n, Q)

    @classmethod
    def from_key(cls, key: bytes, size: int, dimension: int) -> CrossPolytopeCells:
        """Make the 2Q cells of the first Q = `size` coordinates of a rotation.

        The rotation's own size S is the least power of two that is at least `size` and at least `dimension`.

        Examples
        --------
        >>> cells = CrossPolytopeCells.from_key(bytes(16), size=4, dimension=6)
        >>> here, there = cells.of(np.array([[5.0, 1, 0, 0, 0, 0], [-5.0, -1, 0, 0, 0, 0]])).tolist()
        >>> here ^ there  # opposite points differ in the sign alone
        1
        """
        turn = max(size, 1 << (dimension - 1).bit_length())  # S
        return cls(Rotation.from_key(key, turn).for_width(dimension, size))

    def of(self, quantized: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the cell of each quantized point: (n, d) -> (n,)."""
        turned = self.rotate(quantized)  # (n, Q), exact: |y| <= S·2^20
        largest = np.abs(turned).argmax(axis=1)  # the first of equals
        negative = turned[np.arange(len(turned)), largest] < 0
        return np.asarray(2 * largest + negative)

    def odd(self, quantized: NDArray[np.float64], masks: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return 1 where the point's sign in row `mask` is -1, else 0: (n, d), (n,) -> (n,)."""
        return odd_cells(self.of(quantized), masks)


@dataclass(frozen=True, slots=True, eq=False)
class NetCells:
    """Cell i, with point i of the net the nearest: the smallest Σp² - 2Σqp."""

    squares: NDArray[np.float64]  # (M,), Σp²
    columns: NDArray[np.float64]  # (d, M), -2p

    @classmethod
    def from_points(cls, points: ArrayLike) -> NetCells:
        """Make the cells of a net from its points, shape (M, d), integers of the quantized points' scale.

        Examples
        --------
        >>> NetCells.from_points([[0, 0], [9, 0]]).of(np.array([[4.0, 3.0], [8.0, -1.0]])).tolist()
        [0, 1]
        """
        net = np.asarray(points, dtype=np.float64)
        return cls((net * net).sum(axis=1), np.ascontiguousarray(-2.0 * net.T))

    @property
    def places(self) -> NDArray[np.float64]:
        """The points of the net in the unit ball, (M, d)."""
        return np.asarray(self.columns.T / (-2.0 * SCALE))

    def reach(self) -> float:
        """Return at most how far a point of the unit ball is from the nearest of the net.

        By small cubes: none of a cube's points is farther than its middle by more than half its diagonal.

        Examples
        --------
        >>> round(NetCells.from_points([[-(2**19)], [2**19]]).reach(), 3)
        0.5
        """
        places, dimension = self.places, len(self.columns)
        middle = float(1 + np.sqrt((places**2).sum(axis=1).min()))  # by the place nearest to the middle alone
        if (each := int(_CUBES ** (1 / dimension))) < 2:
            return middle
        half = math.sqrt(dimension) / each
        axis = (2 * np.arange(each) + 1) / each - 1
        middles = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
        lengths = np.sqrt((middles**2).sum(axis=1))
        middles = middles[lengths <= 1 + half] / np.maximum(lengths[lengths <= 1 + half], 1.0)[:, None]
        squares = (places**2).sum(axis=1) - 2 * middles @ places.T
        far = np.sqrt(np.maximum(squares.min(axis=1) + (middles**2).sum(axis=1), 0.0)).max()
        return min(float(far) + half, middle)

    def of(self, quantized: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the cell of each quantized point: (n, d) -> (n,)."""
        # Exact: Σp² <= d·2^40 and |2Σqp| <= 2·2^20·√d·2^20, together below 2^53.
        distances = quantized @ self.columns  # (n, M)
        distances += self.squares
        return np.asarray(distances.argmin(axis=1))  # the first of equals

    def odd(self, quantized: NDArray[np.float64], masks: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return 1 where the point's sign in row `mask` is -1, else 0: (n, d), (n,) -> (n,)."""
        return odd_cells(self.of(quantized), masks)
