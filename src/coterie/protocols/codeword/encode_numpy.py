"""The encoder's heavy steps in numpy: embed each point, score N codewords, take the index at a given place.

Scores are one product of ±1 signs with the rotated vector, a small matrix a person, which BLAS does in
float32: every partial sum stays below 2^23 (docs/wire-format.md), so float32 is exact.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.lift import EXTRA_COORDINATES, lift
from coterie.geometry.rotation import Rotation
from coterie.geometry.rounding import rounded
from coterie.plain.pieces import pieces
from coterie.randomizers.codeword import indices_at
from coterie.wire.stream import SignReader

_SIGNS_AT_A_TIME: Final = 1 << 18  # 1 MB of float32: stays in a core's cache


class Embedder:
    """Makes of quantized points the integers that codewords are scored against; threads may share it.

    Parameters
    ----------
    rotation : Rotation
        Of size P.
    dimension : int
        d.
    count_weight : int
        b of the lift.
    """

    def __init__(self, rotation: Rotation, dimension: int, count_weight: int) -> None:
        self._rotate = rotation.for_width(dimension + EXTRA_COORDINATES)
        self._count_weight = count_weight

    def __call__(self, quantized: NDArray[np.float64], odd: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Lift, rotate, round and, where `odd` is 1, negate: (n, d), (n,) -> (n, P)."""
        vectors = rounded(self._rotate(lift(quantized, self._count_weight)))
        vectors *= (1.0 - 2.0 * odd)[:, None]
        return vectors


class Chooser:
    """Chooses indices, piece by piece, in memory of its own; each thread has one.

    Parameters
    ----------
    people : int
        The most people in a piece.
    codewords, embedding : int
        N and P.
    """

    def __init__(self, people: int, codewords: int, embedding: int) -> None:
        self._step = min(max(1, _SIGNS_AT_A_TIME // (codewords * embedding)), max(people, 1))
        self._read = SignReader(self._step * codewords * embedding // 8)

    def __call__(
        self, codewords: NDArray[np.uint8], vectors: NDArray[np.float64], ranks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the index at place `ranks` of each person's order of scores.

        Parameters
        ----------
        codewords : ndarray of uint8, shape (n, N, P/8)
            Packed signs.
        vectors : ndarray of float64, shape (n, P)
            Integers r with Σ|r| < 2^23.
        ranks : ndarray of int64, shape (n,)
            Places in the order (score descending, index ascending).

        Returns
        -------
        ndarray of int64, shape (n,)
        """
        return indices_at(self.scores(codewords, vectors), ranks)

    def scores(
        self, codewords: NDArray[np.uint8], vectors: NDArray[np.float64]
    ) -> NDArray[np.int32] | NDArray[np.int64]:
        """Return all scores: (n, N, P/8), (n, P) -> (n, N)."""
        people, count, _ = codewords.shape
        columns = vectors.astype(np.float32)[:, :, None]  # (n, P, 1)
        scores = np.empty((people, count), dtype=np.int32 if count <= 256 else np.int64)
        for piece in pieces(people, self._step):
            scores[piece] = (self._read(codewords[piece]) @ columns[piece])[:, :, 0]
        return scores
