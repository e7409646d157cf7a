"""A vector of a declared largest length: the ball of radius `norm`, scaled so that its diameter is `weight`.

    q = the vector's integers in the ball of radius norm, as for points (geometry/ball.py)
    coordinates = q·(weight·2⁻²¹)

A vector that is longer is shortened to length norm.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie.features.feature import MOST_COORDINATES, Column, Feature
from coterie.features.number import LARGEST, SMALLEST
from coterie.features.reading import CONCENTRATION, Block, Estimate, fraction
from coterie.features.values import as_vector, listed
from coterie.geometry.ball import SCALE, quantize
from coterie.plain.checks import checked_integer, checked_real


@dataclass(frozen=True, slots=True)
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

    Examples
    --------
    >>> Embedding("text", 2, norm=1.0).points([[0.0, 1.0], [3.0, 0.0], None]).tolist()
    [[0.0, 0.5], [0.5, 0.0], [0.0, 0.0]]
    """

    kind: ClassVar[str] = "embedding"
    dimension: int
    norm: float
    missing: str = field(default="middle", kw_only=True)

    def _check(self) -> None:
        self._set("dimension", checked_integer("dimension", self.dimension, 1, MOST_COORDINATES))
        self._set("norm", checked_real("norm", self.norm, SMALLEST, LARGEST))
        self._set_choice("missing", "middle")

    @property
    def coordinates(self) -> int:
        """As many as the vector has numbers."""
        return self.dimension

    def codes(self, column: Column) -> NDArray[np.float64]:
        """Return the vectors of a column, zeros where there is none: n values -> (n, dimension)."""
        if (
            isinstance(column, np.ndarray)
            and column.dtype.kind in "fiu"
            and column.shape[1:] == (self.dimension,)
        ):
            found = column.astype(np.float64)
        else:
            rows = [as_vector(value, self.dimension) for value in listed(column)]
            found = np.array(rows, dtype=np.float64).reshape(-1, self.dimension)
        return np.where(np.isfinite(found).all(axis=1, keepdims=True), found, 0.0)

    def place(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where vectors lie: (n, dimension) -> (n, dimension)."""
        quantized, _ = quantize(codes, None, self.norm)
        return quantized * (self.weight * 0.5 / SCALE)

    def value(self, place: NDArray[np.float64]) -> list[float]:
        """Return the vector at a place, in its own units."""
        return [float(each) for each in place * (2.0 / self.weight) * self.norm]

    def estimates(self, block: Block) -> tuple[Estimate, ...]:
        """Return how long the mean vector is, as a share of the largest length."""
        half = self.weight * 0.5
        distance = float(np.linalg.norm(block.place))
        reach = block.reach(block.place / max(distance, 1e-300))
        return (fraction(self.name, CONCENTRATION, None, distance / half, reach / half),)
