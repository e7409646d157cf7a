"""The SimHash tree of the paper's experiments: branch where the noisy frequency is large.

    the root is branched; a node of level i < T is branched where f̃ ≥ threshold, else it is a leaf

The children of code c at level i are 2c and 2c+1 at level i+1. Leaves partition the data, so the leaves (not
all nodes, as the paper's text could be read) are the summary that k-means is run on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def lsh_leaves(frequencies: Sequence[NDArray[np.float64]], threshold: float) -> list[NDArray[np.int64]]:
    """Return the leaves of each level 1..T, as codes.

    Parameters
    ----------
    frequencies : sequence of T arrays, shapes (2,), (4,), …, (2^T,)
        f̃ of every code of every level.
    threshold : float
        Branch a node whose frequency is at least this.

    Examples
    --------
    >>> levels = [np.array([9.0, 2.0]), np.array([8.0, 1.0, 2.0, 0.0])]
    >>> [codes.tolist() for codes in lsh_leaves(levels, threshold=5.0)]
    [[1], [0, 1]]
    """
    nodes = np.array([0, 1], dtype=np.int64)
    leaves = []
    for depth, values in enumerate(frequencies, start=1):
        branched = values[nodes] >= threshold if depth < len(frequencies) else np.zeros(len(nodes), np.bool_)
        leaves.append(nodes[~branched])
        parents = nodes[branched]
        nodes = np.stack([2 * parents, 2 * parents + 1], axis=1).reshape(-1)
    return leaves
