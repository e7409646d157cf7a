"""Frequencies without phantoms: an empty node whose bucket holds other people is found out, and counts as 0.

Two tests, both of what the table says already. Above the deepest level the people of a node are those of its
children: where all children together hold less than a third of a node's frequency, it is somebody else's. And
the mean of a node's people, projected, lies within ρ_i·q/(q-1) of the node, up to noise; at the deepest level
that decides alone, above it where the children leave doubt. Ours, not the paper's, whose s = 2n/β buckets are
so many that nothing is shared; used where the decoder has a noise floor (`strays` > 0).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.protocols.paper.net_tree_sums.oracle import CLEAR, TreeSums
from coterie.protocols.paper.tree.oracle import Paths

_HELD: Final = 1 / 3  # of a node's frequency, what its children must hold at least


class ConfirmedTreeSums:
    """The frequencies of a `TreeSums`, with phantoms at zero.

    Parameters
    ----------
    oracle : TreeSums
        What the table says.
    """

    def __init__(self, oracle: TreeSums) -> None:
        self._oracle, self._nets = oracle, oracle.nets
        self.reports = oracle.reports

    def frequencies(self, level: int, paths: Paths) -> NDArray[np.float64]:
        """Return frequencies of nodes of one level: (m, level+1) -> (m,)."""
        found = self._oracle.frequencies(level, paths)
        doubtful = np.flatnonzero(found > CLEAR * self.deviation(level))
        if len(doubtful):
            phantom = self._oracle.misplaced(level, paths[doubtful], found[doubtful])
            if level < self._nets.levels:
                held = self._held_by_children(level, paths[doubtful]) / found[doubtful]
                # Two nodes of equal weight that share a bucket have a half each. A real node of few people
                # may be lost to noise here, which costs its few people; a phantom would cost a center.
                phantom = (held < _HELD) | (phantom & (held < 0.5))
            found[doubtful[phantom]] = 0.0
        return found

    def deviation(self, level: int) -> float:
        """Return the oracle's own."""
        return self._oracle.deviation(level)

    def _held_by_children(self, level: int, paths: Paths, *, twice: bool = True) -> NDArray[np.float64]:
        """Return the frequency of all children together: (m, level+1) -> (m,).

        A child may be a phantom, too: `twice` leaves out those whose own children hold too little.
        """
        branching = self._nets.branching
        digits = np.tile(np.arange(branching), len(paths))[:, None]
        children = np.concatenate([np.repeat(paths, branching, axis=0), digits], axis=1)
        below = self._oracle.frequencies(level + 1, children)
        if twice and level + 1 < self._nets.levels:
            doubtful = np.flatnonzero(below > CLEAR * self.deviation(level + 1))
            if len(doubtful):
                held = self._held_by_children(level + 1, children[doubtful], twice=False) / below[doubtful]
                below[doubtful[held < _HELD]] = 0.0
        return np.asarray(below.reshape(len(paths), branching).sum(axis=1))
