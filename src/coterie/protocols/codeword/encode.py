"""The `codeword` encoder: a point in, one report of 13 bytes out (docs/wire-format.md).

    quantize -> sign in the report's row, turned by its flip -> lift -> rotate -> round ->
    score N codewords -> order -> one secret draw -> id ‖ index

Everything up to the order is a public function of the point and the id, in exact integers; the draw is the
whole mechanism and its proof is in `coterie.randomizers.codeword`. All coins are drawn in the calling
thread before the work is spread, so that seeded simulations do not depend on the number of threads.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.errors import MissingExtraError
from coterie.geometry.ball import as_points
from coterie.geometry.rotation import Rotation
from coterie.plan.plan import Plan
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.protocols.codeword.signs import ViewSigns
from coterie.protocols.encoder import Encoder, Ids, Points, Reports, checked_people
from coterie.randomizers.codeword import CodewordRandomizer
from coterie.wire.kernels import KERNELS, Kernels, kernels_of
from coterie.wire.stream import BLOCK_BITS, BlockReader, PublicStream
from coterie.wire.workers import default_workers, in_shares

_SIGNS_AT_A_TIME: Final = 1 << 25  # codeword bits a thread holds at a time: 1,024 people at N = 256, P = 128
_MOST_PEOPLE: Final = 1024  # at a time; with fewer, threads wait for each other in the Python between steps

Vectors = NDArray[np.float64] | NDArray[np.int32]  # (n, P), integers
Scored = tuple[NDArray[np.uint8], NDArray[np.float64]]  # (n, N, P/8): codewords, and (n, P): what scores them


class IndexEncoder(Encoder):
    """Encodes points as the index of one of N public codewords, by one secret draw. Threads may share it.

    Parameters
    ----------
    plan : Plan
        Of the encoder's protocol.
    randomizer : CodewordRandomizer
        The law of the index.
    embedding : int
        P, bits of a codeword.
    kernels : {"numpy", "numba", "auto"}, optional
        See `coterie.wire.kernels`. The reports are the same bytes either way.
    """

    def __init__(
        self, plan: Plan, randomizer: CodewordRandomizer, embedding: int, kernels: Kernels | None = None
    ) -> None:
        super().__init__(plan)
        self._randomizer = randomizer
        self._size = embedding
        self._kernels = kernels

    @abstractmethod
    def _signed_vectors(self, points: Points, ids: Ids, heavy: ModuleType) -> tuple[Vectors, int]:
        """Return sign·r, the integers that codewords are scored against, and how many points were clipped.

        (n, d), (n, 12) -> (n, P), int; by these kernels where they have a part in it, then perhaps as int32.
        """

    @abstractmethod
    def _blocks(self, people: int) -> BlockReader:
        """Return what reads the codewords of up to so many reports at a time, one after the other."""

    def encode_counting(self, points: ArrayLike, ids: Ids | None, coins: Coins) -> tuple[Reports, int]:
        """Return what `encode` does, and how many points were clipped. The count is not private."""
        points, ids = checked_people(points, ids, self._plan.dimension, coins)
        people = len(points)
        ranks = self._randomizer.ranks(coins.below_many(self._randomizer.total, people))
        heavy = kernels_of("coterie.protocols.codeword.encode", self._kernels, people)
        count, size = self._randomizer.codewords, self._size
        step = min(max(1, _SIGNS_AT_A_TIME // (count * size)), _MOST_PEOPLE)
        indices = np.empty(people, dtype=np.int64)

        def encode_share(starts: Iterable[int]) -> int:
            choose = heavy.Chooser(min(step, people), count, size)
            blocks = self._blocks(min(step, people))
            all_clipped = 0
            for start in starts:
                piece = slice(start, start + step)
                vectors, clipped = self._signed_vectors(points[piece], ids[piece], heavy)
                words = blocks(ids[piece]).reshape(len(vectors), count, size // 8)
                indices[piece] = choose(words, vectors, ranks[piece])
                all_clipped += clipped
            return all_clipped

        clipped = sum(in_shares(encode_share, range(0, people, step), default_workers()))
        written = indices.astype(">u2").view(np.uint8).reshape(-1, 2)
        return np.concatenate([ids, written[:, -self._plan.parameters.answer_bytes :]], axis=1), clipped

    def scored(self, points: ArrayLike, ids: Ids, answer: int = 0) -> Scored:
        """Return the codewords, eight bits a byte, and the integers that they are scored against, as doubles.

        (n, d), (n, 12) -> (n, N, P/8), (n, P). A public function of point and id, before any coin: **not
        private**. For audits.
        """
        heavy = kernels_of("coterie.protocols.codeword.encode", self._kernels, len(ids))
        vectors, _ = self._signed_vectors(as_points(points, self._plan.dimension), ids, heavy)
        packed = self._blocks(len(ids))(ids).reshape(len(ids), self._randomizer.codewords, -1)
        return packed, vectors.astype(np.float64, copy=False)


class CodewordEncoder(IndexEncoder):
    """Encodes points under one plan. Holds no secret and no state; threads may share it.

    Parameters
    ----------
    plan : Plan
        A plan of the `codeword` protocol.
    kernels : {"numpy", "numba", "auto"}, optional
        See `coterie.wire.kernels`. The reports are the same bytes either way.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> plan = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=1000)
    >>> encoder = CodewordEncoder(plan)
    >>> ids = np.zeros((2, 12), dtype=np.uint8)  # a real client's ids are random
    >>> encoder.encode([[0.1, 0.2, 0.3], [0.0, 0.0, -1.0]], ids, SimulationCoins(0)).shape
    (2, 13)
    """

    def __init__(self, plan: Plan, *, kernels: Kernels | None = None) -> None:
        parameters = CodewordParameters.of(plan)
        super().__init__(plan, parameters.randomizer, parameters.embedding, kernels)
        self._parameters = parameters
        self._signs = ViewSigns(plan, parameters)
        self._stream = PublicStream(plan.randomness_key())
        self._rotation = Rotation.from_key(plan.randomness_key("embedding"), parameters.embedding)
        self._embedders: dict[ModuleType, Any] = {}  # by kernels, each made when first asked for

    def by_kernels(self) -> dict[str, Encoder]:
        """Return encoders of the same plan by the kernels that they run, as far as those are installed."""
        found: dict[str, Encoder] = {}
        for kernels in KERNELS:
            with contextlib.suppress(MissingExtraError):
                kernels_of("coterie.protocols.codeword.encode", kernels, 1)
                found[kernels] = CodewordEncoder(self._plan, kernels=kernels)
        return found

    def _signed_vectors(self, points: Points, ids: Ids, heavy: ModuleType) -> tuple[Vectors, int]:
        embed = self._embedders.get(heavy)
        if embed is None:
            embed = heavy.Embedder(self._rotation, self._plan.coordinates, self._parameters.count_weight)
            self._embedders[heavy] = embed
        quantized, clipped = self.quantize(points)
        views, masks, flips = self._stream.places(ids, self._signs.rows)
        return embed(quantized, self._signs.odd(quantized, views, masks) ^ flips), clipped

    def _blocks(self, people: int) -> BlockReader:
        return self._stream.reader(people, 1, self._randomizer.codewords * self._size // BLOCK_BITS)
