"""Both oracles of a net tree from one table of mixed sums: the paper's Theorems 32 and 33, exactly accounted.

Row (i-1)·s + h of a `net-tree-sums` table holds, in grid steps, the sum of (a·x, b) over the people whose
level-i node is hashed into bucket h, plus noise of one scale σ on every entry. So for a node v of level i

    f̃_v = sums[row(v), d] / (G·b)        ṽ_v = sums[row(v), :d] / (G·a)

with a deviation of σ/b people and, in each coordinate, of σ/a: flat in n, as with a trusted curator. A node
that shares its bucket with people of other nodes is wrong by them, with chance at most n/s a node; the paper
makes s = 2n/β so large that this never happens. With fewer buckets it can be seen: those people's mean lies
elsewhere (`misplaced`). Leaves that share a bucket would each read the whole row, its people would count
twice, and two centers would be one. The hash is public, so who shares is known: the row is read by the one
leaf that its people's mean lies nearest to (`readers`).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE
from coterie.geometry.lift import point_weight
from coterie.protocols.paper.net_tree_sums.parameters import NetTreeSumParameters
from coterie.protocols.paper.tree.oracle import Parts, Paths
from coterie.protocols.shares.table import VectorSumTable

CLEAR: Final = 5.0  # deviations above which a frequency is worth a second look, and that noise is allowed


class TreeSums:
    """Frequencies and vector sums of the nodes of a net tree, from one `net-tree-sums` table.

    Raises
    ------
    DecodeError
        If shares are missing or doubled.
    """

    def __init__(self, table: VectorSumTable) -> None:
        parameters = NetTreeSumParameters.of(table.plan)
        self.reports = int(table.people_by_row()[0])
        self._dimension = table.plan.dimension
        self.nets = parameters.nets(table.plan.randomness_key)
        self._projection = parameters.projection(table.plan.randomness_key, self._dimension)
        self._buckets = parameters.buckets
        self._sums = parameters.sums().centered(table.sums) if parameters.modulus else table.sums
        self._count_unit = parameters.grid * parameters.count_weight / SCALE  # G·b
        self._point_unit = parameters.grid * point_weight(parameters.count_weight)  # G·a
        self._noise = parameters.total_noise(self.reports) * parameters.grid  # σ, grid steps
        self._hashes = parameters.hashes(table.plan.randomness_key())

    def frequencies(self, level: int, paths: Paths) -> NDArray[np.float64]:
        """Return unbiased, unclamped frequencies of nodes of one level: (m, level+1) -> (m,)."""
        return np.asarray(self._sums[self._rows(level, paths), self._dimension] / self._count_unit)

    def deviation(self, level: int) -> float:
        """Return σ/b, the standard deviation of a node's frequency; the same at every level."""
        return float(self._noise / self._count_unit)

    def vector_deviation(self, level: int) -> float:
        """Return √d·σ/a, the root mean square length of an empty node's sum."""
        return float(self._noise / self._point_unit * self._dimension**0.5)

    def sums(self, level: int, paths: Paths) -> NDArray[np.float64]:
        """Return the vector sum of each node of one level: (m, level+1) -> (m, d)."""
        return np.asarray(self._sums[self._rows(level, paths), : self._dimension] / self._point_unit)

    def part_sums(self, level: int, paths: Paths, parts: Parts, count: int) -> NDArray[np.float64]:
        """Return, for each of `count` parts, the sum over its nodes: (m, level+1), (m,) -> (count, d)."""
        total = np.zeros((count, self._dimension))
        if level > 0:
            np.add.at(total, parts, self.sums(level, paths))
        return total

    def misplaced(self, level: int, paths: Paths, found: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whose people's mean lies elsewhere, up to noise: (m, level+1), (m,) -> (m,)."""
        away = self._away(level, paths, found) / found
        q, scale = self.nets.ratio, self._projection.scale
        reach = self.nets.covering(level) * q / (q - 1)
        kept = (self.nets.dimension / self._dimension) ** 0.5  # what of the noise a projection keeps
        noise = CLEAR * scale * kept * self.vector_deviation(level) / found
        # Whose projection falls outside the ball is put at the origin, wherever the mean lies.
        origin = self.nets.paths(self.nets.representatives(np.zeros((1, self.nets.dimension))))
        return np.asarray((away > reach + noise) & (paths != origin[:, : level + 1]).any(axis=1))

    def readers(self, level: int, paths: Paths) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which nodes read their rows, one a row, and whose people may then be counted elsewhere.

        Parameters
        ----------
        level : int
            Of the nodes.
        paths : ndarray of int64, shape (m, level + 1)
            The leaves of that level.

        Returns
        -------
        pair of ndarray of bool, shape (m,)
            The row's people lie nearest to the node; and: they lie nearer to another, but may be here.
        """
        rows, found = self._rows(level, paths), self.frequencies(level, paths)
        order = np.lexsort((self._away(level, paths, found), rows))
        first = np.ones(len(rows), dtype=np.bool_)
        first[1:] = rows[order][1:] != rows[order][:-1]
        reads = np.zeros(len(rows), dtype=np.bool_)
        reads[order[first]] = True
        doubtful = ~reads & (found > CLEAR * self.deviation(level))
        doubtful[doubtful] = ~self.misplaced(level, paths[doubtful], found[doubtful])
        return reads, doubtful

    def _away(self, level: int, paths: Paths, found: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far each row's projected sum is from that of as many people at the node: (m,)."""
        sums = self._projection.scale * self.sums(level, paths) @ self._projection.basis
        places = self.nets.points(level, self.nets.names_of(paths))
        return np.asarray(np.linalg.norm(sums - found[:, None] * places, axis=1))

    def _rows(self, level: int, paths: Paths) -> NDArray[np.int64]:
        return (level - 1) * self._buckets + self._hashes[level - 1].of_paths(paths)
