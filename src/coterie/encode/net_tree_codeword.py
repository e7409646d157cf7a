"""The `net-tree` encoder with codewords: a point in, one report of 13 bytes for one level of the tree out.

    quantize -> project -> representative on the level that the id names -> its public sign -> lift
    -> the report's own rotation -> round -> score 256 codewords -> order -> one secret draw -> id ‖ index

Why that is ε-private: as for `codeword` (`coterie.randomizers.codeword`). Given the public id, a point fixes
which m of the 256 indices are the cap; each index is sent with odds A or 2^24, whatever the point. ∎
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.encode.codeword import rounding_shift
from coterie.encode.people import checked_people
from coterie.geometry.ball import SCALE, as_points, quantize
from coterie.geometry.lift import lift
from coterie.geometry.nets import NetFamily
from coterie.geometry.projection import Projection
from coterie.plan import Plan
from coterie.plan.codeword import ID_BYTES
from coterie.plan.design import CODEWORDS
from coterie.wire.kernels import kernels_of
from coterie.wire.net_tree_codeword import CodewordTreeStream, codeword_tree_parameters
from coterie.wire.workers import default_workers, in_shares

_PEOPLE_AT_A_TIME: Final = 256


class CodewordTreeEncoder:
    """Encodes points under one plan. Holds no secret and no state; threads may share it.

    Parameters
    ----------
    plan : Plan
        A plan of the `net-tree` protocol with randomizer codeword.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> plan = Plan.design(3, 2, 2.0, 10**5, protocol="net-tree", randomizer="codeword")
    >>> ids = np.zeros((2, 12), dtype=np.uint8)  # a real client's ids are random
    >>> CodewordTreeEncoder(plan).encode([[0.1, 0.2, 0.3], [0.0, 0.0, -1.0]], ids, SimulationCoins(0)).shape
    (2, 13)
    """

    def __init__(self, plan: Plan) -> None:
        parameters = codeword_tree_parameters(plan)
        self._plan = plan
        self._parameters = parameters
        self._randomizer = parameters.randomizer
        self._stream = CodewordTreeStream(plan)
        self._shift = rounding_shift(parameters.embedding)
        self._nets = NetFamily.from_key(
            plan.randomness_key("net"), parameters.projected, parameters.levels, parameters.ratio
        )
        self._projection = Projection.from_key(
            plan.randomness_key("subspace"), plan.dimension, parameters.projected, parameters.scale
        )

    def encode(self, points: ArrayLike, ids: NDArray[np.uint8], coins: Coins) -> NDArray[np.uint8]:
        """Return one report a point: (n, d), (n, 12) -> (n, 13)."""
        return self.encode_counting(points, ids, coins)[0]

    def encode_counting(
        self, points: ArrayLike, ids: NDArray[np.uint8] | None, coins: Coins
    ) -> tuple[NDArray[np.uint8], int]:
        """Return what `encode` does, and how many points were clipped. The count is not private."""
        points, ids = checked_people(points, ids, self._plan.dimension, coins)
        people = len(points)
        # All coins first: what they decide does not depend on how the work is cut.
        ranks = self._randomizer.ranks(coins.below_many(self._randomizer.total, people))
        heavy = kernels_of("coterie.encode", None, people)
        reports = np.empty((people, self._parameters.report_width), dtype=np.uint8)
        reports[:, :ID_BYTES] = ids

        def encode_share(starts: Iterable[int]) -> int:
            choose = heavy.Chooser(min(_PEOPLE_AT_A_TIME, people), CODEWORDS, self._parameters.embedding)
            clipped = 0
            for start in starts:
                piece = slice(start, start + _PEOPLE_AT_A_TIME)
                quantized, outside = quantize(points[piece], self._plan.center, self._plan.radius)
                scored = self.scored(quantized, ids[piece])
                codewords = self._stream.codewords(ids[piece])
                reports[piece, ID_BYTES] = choose(codewords, scored, ranks[piece])
                clipped += outside
            return clipped

        starts = range(0, people, _PEOPLE_AT_A_TIME)
        return reports, sum(in_shares(encode_share, starts, default_workers()))

    def signed_vectors(self, points: ArrayLike, ids: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the integers that codewords are scored against: (n, d), (n, 12) -> (n, P).

        A public function of point and id, before any coin: **not private**. For audits.
        """
        points = as_points(points, self._plan.dimension)
        quantized, _ = quantize(points, self._plan.center, self._plan.radius)
        return self.scored(quantized, ids)

    def scored(self, quantized: NDArray[np.float64], ids: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the integers that codewords are scored against: (n, d), (n, 12) -> (n, P). Secret."""
        places, _ = self._projection.apply(quantized / SCALE)
        paths = self._nets.paths(self._nets.representatives(places))  # (n, T+1)
        choices = self._stream.choices(ids)
        parity = np.bitwise_count(choices.digit_masks & paths[:, 1:])  # (n, T)
        parity[:, 0] ^= np.bitwise_count(choices.root_masks & paths[:, 0])
        upto = np.bitwise_xor.accumulate(parity, axis=1)[np.arange(len(ids)), choices.levels - 1]
        signs = (1 - 2 * (upto & 1).astype(np.int8)) * choices.signs
        turned = self._stream.rotated(ids, lift(quantized, self._parameters.count_weight))
        rounded = np.floor((turned + (1 << (self._shift - 1))) * 0.5**self._shift)
        return np.asarray(rounded * signs[:, None])
