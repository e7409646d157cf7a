"""The `vector-sums` encoder: a point in, shares of one vector by row out (docs/theory/shuffle.md).

    quantize -> cell or sign -> row -> lift -> coarser grid -> add noise -> split into shares -> id ‖ shares

A report is its id and then the shares, `share_bytes` each, in the order (row, coordinate, share); the rows
are all rows of the table or, by column, the one that the id names. The shuffler turns it into messages and
forgets the id. Unmixed, the shares of one report add up to the person's vector: a report of this protocol is
private only when it is mixed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.encode.people import checked_people
from coterie.encode.signs import ViewSigns
from coterie.errors import PlanError
from coterie.geometry.ball import SCALE, as_points, quantize
from coterie.geometry.cells import Cells
from coterie.geometry.hashing import PairwiseHash
from coterie.geometry.lift import lift
from coterie.plan.codeword import ID_BYTES
from coterie.plan.plan import Plan
from coterie.plan.vector_sums import VectorSumParameters
from coterie.plan.views import Halfspaces
from coterie.randomizers.vector_sums import big_endian
from coterie.wire.stream import PublicStream

MOST_BYTES: Final = (1 << 16) - 1  # of a report; what its file's header can say


class VectorSumEncoder:
    """Encodes points under one plan of protocol `vector-sums`. Holds no secret and no state.

    Parameters
    ----------
    plan : Plan
        A plan of the `vector-sums` protocol.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> plan = Plan.design(2, 2, 1.0, 100, protocol="vector-sums", model="shuffle", delta=1e-6, cells=4)
    >>> encoder = VectorSumEncoder(plan)
    >>> ids = np.zeros((3, 12), dtype=np.uint8)  # a real client's ids are random
    >>> reports = encoder.encode(np.zeros((3, 2)), ids, SimulationCoins(0))
    >>> reports.shape == (3, plan.report_width)
    True
    """

    def __init__(self, plan: Plan) -> None:
        parameters = plan.parameters
        if not isinstance(parameters, VectorSumParameters):
            raise PlanError(f"this encoder needs a plan of protocol vector-sums, got {plan.protocol}")
        self._plan = plan
        self._parameters = parameters
        self._stream = PublicStream(plan.randomness_key())
        self._signs = ViewSigns(plan, parameters)
        view = parameters.views[0]
        self._cells: Cells | None = (
            None if isinstance(view, Halfspaces) else view.geometry(plan.randomness_key, 0, plan.dimension)
        )

    def encode(self, points: ArrayLike, ids: NDArray[np.uint8], coins: Coins) -> NDArray[np.uint8]:
        """Return one report a point: (n, d), (n, 12) -> (n, width)."""
        return self.encode_counting(points, ids, coins)[0]

    def encode_counting(
        self, points: ArrayLike, ids: NDArray[np.uint8] | None, coins: Coins
    ) -> tuple[NDArray[np.uint8], int]:
        """Return what `encode` does, and how many points were clipped. The count is not private."""
        parameters = self._parameters
        if parameters.noise == "curator":
            raise PlanError(
                "a central plan has no private reports: its curator sees the points; "
                "coterie.engines.vector_sums plays that part"
            )
        cost = parameters.cost
        if parameters.report_width > MOST_BYTES:
            raise PlanError(
                f"under this plan a person sends {cost.messages:,} messages of "
                f"{parameters.message_width} bytes ({cost.bytes:,} bytes in all; "
                f"at most {MOST_BYTES:,} bytes of shares are sent): take fewer cells, "
                "layout='column', or simulate the sums (coterie.engines.vector_sums)"
            )
        points, ids = checked_people(points, ids, self._plan.dimension, coins)
        rows, vectors, clipped = self.contributions(points, ids)
        sums = parameters.sums()
        if parameters.layout == "column":
            shares = sums.split_own(vectors, coins)  # (n, D, m)
        else:
            shares = sums.split_all(rows, vectors, coins)  # (n, rows, D, m)
        reports = np.empty((len(ids), parameters.report_width), dtype=np.uint8)
        reports[:, :ID_BYTES] = ids
        reports[:, ID_BYTES:] = big_endian(shares.ravel(), sums.mixer.share_bytes).reshape(len(ids), -1)
        return reports, clipped

    def cells(self, points: ArrayLike) -> NDArray[np.int64]:
        """Return the cell of each point in the first view: (n, d) -> (n,). Before any noise: not private."""
        quantized, _ = quantize(as_points(points, self._plan.dimension), self._plan.center, self._plan.radius)
        return self._cells_of(quantized)

    def contributions(
        self, points: NDArray[np.float64], ids: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return the row, the integer vector and how many were clipped: (n, d), (n, 12) -> (n,), (n, D), int.

        A public function of point and id, before any noise: **not private**.
        """
        quantized, clipped = quantize(points, self._plan.center, self._plan.radius)
        lifted = lift(quantized, self._parameters.count_weight)
        # A power of two, so the division is exact; towards 0, so that no length grows.
        vectors = np.trunc(lifted * (self._parameters.grid / SCALE)).astype(np.int64)
        if self._parameters.layout == "column":
            views, masks, _ = self._stream.places(ids, self._signs.rows)
            vectors *= (1 - 2 * self._signs.odd(quantized, views, masks).astype(np.int64))[:, None]
            return self._signs.rows.firsts[views] + masks, vectors, clipped
        cells = self._cells_of(quantized)
        if self._parameters.layout == "hashed":
            cells = PairwiseHash.from_key(self._plan.randomness_key(), self._parameters.buckets).of(cells)
        return cells, vectors, clipped

    def _cells_of(self, quantized: NDArray[np.float64]) -> NDArray[np.int64]:
        if self._cells is None:
            raise PlanError("halfspaces have no cells: the first view of this plan is no partition")
        return self._cells.of(quantized)
