"""kMeansEncoder (the paper's Algorithm 3): a point in, an id and 2T private bits out.

    quantize -> project and scale -> closest point of the deepest net -> ancestors by the offset table
    -> for each level: sign of the bucket -> count bit;   sgn⟨direction, lifted point⟩ · sign -> vector bit
    -> flip each of the 2T bits with its own exact coin

Why that is ε-private, in three lines. Given the public id, a point fixes 2T bits. Each is sent true with
probability A/(A+B) and false with B/(A+B), independently: any 2T bits have, under any two points,
probabilities whose ratio is at most Π A_j/B ≤ e^ε, and the plan's check of that is in integers. ∎ No float
reaches the odds: geometry decides only *which* bits are the true ones.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.plain.pieces import pieces
from coterie.plan import Plan
from coterie.protocols.encoder import Encoder, Ids, Reports, checked_people
from coterie.protocols.paper.answers import pack_reports
from coterie.protocols.paper.net_tree.encode_codeword import CodewordTreeEncoder
from coterie.protocols.paper.net_tree.parameters import CodewordTreeParameters, NetTreeParameters
from coterie.protocols.paper.net_tree.report import NetTreeStream
from coterie.protocols.paper.tree.encode import TreePaths, node_signs
from coterie.randomizers.sphere import lifted

_NORMALS_AT_A_TIME: Final = 1 << 19  # coordinates of directions held at a time: 4 MB in float64


class NetTreeEncoder(Encoder):
    """Encodes points under one plan. Holds no secret and no state; threads may share it.

    Parameters
    ----------
    plan : Plan
        A plan of the `net-tree` protocol.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> plan = Plan.design(dimension=3, clusters=2, epsilon=2.0, expected_users=10**5, protocol="net-tree")
    >>> ids = np.zeros((2, 12), dtype=np.uint8)  # a real client's ids are random
    >>> reports = NetTreeEncoder(plan).encode([[0.1, 0.2, 0.3], [0.0, 0.0, -1.0]], ids, SimulationCoins(0))
    >>> reports.shape == (2, plan.report_width)
    True
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        parameters = NetTreeParameters.of(plan)
        self._parameters = parameters
        self._stream = NetTreeStream(plan)
        self._paths = TreePaths(plan, parameters)

    def encode_counting(self, points: ArrayLike, ids: Ids | None, coins: Coins) -> tuple[Reports, int]:
        """Return what `encode` does, and how many points were clipped. The count is not private."""
        points, ids = checked_people(points, ids, self._plan.dimension, coins)
        people, levels = len(points), self._parameters.levels
        # All coins first: what they decide does not depend on how the work is cut.
        laws = (self._parameters.count_response, self._parameters.vector_response)
        flips = np.concatenate([law.flips((people, levels), coins) for law in laws], axis=1)
        positive = np.empty((people, 2 * levels), dtype=np.bool_)
        clipped = 0
        step = max(1, _NORMALS_AT_A_TIME // (levels * self._stream.lifted))
        for piece in pieces(people, step):
            quantized, outside = self.quantize(points[piece])
            positive[piece] = self.true_answers(quantized, ids[piece])
            clipped += outside
        return pack_reports(ids, positive ^ flips), clipped

    def true_answers(self, quantized: NDArray[np.float64], ids: Ids) -> NDArray[np.bool_]:
        """Return the bits before any coin, True for +1: (n, d) integers, (n, 12) -> (n, 2T). Secret."""
        choices = self._stream.choices(ids)
        signs = node_signs(self._paths.of(quantized), choices.root_masks, choices.digit_masks)  # (n, T)
        directions = self._stream.all_directions(ids).astype(np.float64)
        heights = (directions @ lifted(quantized)[:, :, None])[:, :, 0]  # exact integers, (n, T)
        towards = np.where(heights >= 0, 1, -1).astype(np.int8)
        return (
            np.concatenate([signs * choices.count_signs, signs * choices.vector_signs * towards], axis=1) > 0
        )


def encoder_of(plan: Plan) -> Encoder:
    """Return the encoder of a `net-tree` plan: of bits, or of codewords."""
    if isinstance(plan.parameters, CodewordTreeParameters):
        return CodewordTreeEncoder(plan)
    return NetTreeEncoder(plan)
