"""Undo expansions that lost the people in the noise (ours, not the paper's; `constants="practical"` only).

BuildTree stops when the light nodes weigh little against OPT, and does not ask whether the oracle still sees
anything one level down. Where a node's people spread over many children that each stay below the floor, their
weight would vanish from the coreset. So from the deepest level up: a node whose children are all leaves
becomes a leaf again unless its children's floored frequencies make up half of its own. What is left is a net
tree, found by post-processing.
"""

from __future__ import annotations

import numpy as np

from coterie.protocols.paper.tree.build import WeighedTree
from coterie.protocols.paper.tree.net_tree import NetTree, TreeLevel


def pruned(weighed: WeighedTree, share: float = 0.5) -> WeighedTree:
    """Return the tree without the expansions that kept less than `share` of a node's frequency."""
    levels = list(weighed.tree.levels)
    noisy, floored = list(weighed.noisy_frequencies), list(weighed.floored)
    for number in range(len(levels) - 1, 1, -1):
        above, level = levels[number - 1], levels[number]
        kept_mass = np.bincount(level.parents, weights=floored[number], minlength=len(above))
        open_child = np.bincount(level.parents, weights=level.expanded, minlength=len(above)) > 0
        close = above.expanded & ~open_child & (kept_mass < share * floored[number - 1])
        if not close.any():
            continue
        kept = ~close[level.parents]
        moved = np.cumsum(kept) - 1  # new index of a kept node
        levels[number - 1] = TreeLevel(above.names, above.paths, above.parents, above.expanded & ~close)
        levels[number] = TreeLevel(
            level.names[kept], level.paths[kept], level.parents[kept], level.expanded[kept]
        )
        noisy[number], floored[number] = noisy[number][kept], floored[number][kept]
        if number + 1 < len(levels):
            below = levels[number + 1]
            levels[number + 1] = TreeLevel(below.names, below.paths, moved[below.parents], below.expanded)
    while len(levels) > 1 and not len(levels[-1]):
        levels, noisy, floored = levels[:-1], noisy[:-1], floored[:-1]
    return WeighedTree(NetTree(weighed.tree.nets, tuple(levels)), tuple(noisy), tuple(floored))
