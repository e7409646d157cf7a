"""The `vector-sums` encoder: a point in, shares of one vector by row out (docs/theory/shuffle.md).

    quantize -> cell or sign -> row -> lift -> coarser grid -> add noise -> split into shares -> id ‖ shares

The report and its shares are `coterie.protocols.shares.encode`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from coterie.geometry.hashing import PairwiseHash
from coterie.geometry.lift import lift
from coterie.plan.plan import Plan
from coterie.protocols.codeword.signs import ViewSigns
from coterie.protocols.encoder import Ids, Points
from coterie.protocols.shares.encode import Contributions, ShareEncoder
from coterie.protocols.vector_sums.parameters import VectorSumParameters
from coterie.wire.stream import PublicStream


class VectorSumEncoder(ShareEncoder):
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

    smaller: ClassVar[str] = "fewer cells or layout='column'"

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._parameters = VectorSumParameters.of(plan)
        self._stream = PublicStream(plan.randomness_key())
        self._signs = ViewSigns(plan, self._parameters)

    def contributions(self, points: Points, ids: Ids) -> Contributions:
        """Return the row, the integer vector and how many were clipped: (n, d), (n, 12) -> (n,), (n, D), int.

        A public function of point and id, before any noise: **not private**.
        """
        quantized, clipped = self.quantize(points)
        vectors = self._on_grid(lift(quantized, self._parameters.count_weight))
        if self._parameters.layout == "column":
            views, masks, _ = self._stream.places(ids, self._signs.rows)
            vectors *= (1 - 2 * self._signs.odd(quantized, views, masks).astype(np.int64))[:, None]
            return self._signs.rows.firsts[views] + masks, vectors, clipped
        cells: Any = self._signs.view(0).of(quantized)  # of a partition: the parameters saw to it
        if self._parameters.layout == "hashed":
            cells = PairwiseHash.from_key(self._plan.randomness_key(), self._parameters.buckets).of(cells)
        return cells, vectors, clipped
