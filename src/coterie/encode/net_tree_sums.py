"""The `net-tree-sums` encoder: a point in, shares of its vector in one bucket a level out.

    quantize -> project -> representatives of all levels -> hash each path into its level's buckets
    -> (a·x, b) on the grid -> add noise to every entry -> split into shares -> id ‖ shares

(docs/theory/net-tree-sums.md.) The report's layout is that of `vector-sums` over T·s rows: level i, bucket h
is row (i-1)·s + h. Unmixed, the shares of one report add up to the person's vectors: a report of this
protocol is private only when it is mixed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.encode.people import checked_people
from coterie.errors import PlanError
from coterie.geometry.ball import SCALE, quantize
from coterie.geometry.hashing import PathHash
from coterie.geometry.lift import lift
from coterie.geometry.nets import NetFamily
from coterie.geometry.projection import Projection
from coterie.plan.codeword import ID_BYTES
from coterie.plan.net_tree_sums import NetTreeSumParameters
from coterie.plan.plan import Plan
from coterie.plan.shares import ShareParameters
from coterie.randomizers.vector_sums import big_endian

MOST_BYTES: Final = (1 << 16) - 1  # of a report; what its file's header can say
_SHARES_AT_A_TIME: Final = 1 << 22


class NetTreeSumEncoder:
    """Encodes points under one plan of protocol `net-tree-sums`. Holds no secret and no state.

    Parameters
    ----------
    plan : Plan
        A plan of the `net-tree-sums` protocol.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> plan = Plan.design(
    ...     2, 2, 1.0, 100, protocol="net-tree-sums", model="shuffle", delta=1e-6, levels=2, buckets=20
    ... )
    >>> ids = np.zeros((3, 12), dtype=np.uint8)  # a real client's ids are random
    >>> reports = NetTreeSumEncoder(plan).encode(np.zeros((3, 2)), ids, SimulationCoins(0))
    >>> reports.shape == (3, plan.report_width)
    True
    """

    def __init__(self, plan: Plan) -> None:
        parameters = plan.parameters
        if not isinstance(parameters, NetTreeSumParameters):
            raise PlanError(f"this encoder needs a plan of protocol net-tree-sums, got {plan.protocol}")
        self._plan = plan
        self._parameters = parameters
        self._nets = NetFamily.from_key(
            plan.randomness_key("net"), parameters.projected, parameters.levels, parameters.ratio
        )
        self._projection = Projection.from_key(
            plan.randomness_key("subspace"), plan.dimension, parameters.projected, parameters.scale
        )
        self._hashes = [
            PathHash.from_key(plan.randomness_key(), parameters.buckets, level)
            for level in range(1, parameters.levels + 1)
        ]

    def encode(self, points: ArrayLike, ids: NDArray[np.uint8], coins: Coins) -> NDArray[np.uint8]:
        """Return one report a point: (n, d), (n, 12) -> (n, width)."""
        return self.encode_counting(points, ids, coins)[0]

    def encode_counting(
        self, points: ArrayLike, ids: NDArray[np.uint8] | None, coins: Coins
    ) -> tuple[NDArray[np.uint8], int]:
        """Return what `encode` does, and how many points were clipped. The count is not private."""
        parameters = self._parameters
        check_sendable(parameters)
        points, ids = checked_people(points, ids, self._plan.dimension, coins)
        rows, vectors, clipped = self.contributions(points, ids)
        sums = parameters.sums()
        reports = np.empty((len(ids), parameters.report_width), dtype=np.uint8)
        reports[:, :ID_BYTES] = ids
        step = max(1, _SHARES_AT_A_TIME // parameters.cost.messages)
        for start in range(0, len(ids), step):
            piece = slice(start, start + step)
            shares = sums.split_all(rows[piece], vectors[piece], coins)  # (n', T·s, D, m)
            written = big_endian(shares.ravel(), sums.mixer.share_bytes)
            reports[piece, ID_BYTES:] = written.reshape(len(shares), -1)
        return reports, clipped

    def contributions(
        self, points: NDArray[np.float64], ids: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return rows, integer vectors and how many were clipped: (n, d), (n, 12) -> (n, T), (n, D), int.

        A public function of the point, before any noise: **not private**.
        """
        quantized, clipped = quantize(points, self._plan.center, self._plan.radius)
        places, _ = self._projection.apply(quantized / SCALE)
        paths = self._nets.paths(self._nets.representatives(places))  # (n, T+1)
        rows = np.stack(
            [
                level * self._parameters.buckets + hashed.of(paths[:, : level + 2])
                for level, hashed in enumerate(self._hashes)
            ],
            axis=1,
        )
        lifted = lift(quantized, self._parameters.count_weight)[:, :-1]  # nothing needs the length to be 1
        # A power of two, so the division is exact; towards 0, so that no length grows.
        vectors = np.trunc(lifted * (self._parameters.grid / SCALE)).astype(np.int64)
        return rows, vectors, clipped


def check_sendable(parameters: ShareParameters) -> None:
    """Raise PlanError where nobody sends reports, or where they would be too long."""
    if parameters.noise == "curator":
        raise PlanError(
            "a central plan has no private reports: its curator sees the points; "
            "coterie.engines.vector_sums plays that part"
        )
    cost = parameters.cost
    if parameters.report_width > MOST_BYTES:
        raise PlanError(
            f"under this plan a person sends {cost.messages:,} messages of {parameters.message_width} bytes "
            f"({cost.bytes:,} bytes in all; at most {MOST_BYTES:,} bytes of shares are sent): take fewer "
            "buckets or levels, or simulate the sums (coterie.engines.vector_sums)"
        )
