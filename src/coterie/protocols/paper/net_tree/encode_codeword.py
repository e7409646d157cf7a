"""The `net-tree` encoder with codewords: a point in, one report of 13 bytes for one level of the tree out.

    quantize -> project -> representative on the level that the id names -> its public sign -> lift
    -> the report's own rotation -> round -> score 256 codewords -> order -> one secret draw -> id ‖ index

Why that is ε-private: as for `codeword` (`coterie.randomizers.codeword`). Given the public id, a point fixes
which m of the 256 indices are the cap; each index is sent with odds A or 2^24, whatever the point. ∎
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.lift import lift
from coterie.geometry.rounding import rounded
from coterie.plan import Plan
from coterie.protocols.codeword.encode import IndexEncoder
from coterie.protocols.encoder import Ids, Points
from coterie.protocols.paper.net_tree.parameters import CodewordTreeParameters
from coterie.protocols.paper.net_tree.report_codeword import CodewordTreeStream
from coterie.protocols.paper.tree.encode import TreePaths, node_signs
from coterie.wire.stream import BlockReader


class CodewordTreeEncoder(IndexEncoder):
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
        parameters = CodewordTreeParameters.of(plan)
        super().__init__(plan, parameters.randomizer, parameters.embedding)
        self._parameters = parameters
        self._stream = CodewordTreeStream(plan)
        self._paths = TreePaths(plan, parameters)

    def _signed_vectors(self, points: Points, ids: Ids, heavy: ModuleType) -> tuple[NDArray[np.float64], int]:
        quantized, clipped = self.quantize(points)
        choices = self._stream.choices(ids)
        signs = node_signs(self._paths.of(quantized), choices.root_masks, choices.digit_masks)  # (n, T)
        own = signs[np.arange(len(ids)), choices.levels - 1] * choices.signs
        turned = self._stream.rotated(ids, lift(quantized, self._parameters.count_weight))
        vectors = rounded(turned.astype(np.float64))
        vectors *= own[:, None]
        return vectors, clipped

    def _blocks(self, people: int) -> BlockReader:
        return self._stream.codeword_blocks(people)
