"""A vector of a declared largest length: the ball of radius `norm`, scaled so that its diameter is `weight`.

    q = the vector's integers in the ball of radius norm, as for points (geometry/ball.py)
    coordinates = q·(weight·2⁻²¹)

A vector that is longer is shortened to length norm.

With `projected`, m of its directions, drawn once for all plans, stand for the whole vector: with R the public
rotation of the wire page, of size S,

    q' = the integers of (R·q)_1 … (R·q)_m divided by √(S·m), in the ball of radius 2²⁰
    coordinates = q'·(weight·2⁻²¹)

Squared distances are kept within about √(2/m) of themselves, whatever the dimension; noise is that of m
coordinates. The way back is the shortest vector that is projected there: it tells which of several centers a
vector is nearest to, and has m of `dimension` parts of the center's own square.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from coterie.features.feature import MOST_COORDINATES, Column, Feature
from coterie.features.number import LARGEST, SMALLEST
from coterie.features.reading import CONCENTRATION, Block, Estimate, along, fraction
from coterie.features.values import as_vector, listed
from coterie.geometry.ball import SCALE, quantize
from coterie.geometry.rotation import Rotation
from coterie.plain.checks import checked_integer, checked_real
from coterie.plain.pieces import pieces

_NUMBERS_AT_A_TIME: Final = 1 << 20  # 8 MB of them, and a few copies


@dataclass(frozen=True, slots=True, repr=False)
class Embedding(Feature):
    """A vector of real numbers, say of a text or an image.

    Attributes
    ----------
    dimension : int
        How many numbers it has.
    norm : float
        The largest length that counts; two opposite vectors of this length are `weight` apart.
    missing : {"middle"}
        A record without `dimension` finite numbers lies at 0.
    projected : int, optional
        Of how many public random directions the vector is seen, at most `dimension`; all of it if None. In a
        study of many dimensions, 64 to 128 find groups that the whole vector's noise would hide.

    Examples
    --------
    >>> Embedding("text", 2, norm=1.0).points([[0.0, 1.0], [3.0, 0.0], None]).tolist()
    [[0.0, 0.5], [0.5, 0.0], [0.0, 0.0]]
    """

    kind: ClassVar[str] = "embedding"
    linear: ClassVar[bool] = False
    dimension: int
    norm: float
    projected: int | None = field(default=None, kw_only=True)

    def _check(self) -> None:
        self._clean(checked_integer, dimension=(1, MOST_COORDINATES))
        self._clean(checked_real, norm=(SMALLEST, LARGEST))
        if self.projected is not None:
            self._clean(checked_integer, projected=(1, self.dimension))

    @property
    def coordinates(self) -> int:
        """As many as the vector has numbers, or as many as it is projected to."""
        return self.projected or self.dimension

    def _vectors(self, column: Column) -> NDArray[np.float64]:
        """Return the vectors of a column, not finite where there is none: n values -> (n, dimension)."""
        whole = isinstance(column, np.ndarray) and column.shape[1:] == (self.dimension,)
        if isinstance(column, np.ndarray) and whole and column.dtype.kind in "fiu":
            return column.astype(np.float64)
        rows = [as_vector(value, self.dimension) for value in listed(column)]
        return np.array(rows, dtype=np.float64).reshape(-1, self.dimension)

    def codes(self, column: Column) -> NDArray[np.float64]:
        """Return the vectors of a column, zeros where there is none: n values -> (n, dimension)."""
        found = self._vectors(column)
        return np.where(np.isfinite(found).all(axis=1, keepdims=True), found, 0.0)

    def understood(self, column: Column) -> NDArray[np.bool_]:
        """Return which values are vectors of this dimension."""
        return np.asarray(np.isfinite(self._vectors(column)).all(axis=1))

    def points(self, column: Column) -> NDArray[np.float64]:
        """Return the coordinates of a column's vectors, few at a time: n values -> (n, coordinates)."""
        found = np.empty((len(column), self.coordinates))
        step = max(1, _NUMBERS_AT_A_TIME // self.dimension)
        for piece in pieces(len(column), step):
            found[piece] = self.place(self.codes(column[piece]))
        return found

    def place(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where vectors lie: (n, dimension) -> (n, coordinates)."""
        quantized, _ = quantize(codes, None, self.norm)
        if self.projected is not None:
            rotation = _rotation(self.dimension)
            seen = rotation.apply(quantized)[:, : self.projected]
            quantized, _ = quantize(seen / math.sqrt(rotation.size * self.projected), None, SCALE)
        return quantized * (self.weight * 0.5 / SCALE)

    def value(self, place: NDArray[np.float64]) -> list[float]:
        """Return the vector at a place, in its own units; the shortest where the vector was projected."""
        vector = place * (2.0 / self.weight) * self.norm
        if self.projected is not None:
            vector = _lift(self.dimension, self.projected) @ vector
        return [float(each) for each in vector]

    def estimates(self, block: Block) -> tuple[Estimate, ...]:
        """Return how long the mean vector is, as a share of the largest length."""
        half = self.weight * 0.5
        distance = float(np.linalg.norm(block.place))
        reach = block.reach(along(block.place))
        return (fraction(self.name, CONCENTRATION, None, distance / half, reach / half),)


@lru_cache(maxsize=4)
def _rotation(dimension: int) -> Rotation:
    """Return the public rotation of vectors of this dimension, the same for every plan."""
    key = hashlib.sha256(f"coterie/1/projection/{dimension}".encode()).digest()[:16]
    return Rotation.from_key(key, 1 << (dimension - 1).bit_length())


@lru_cache(maxsize=4)
def _lift(dimension: int, projected: int) -> NDArray[np.float64]:
    """Return the pseudo-inverse of the projection: (dimension, projected)."""
    rotation = _rotation(dimension)
    projection = rotation.matrix(dimension)[:projected] / math.sqrt(rotation.size * projected)
    return np.linalg.pinv(projection).astype(np.float64)
