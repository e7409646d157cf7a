"""What randomizers of unit vectors have in common, so that one can stand in for another.

Each is unbiased and sends vectors of one length: E[z] = x, ‖z‖² = `squared_norm`, hence E‖z-x‖² =
`squared_norm` - 1. The net tree's clients use Duchi, Jordan and Wainwright's in its one-bit form; PrivUnit
is better from ε = 1 on, but has no exact form of so few bits, and stands here for comparison.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class UnitVectorRandomizer(Protocol):
    """An unbiased ε-private randomizer of unit vectors."""

    @property
    def dimension(self) -> int:
        """Dimension of the vectors (D)."""
        ...

    @property
    def epsilon(self) -> float:
        """What an answer spends."""
        ...

    @property
    def squared_norm(self) -> float:
        """‖z‖² of every answer."""
        ...

    def simulate(self, vectors: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
        """Draw answers for unit vectors, (n, D) -> (n, D). For simulation: floats are not exactly private."""
        ...
