"""What the encoders of vector sums share: noise, shares and the report that they make up.

A report is its id and then the shares, `share_bytes` each, in the order (row, coordinate, share); the rows
are all rows of the table or, by column, the one that the id names. The shuffler turns it into messages and
forgets the id. Unmixed, the shares of one report add up to the person's vectors: such a report is private
only when it is mixed.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plain.pieces import pieces
from coterie.plan.plan import Plan
from coterie.protocols.encoder import Encoder, Ids, Points, Reports, checked_people
from coterie.protocols.shares.parameters import MOST_BYTES, ShareParameters
from coterie.randomizers.vector_sums import big_endian
from coterie.wire.layout import ID_BYTES

_SHARES_AT_A_TIME: Final = 1 << 22

# Rows (n,) or (n, T), vectors (n, D), and how many points were clipped.
Contributions = tuple[NDArray[np.int64], NDArray[np.int64], int]


class ShareEncoder(Encoder):
    """Encodes points as shares of vectors. A protocol says which vectors, and into which rows they go."""

    smaller: ClassVar[str]  # what to design for shorter reports

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._shares = ShareParameters.of(plan)

    @abstractmethod
    def contributions(self, points: Points, ids: Ids) -> Contributions:
        """Return rows, integer vectors and how many were clipped: (n, d), (n, 12) -> (n, …), (n, D), int.

        A public function of point and id, before any noise: **not private**.
        """

    def encode_counting(self, points: ArrayLike, ids: Ids | None, coins: Coins) -> tuple[Reports, int]:
        """Return what `encode` does, and how many points were clipped. The count is not private."""
        self._check_sendable()
        points, ids = checked_people(points, ids, self._plan.dimension, coins)
        rows, vectors, clipped = self.contributions(points, ids)
        sums = self._shares.sums()
        reports = np.empty((len(ids), self._shares.report_width), dtype=np.uint8)
        reports[:, :ID_BYTES] = ids
        step = max(1, _SHARES_AT_A_TIME // self._shares.cost.messages)
        for piece in pieces(len(ids), step):
            if self._shares.by_column:
                shares = sums.split_own(vectors[piece], coins)  # (n', D, m)
            else:
                shares = sums.split_all(rows[piece], vectors[piece], coins)  # (n', rows, D, m)
            written = big_endian(shares.ravel(), sums.mixer.share_bytes)
            reports[piece, ID_BYTES:] = written.reshape(len(shares), -1)
        return reports, clipped

    def _on_grid(self, lifted: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return vectors in whole grid steps: (n, D) -> (n, D)."""
        # A power of two, so the division is exact; towards 0, so that no length grows.
        return np.trunc(lifted * (self._shares.grid / SCALE)).astype(np.int64)

    def _check_sendable(self) -> None:
        """Raise PlanError where nobody sends reports, or where they would be too long."""
        shares = self._shares
        if shares.noise == "curator":
            raise PlanError(
                "a central plan has no private reports: its curator sees the points; "
                "coterie.protocols.shares.law plays that part"
            )
        cost = shares.cost
        if not shares.sendable:
            raise PlanError(
                f"under this plan a person sends {cost.messages:,} messages of {shares.message_width} bytes "
                f"({cost.bytes:,} bytes in all; at most {MOST_BYTES:,} bytes of shares are sent): take "
                f"{self.smaller}, or simulate the sums (coterie.protocols.shares.law)"
            )
