"""The net tree: a subtree of the complete net tree in which a node has all of its children or none.

Level 0 is the root alone. A point's representative is the one leaf among its potential representatives, so
the leaves partition the ball. Children whose tile misses the ball (`NetFamily.reachable`) are left out: no
point has them as a representative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.protocols.paper.nets.nets import NetFamily


@dataclass(frozen=True, slots=True, eq=False)
class TreeLevel:
    """Nodes of one level.

    Attributes
    ----------
    names : ndarray of int64, shape (m, d)
        u of each node.
    paths : ndarray of int64, shape (m, level+1)
        The same nodes as an oracle names them. Empty rows at the root.
    parents : ndarray of int64, shape (m,)
        Index of each node's parent in the level above.
    expanded : ndarray of bool, shape (m,)
        Whether the node has its children in the tree; if not it is a leaf.
    """

    names: NDArray[np.int64]
    paths: NDArray[np.int64]
    parents: NDArray[np.int64]
    expanded: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def leaves(self) -> NDArray[np.int64]:
        """Indices of the leaves of this level."""
        return np.flatnonzero(~self.expanded)


@dataclass(frozen=True, slots=True, eq=False)
class NetTree:
    """A net tree over a family of nets.

    Examples
    --------
    >>> nets = NetFamily.from_key(bytes(16), dimension=2, levels=2)
    >>> tree = NetTree.of_root(nets)
    >>> tree = tree.grown(np.array([True]))
    >>> [len(level) for level in tree.levels], tree.nodes
    ([1, 14], 15)
    """

    nets: NetFamily
    levels: tuple[TreeLevel, ...]

    @classmethod
    def of_root(cls, nets: NetFamily) -> NetTree:
        """Return the tree of the root alone."""
        root = TreeLevel(
            np.zeros((1, nets.dimension), dtype=np.int64),
            np.empty((1, 0), dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.zeros(1, dtype=np.bool_),
        )
        return cls(nets, (root,))

    def grown(self, expand: NDArray[np.bool_]) -> NetTree:
        """Return the tree with all children of the marked nodes of the deepest level: (m,) marks."""
        depth = len(self.levels)  # the new level's number
        bottom = self.levels[-1]
        chosen = np.flatnonzero(expand)
        if depth == 1:
            names = (
                self.nets.roots_children() if len(chosen) else np.empty((0, self.nets.dimension), np.int64)
            )
            paths = np.stack([self.nets.root_words(names), self.nets.digits(names)], axis=1)
            parents = np.zeros(len(names), dtype=np.int64)
        else:
            names = self.nets.children(bottom.names[chosen]).reshape(-1, self.nets.dimension)
            parents = np.repeat(chosen, self.nets.branching)
            digits = np.tile(np.arange(self.nets.branching), len(chosen))
            kept = self.nets.reachable(depth, names)
            names, parents = names[kept], parents[kept]
            paths = np.concatenate([bottom.paths[parents], digits[kept, None]], axis=1)
        closed = TreeLevel(bottom.names, bottom.paths, bottom.parents, expand.copy())
        fresh = TreeLevel(names, paths, parents, np.zeros(len(names), dtype=np.bool_))
        return NetTree(self.nets, (*self.levels[:-1], closed, fresh))

    @property
    def nodes(self) -> int:
        """Number of nodes, the root included."""
        return sum(len(level) for level in self.levels)

    @property
    def leaf_count(self) -> int:
        """Number of leaves."""
        return sum(len(level.leaves) for level in self.levels)

    def leaves(self) -> Iterator[tuple[int, TreeLevel, NDArray[np.int64]]]:
        """Yield (level, its nodes, indices of its leaves) for every level that has leaves."""
        for number, level in enumerate(self.levels):
            if len(where := level.leaves):
                yield number, level, where

    def leaf_paths(self) -> Iterator[tuple[int, NDArray[np.int64], slice]]:
        """Yield (level, paths of its leaves, their place in the order of `leaf_points`), as `leaves` does."""
        before = 0
        for number, level, where in self.leaves():
            yield number, level.paths[where], slice(before, before + len(where))
            before += len(where)

    def leaf_points(self) -> NDArray[np.float64]:
        """Return where all leaves lie, level by level: (leaves, d)."""
        return np.concatenate(
            [self.nets.points(number, level.names[where]) for number, level, where in self.leaves()]
        )
