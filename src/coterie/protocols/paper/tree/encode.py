"""Where a point stands in a net tree: the path of its representatives, and public signs of its nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE
from coterie.plan.plan import Plan
from coterie.protocols.paper.tree.parameters import TreeParameters


class TreePaths:
    """Paths of quantized points under one plan. Holds no secret and no state; threads may share it."""

    def __init__(self, plan: Plan, tree: TreeParameters) -> None:
        self._nets = tree.nets(plan.randomness_key)
        self._projection = tree.projection(plan.randomness_key, plan.dimension)

    def of(self, quantized: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the path of each point's representatives: (n, d) -> (n, T+1). Secret."""
        places, _ = self._projection.apply(quantized / SCALE)
        return self._nets.paths(self._nets.representatives(places))


def node_signs(
    paths: NDArray[np.int64], root_masks: NDArray[np.int64], digit_masks: NDArray[np.int64]
) -> NDArray[np.int8]:
    """Return (-1)^⟨mask, path⟩ of the node on each level: (n, T+1), (n,), (n, T) -> (n, T) of ±1."""
    parity = np.bitwise_count(digit_masks & paths[:, 1:])
    parity[:, 0] ^= np.bitwise_count(root_masks & paths[:, 0])
    return 1 - 2 * (np.bitwise_xor.accumulate(parity, axis=1) & 1).astype(np.int8)
