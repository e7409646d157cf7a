"""The representative point set S_T of a net tree: every leaf with its (noisy) frequency as weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DecodeError
from coterie.protocols.paper.coreset.points import WeightedPointSet
from coterie.protocols.paper.tree.net_tree import NetTree


def representative_point_set(tree: NetTree, frequencies: NDArray[np.float64]) -> WeightedPointSet:
    """Return the leaves with their frequencies, those below zero as zero.

    Parameters
    ----------
    tree : NetTree
        The tree.
    frequencies : ndarray of float64, shape (leaves,)
        f̃ of each leaf, in the order of `NetTree.leaf_points`.
    """
    if frequencies.shape != (tree.leaf_count,):
        raise DecodeError(f"the tree has {tree.leaf_count} leaves, got frequencies {frequencies.shape}")
    return WeightedPointSet(tree.leaf_points(), np.maximum(frequencies, 0.0))
