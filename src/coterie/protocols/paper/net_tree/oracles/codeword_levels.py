"""Both oracles of a net tree from codewords: each person serves one level, with all of ε.

A report of level i names a codeword v; turned back by its own rotation, z = Rᵀv/κ has mean Z·w, where Z is
the public sign of the person's node and w = (a·x, b, rest) (`paper.net_tree.parameters`). Over the
reports of level i, each counted T-fold,

    f̃_v = T·Σ Z_(v,i)·z_(i,d)/b        ṽ_v = T·Σ Z_(v,i)·z_(i,:d)/a

are unbiased but for what a codeword of signs bends: people elsewhere cancel exactly in the mean, because Z is
pairwise independent, and people of v count 1 ± ρ. Deviations, of an empty node: √(T·n·(1+c₂b²))/(κb), and
√(T·n·(d+c₂a²))/(κa) at most for the length of a vector sum.

Signs cancel in z·zᵀ, so all reports together tell the second moment of everybody's lifted vector, and with it
the directions that the centers lie in:

    E[Rᵀv·vᵀR] = I + c₂·(w·wᵀ - Rᵀ·diag(w'²)·R),      the last term near I/P under a fresh rotation
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE
from coterie.geometry.lift import EXTRA_COORDINATES, point_weight
from coterie.plain.pieces import pieces
from coterie.protocols.codeword.oracles.second_moment import SecondMoment
from coterie.protocols.paper.net_tree.oracles.signs import Family, PartSigns, PathMasks
from coterie.protocols.paper.net_tree.parameters import CodewordTreeParameters
from coterie.protocols.paper.tree.oracle import Parts, Paths

_PIECE: Final = 1 << 14  # reports at a time
_WEIGHTS: Final = 1 << 24  # of reports in parts at a time: 128 MB


class CodewordLevels:
    """Frequencies and vector sums of nodes from one codeword a person.

    Parameters
    ----------
    parameters : CodewordTreeParameters
        The plan's.
    dimension : int
        d.
    levels : ndarray of int64, shape (n,)
        Which level each report serves.
    masks : PathMasks
        Of the n reports, their public sign taken into `turned`.
    turned : callable
        Some of the reports, (n',) indices -> sign·Rᵀv, (n', D).
    """

    def __init__(
        self,
        parameters: CodewordTreeParameters,
        dimension: int,
        levels: NDArray[np.int64],
        masks: PathMasks,
        turned: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    ) -> None:
        self.reports, self.counting = len(levels), dimension  # the coordinate b of w = (a·x, b, rest)
        self._parameters, self._dimension, self._masks, self._turned = parameters, dimension, masks, turned
        self._family = Family((parameters.ratio**parameters.projected - 1).bit_length())
        gain = parameters.randomizer.gain(parameters.embedding)  # κ
        self._count_unit = parameters.levels / (gain * parameters.count_weight / SCALE)  # T/(κb)
        self._unit = parameters.levels / gain  # T/κ
        self._point = point_weight(parameters.count_weight)  # a
        # Of a coordinate of an empty node's lifted sum, across the people's vectors.
        self.lifted_deviation = self._unit * math.sqrt(self.reports / parameters.levels)
        self._members = [np.flatnonzero(levels == level) for level in range(1, parameters.levels + 1)]
        lifted = dimension + EXTRA_COORDINATES
        self._square = np.zeros((lifted, lifted))  # Σ Rᵀv·vᵀR
        self._heights = [self._looked_at(members) for members in self._members]
        self._deviations = [
            math.sqrt(parameters.levels * self.reports * variance)
            for variance in parameters.variances(dimension)
        ]

    def _looked_at(self, members: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the counting coordinate of every report of a level, and add up their squares."""
        heights = np.empty(len(members))
        for piece in pieces(len(members), _PIECE):
            seen = self._turned(members[piece])
            heights[piece] = seen[:, self._dimension]
            self._square += seen.T @ seen
        return heights

    @property
    def moment(self) -> SecondMoment:
        """E[w·wᵀ] of everybody's lifted vectors, with its noise."""
        second = self._parameters.randomizer.second_gain(self._parameters.embedding)  # c₂
        excess = self._square / self.reports - np.eye(len(self._square))
        matrix = excess / second + np.eye(len(excess)) / self._parameters.embedding
        return SecondMoment(matrix, 1 / (second * math.sqrt(self.reports)))

    def lifted_mean(self, sums: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points that lifted sums of these lengths speak of: (k, D), (k,) -> (k, d)."""
        body = sums[:, : self._dimension] / self._point
        return np.asarray(body / np.maximum(lengths, 1.0)[:, None])

    def lifted_counts(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many people lifted sums count by their counting coordinate: (k, D) -> (k,)."""
        return np.asarray(sums[:, self.counting] * SCALE / self._parameters.count_weight)

    def frequencies(self, level: int, paths: Paths) -> NDArray[np.float64]:
        """Return unclamped frequencies of nodes of one level: (m, level+1) -> (m,)."""
        masks = self._masks.of(self._members[level - 1])
        return self._count_unit * self._family.sums(masks, level, self._heights[level - 1], paths)

    def deviation(self, level: int) -> float:
        """Return the standard deviation of an empty node's frequency; the same at every level."""
        return self._deviations[0]

    def vector_deviation(self, level: int) -> float:
        """Return the root mean square length of an empty node's sum, at most; the same at every level."""
        return self._deviations[1]

    def part_sums(self, level: int, paths: Paths, parts: Parts, count: int) -> NDArray[np.float64]:
        """Return, for each of `count` parts, the sum over its nodes: (m, level+1), (m,) -> (count, d)."""
        lifted = self.lifted_part_sums(level, paths, parts, count)
        return np.asarray(lifted[:, : self._dimension] / self._point)

    def lifted_part_sums(self, level: int, paths: Paths, parts: Parts, count: int) -> NDArray[np.float64]:
        """Return the same sums of lifted vectors w = (a·x, b, rest): (m, level+1), (m,) -> (count, D)."""
        sums = np.zeros((count, self._dimension + EXTRA_COORDINATES))
        signs = PartSigns(self._family, level, paths, parts, count)
        members, step = self._members[level - 1], max(min(_PIECE, _WEIGHTS // max(count, 1)), 1)
        for piece in pieces(len(members), step) if len(paths) else ():
            sums += signs.of(self._masks.of(members[piece])) @ self._turned(members[piece])
        return self._unit * sums
