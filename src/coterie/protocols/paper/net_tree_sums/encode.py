"""The `net-tree-sums` encoder: a point in, shares of its vector in one bucket a level out.

    quantize -> project -> representatives of all levels -> hash each path into its level's buckets
    -> (a·x, b) on the grid -> add noise to every entry -> split into shares -> id ‖ shares

(docs/theory/net-tree-sums.md.) The report's layout is that of `vector-sums` over T·s rows: level i, bucket h
is row (i-1)·s + h. Unmixed, the shares of one report add up to the person's vectors: a report of this
protocol is private only when it is mixed.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from coterie.geometry.lift import lift
from coterie.plan.plan import Plan
from coterie.protocols.encoder import Ids, Points
from coterie.protocols.paper.net_tree_sums.parameters import NetTreeSumParameters
from coterie.protocols.paper.tree.encode import TreePaths
from coterie.protocols.shares.encode import Contributions, ShareEncoder


class NetTreeSumEncoder(ShareEncoder):
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

    smaller: ClassVar[str] = "fewer buckets or levels"

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._parameters = NetTreeSumParameters.of(plan)
        self._paths = TreePaths(plan, self._parameters)
        self._hashes = self._parameters.hashes(plan.randomness_key())

    def contributions(self, points: Points, ids: Ids) -> Contributions:
        """Return rows, integer vectors and how many were clipped: (n, d), (n, 12) -> (n, T), (n, D), int.

        A public function of the point, before any noise: **not private**.
        """
        quantized, clipped = self.quantize(points)
        paths = self._paths.of(quantized)  # (n, T+1)
        hashed = [level.of_paths(paths[:, :stop]) for stop, level in enumerate(self._hashes, 2)]
        rows = np.stack(hashed, axis=1) + self._parameters.buckets * np.arange(len(hashed))
        lifted = lift(quantized, self._parameters.count_weight)[:, :-1]  # nothing needs the length to be 1
        return rows, self._on_grid(lifted), clipped
