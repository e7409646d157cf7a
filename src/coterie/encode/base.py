"""What an encoder is, and which one a plan's protocol names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.encode.codeword import CodewordEncoder
from coterie.encode.lsh_tree import LshTreeEncoder
from coterie.encode.net_tree import NetTreeEncoder
from coterie.encode.net_tree_codeword import CodewordTreeEncoder
from coterie.encode.net_tree_sums import NetTreeSumEncoder
from coterie.encode.vector_sums import VectorSumEncoder
from coterie.plan import Plan
from coterie.plan.net_tree_codeword import CodewordTreeParameters


class Encoder(Protocol):
    """Turns points into reports under one plan."""

    def encode_counting(
        self, points: ArrayLike, ids: NDArray[np.uint8] | None, coins: Coins
    ) -> tuple[NDArray[np.uint8], int]:
        """Return one report a point, (n, d), (n, 12) -> (n, width), and how many points were clipped.

        Points and ids are checked here (`checked_people`); without ids, fresh ones are drawn first.
        """
        ...


def net_tree_encoder(plan: Plan) -> Encoder:
    """Return the encoder of a `net-tree` plan: of bits, or of codewords."""
    if isinstance(plan.parameters, CodewordTreeParameters):
        return CodewordTreeEncoder(plan)
    return NetTreeEncoder(plan)


ENCODERS: Final[dict[str, Callable[[Plan], Encoder]]] = {
    "codeword": CodewordEncoder,
    "net-tree": net_tree_encoder,
    "vector-sums": VectorSumEncoder,
    "lsh-tree": LshTreeEncoder,
    "net-tree-sums": NetTreeSumEncoder,
}
