"""What an encoder is, and which one a plan's protocol names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.plan import Plan
from coterie.protocols import Registry


class Encoder(ABC):
    """Turns points into reports under one plan. Holds no secret and no state; threads may share it.

    Parameters
    ----------
    plan : Plan
        A plan of the encoder's protocol.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @abstractmethod
    def encode_counting(
        self, points: ArrayLike, ids: NDArray[np.uint8] | None, coins: Coins
    ) -> tuple[NDArray[np.uint8], int]:
        """Return what `encode` does, and how many points were clipped. The count is not private.

        Points and ids are checked here (`checked_people`); without ids, fresh ones are drawn first.
        """

    def encode(self, points: ArrayLike, ids: NDArray[np.uint8], coins: Coins) -> NDArray[np.uint8]:
        """Return one report a point: (n, d), (n, 12) -> (n, width).

        Parameters
        ----------
        points : array_like, shape (n, d)
            One row a person. Points outside the plan's ball are drawn back to its surface.
        ids : ndarray of uint8, shape (n, 12)
            Fresh random bytes from the system, independent of the points, each used once.
        coins : Coins
            The secret coins; outside simulation, the system's.
        """
        return self.encode_counting(points, ids, coins)[0]


# Loaded when a plan asks for it: a device answers plans of few protocols.
ENCODERS: Final[Registry[str, Callable[[Plan], Encoder]]] = Registry(
    {
        "codeword": "coterie.protocols.codeword.encode:CodewordEncoder",
        "net-tree": "coterie.protocols.paper.net_tree.encode:encoder_of",
        "vector-sums": "coterie.protocols.vector_sums.encode:VectorSumEncoder",
        "lsh-tree": "coterie.protocols.paper.lsh_tree.encode:LshTreeEncoder",
        "net-tree-sums": "coterie.protocols.paper.net_tree_sums.encode:NetTreeSumEncoder",
    }
)
